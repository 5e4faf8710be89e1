"""Everybody's accounts, and one of them. Auditors read; administrators change."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.access import person, require_read, require_write, told
from console.accounts.models import ApiToken, Role, User
from console.accounts.permissions import Permission
from console.accounts.services import account_data, change_account, end_sessions
from console.accounts.tokens import revoke_token
from console.cluster.selectors import shown_cluster
from console.core.fields import add_errors
from console.people.forms import AccountForm
from console.people.selectors import accounts, as_people
from console.setup.forms import ReasonForm

PAGE = 50


@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """Everybody with an account, by name."""
    require_read(request, Permission.PEOPLE_VIEW)
    asked = {key: request.GET.get(key, "").strip() for key in ("q", "role", "state")}
    rows = accounts(asked["q"], asked["role"], asked["state"])
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    context = asked | {
        "page": page,
        "people": as_people(shown_cluster(), page.object_list),
        "roles": Role.choices,
        "may_invite": request.user.has_perm(Permission.INSTALLATION_SET_UP),
    }
    return render(request, "people/people.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def account_of(request: HttpRequest, username: str) -> HttpResponse:
    """One account; the form changes it."""
    user = _found(request, username)
    form = AccountForm(request.POST or None, initial=vars_of(user))
    if request.method == "POST":
        require_write(request, Permission.PEOPLE_CHANGE)
        if form.is_valid() and _changed(request, user, form):
            messages.success(request, _("The account %s is as you said.") % user.username)
            return redirect("person", username=user.username)
    return _page(request, user, form)


def vars_of(user: User) -> dict[str, Any]:
    """An account as the form shows it."""
    data = account_data(user)
    return {"role": data.role, "active": data.active, "email": data.email, "cluster_user": data.cluster_user}


def _changed(request: HttpRequest, user: User, form: AccountForm) -> bool:
    try:
        change_account(user=user, data=form.data_of_account(), **told(request, form))
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
        return False
    return True


@require_POST
def sign_out(request: HttpRequest, username: str) -> HttpResponse:
    """End all sessions of somebody's account."""
    user, form = _to_change(request, username), ReasonForm(request.POST)
    if form.is_valid():
        end_sessions(user=user, **told(request, form))
        messages.success(request, _("%s is signed out everywhere.") % user.username)
        return redirect("person", username=user.username)
    return _why_is_missing(request, user)


@require_POST
def revoke(request: HttpRequest, username: str, pk: int) -> HttpResponse:
    """Take one of somebody's API tokens back."""
    user, form = _to_change(request, username), ReasonForm(request.POST)
    token = get_object_or_404(ApiToken, user=user, pk=pk)
    if form.is_valid():
        revoke_token(token, **told(request, form))
        messages.success(request, _("The API token “%s” no longer works.") % token.name)
        return redirect("person", username=user.username)
    return _why_is_missing(request, user)


def _found(request: HttpRequest, username: str) -> User:
    require_read(request, Permission.PEOPLE_VIEW)
    return get_object_or_404(User, username=username)


def _to_change(request: HttpRequest, username: str) -> User:
    user = _found(request, username)
    require_write(request, Permission.PEOPLE_CHANGE)
    return user


def _why_is_missing(request: HttpRequest, user: User) -> HttpResponse:
    messages.error(request, _("Say why; it stands in the audit log."))
    return redirect("person", username=user.username)


def _page(request: HttpRequest, user: User, form: AccountForm) -> HttpResponse:
    (found,) = as_people(shown_cluster(), [user])
    context = {
        "found": found,
        "form": form,
        "may_change": request.user.has_perm(Permission.PEOPLE_CHANGE),
        "oneself": user == person(request),
    }
    return render(request, "people/person.html", context)
