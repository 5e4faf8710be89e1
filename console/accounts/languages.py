"""In which language an answer is: chosen by the account, else by the cookie, else by the browser (docs/languages.md).

Django's own middleware has looked at cookie and browser already. The API is for programs: only `Accept-Language` counts
there, and without it the answer is English.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import parse_accept_lang_header

from console.accounts.models import User
from console.core.error_pages import API

OF_PAGE = "Page-Language"
"""The header in which a page says, with every poll, in which language it stands."""


class AccountLanguageMiddleware:
    """After Django's authentication: the account's language, and for a part of a page the page's own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        code = _language_of(request)
        if code and code != translation.get_language():
            translation.activate(code)
            request.LANGUAGE_CODE = code
        response = self.get_response(request)
        patch_vary_headers(response, ("Cookie", OF_PAGE) if not request.path.startswith(API) else ())
        return response


def _language_of(request: HttpRequest) -> str:
    """The language that is to be used instead of what cookie and browser say; empty: that one."""
    if request.path.startswith(API):
        return accepted(request.headers.get("Accept-Language", ""))
    # A part that a page asks for stands beside what is there already: in another tab the choice may have changed.
    if "HX-Request" in request.headers and (code := known(request.headers.get(OF_PAGE, ""))):
        return code
    # Without a session in the request nobody is looked up: health checks and scripts ask no database for it.
    if not request.COOKIES.get(settings.SESSION_COOKIE_NAME) or not isinstance(request.user, User):
        return ""
    return known(request.user.language)


def known(code: str) -> str:
    """The code, if it is one of this console's languages; else nothing."""
    return code if code in dict(settings.LANGUAGES) else ""


def accepted(header: str) -> str:
    """The first language of an `Accept-Language` that there is; English if it names none."""
    for code, _quality in parse_accept_lang_header(header):
        if code == "*":
            break
        try:
            return translation.get_supported_language_variant(code)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE
