"""Whoever is not signed in is sent to the sign-in, and from there to where he wanted to go."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

READS = frozenset({"GET", "HEAD", "OPTIONS"})


class SignInFirstMiddleware(LoginRequiredMiddleware):
    """Django's, but a form that is sent after its session has ended leads back to the page that it stands on.

    Most addresses that take a form show nothing to who only looks. The sign-in says that nothing has been saved
    (static/js/kept.js keeps what was typed).
    """

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseRedirect:
        """To the sign-in."""
        if request.method in READS:
            return super().handle_no_permission(request, view_func)
        query = urlencode({"next": _page_of_the_form(request), "unsaved": 1}, safe="/")
        return HttpResponseRedirect(f"{reverse('login')}?{query}")


def _page_of_the_form(request: HttpRequest) -> str:
    """From where it was sent, as the browser says; the overview where that is not one of our pages."""
    sent_from = request.headers.get("Referer", "")
    ours = {request.get_host()}
    if not url_has_allowed_host_and_scheme(sent_from, ours, require_https=request.is_secure()):
        return reverse("overview")
    page = urlsplit(sent_from)
    return f"{page.path}?{page.query}" if page.query else page.path or "/"
