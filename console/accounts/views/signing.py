"""Signing in and out by name and password; light or dark, the language."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from console.accounts.access import person
from console.accounts.forms import SignInForm
from console.accounts.languages import known
from console.accounts.oidc import provider_name
from console.accounts.services import set_language
from console.core.htmx import wants_part
from console.core.templatetags.preferences import THEMES

THEME_SECONDS = 365 * 24 * 3600

_sign_in = LoginView.as_view(
    template_name="accounts/sign_in.html",
    authentication_form=SignInForm,
    redirect_authenticated_user=True,
    extra_context={"provider": provider_name},
)
_sign_out = LogoutView.as_view()


@login_not_required
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in. A poll that lands here (the session has ended) makes its page load anew instead."""
    if wants_part(request):
        return HttpResponseClientRefresh()
    response = _sign_in(request)
    assert isinstance(response, HttpResponse)  # noqa: S101 - for the type checker
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign out."""
    response = _sign_out(request)
    assert isinstance(response, HttpResponse)  # noqa: S101 - for the type checker
    return response


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Choose light, dark or as the system; kept in a cookie, so that it also holds while signed out."""
    response = redirect(safe_next(request, request.POST.get("next", "")))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            "theme", chosen, max_age=THEME_SECONDS, samesite="Lax", secure=request.is_secure()
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


@login_not_required
@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Choose a language, or none: then the browser says it. Kept with the account, and in a cookie for the sign-in."""
    chosen = request.POST.get("language", "")
    if chosen and not known(chosen):
        return render(request, "400.html", status=400)
    if request.user.is_authenticated:
        set_language(person(request), chosen)
    response = redirect(safe_next(request, request.POST.get("next", "")))
    name = settings.LANGUAGE_COOKIE_NAME
    if chosen:
        response.set_cookie(
            name,
            chosen,
            max_age=settings.LANGUAGE_COOKIE_AGE,
            samesite="Lax",
            httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
            secure=request.is_secure(),
        )
    else:
        response.delete_cookie(name, samesite="Lax")
    return response


def safe_next(request: HttpRequest, target: str) -> str:
    """The address, if it is one of this console; else the overview."""
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if safe else "/"
