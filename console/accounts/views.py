"""Signing in and out, one's own account, light or dark."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh
from rest_framework.authtoken.models import Token

from console.accounts.access import person, request_id
from console.accounts.forms import OwnPasswordForm, SignInForm
from console.accounts.models import Role
from console.accounts.permissions import SENTENCES, Permission
from console.accounts.services import account_data, change_account
from console.accounts.tokens import renew_token, revoke_token
from console.core.htmx import wants_part
from console.core.templatetags.ui import THEMES

THEME_SECONDS = 365 * 24 * 3600
TOKEN_ONCE = "token_shown_once"  # noqa: S105 - the name of a session key

_sign_in = LoginView.as_view(
    template_name="accounts/sign_in.html", authentication_form=SignInForm, redirect_authenticated_user=True
)
_sign_out = LogoutView.as_view()

ROLE_WORDS = {
    Role.ADMINISTRATOR: gettext_lazy(
        "You may see and change everything, import priority files and read the whole audit log."
    ),
    Role.AUDITOR: gettext_lazy("You may read everything, the whole audit log included, and change nothing."),
    Role.VIEWER: gettext_lazy("You may see partitions, nodes, jobs and plans."),
}


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
    response = redirect(_safe_next(request))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            "theme", chosen, max_age=THEME_SECONDS, samesite="Lax", secure=request.is_secure()
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


def _safe_next(request: HttpRequest) -> str:
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if safe else "/"


@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """One's own account: what one may do, the API token, the password."""
    return render(
        request, "accounts/account.html", _account_context(request, OwnPasswordForm(person(request)))
    )


def _account_context(request: HttpRequest, form: OwnPasswordForm) -> dict[str, Any]:
    user = person(request)
    return {
        "role_words": ROLE_WORDS[Role(user.role)],
        "permissions": [SENTENCES[p] for p in Permission if user.has_perm(p)],
        "token": Token.objects.filter(user=user).first(),
        "new_token": request.session.pop(TOKEN_ONCE, None),
        "form": form,
        "invalid": form.is_bound,
    }


@require_POST
def new_token(request: HttpRequest) -> HttpResponse:
    """Make a new API token; the one before stops working. It is shown once, on the next page."""
    user = person(request)
    request.session[TOKEN_ONCE] = renew_token(user, actor=user.username, request_id=request_id(request))
    return redirect("account")


@require_POST
def end_token(request: HttpRequest) -> HttpResponse:
    """Take the API token back."""
    user = person(request)
    if revoke_token(user, actor=user.username, request_id=request_id(request)):
        messages.success(request, _("The API token no longer works."))
    return redirect("account")


@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    """Change one's own password; other sessions of the account end."""
    form = OwnPasswordForm(person(request), request.POST)
    if not form.is_valid():
        return render(request, "accounts/account.html", _account_context(request, form))
    user = person(request)
    change_account(
        actor=user.username,
        user=user,
        data=account_data(user),
        password=form.cleaned_data["new_password1"],
        request_id=request_id(request),
    )
    user.refresh_from_db(fields=["password"])
    update_session_auth_hash(request, user)
    messages.success(request, _("Your password has been changed; other sessions have been signed out."))
    return redirect("account")
