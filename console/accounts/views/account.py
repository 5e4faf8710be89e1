"""One's own account: what one may do, the API tokens, the password, the sessions."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id
from console.accounts.forms import OwnPasswordForm, TokenForm
from console.accounts.models import ApiToken, Role
from console.accounts.permissions import SENTENCES, Permission
from console.accounts.services import account_data, change_account, end_sessions
from console.accounts.tokens import TokenData, make_token, revoke_token
from console.core import clock

ROLE_WORDS = {
    Role.ADMINISTRATOR: gettext_lazy(
        "You may see and change everything, import priority files and read the whole audit log."
    ),
    Role.AUDITOR: gettext_lazy("You may read everything, the whole audit log included, and change nothing."),
    Role.VIEWER: gettext_lazy("You may see partitions, nodes, jobs and plans."),
}
Page = Callable[..., HttpResponse]


@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """What one may do, the tokens, the password, the sessions."""
    return _page(request)


def _page(
    request: HttpRequest,
    *,
    form: OwnPasswordForm | None = None,
    token_form: TokenForm | None = None,
    new_token: tuple[ApiToken, str] | None = None,
) -> HttpResponse:
    user, now = person(request), clock.now()
    tokens = list(ApiToken.objects.filter(user=user))
    context: dict[str, Any] = {
        "role_words": ROLE_WORDS[Role(user.role)],
        "permissions": [_(SENTENCES[p]) for p in Permission if user.has_perm(p)],
        "tokens": [(token, token.has_ended(now)) for token in tokens],
        "new_token": new_token,
        "token_form": token_form or TokenForm(),
        "form": form or OwnPasswordForm(user),
        "has_password": user.has_usable_password(),
        "invalid": form is not None,
    }
    response = render(request, "accounts/account.html", context)
    if new_token is not None:
        add_never_cache_headers(response)
    return response


@require_POST
def new_token(request: HttpRequest) -> HttpResponse:
    """Make an API token. It stands in this answer only: nothing keeps it, so there is no redirect to another page.

    Sending the form again (a reload) makes no second one: the name is taken.
    """
    user, form = person(request), TokenForm(request.POST)
    if form.is_valid():
        data = TokenData(**form.cleaned_data)
        try:
            made = make_token(user, data, actor=user.username, request_id=request_id(request))
        except ValidationError as error:
            form.add_errors(error)
        else:
            return _page(request, new_token=made)
    return _page(request, token_form=form)


@require_POST
def end_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Take one of one's own API tokens back."""
    user = person(request)
    token = get_object_or_404(ApiToken, user=user, pk=pk)
    if revoke_token(token, actor=user.username, request_id=request_id(request)):
        messages.success(request, _("The API token “%s” no longer works.") % token.name)
    return redirect("account")


@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    """Change one's own password; other sessions of the account end."""
    if not person(request).has_usable_password():
        raise PermissionDenied(_("This account has no password here: it signs in elsewhere."))
    form = OwnPasswordForm(person(request), request.POST, request=request)
    if not form.is_valid():
        return _page(request, form=form)
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


@require_POST
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    """End all sessions of the account, this one included."""
    user = person(request)
    end_sessions(actor=user.username, user=user, request_id=request_id(request))
    logout(request)
    return redirect("login")
