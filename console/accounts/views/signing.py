"""Signing in and out by name and password, light or dark."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from console.accounts.forms import SignInForm
from console.accounts.oidc import provider_name
from console.core.htmx import wants_part
from console.core.templatetags.ui import THEMES

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


def safe_next(request: HttpRequest, target: str) -> str:
    """The address, if it is one of this console; else the overview."""
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if safe else "/"
