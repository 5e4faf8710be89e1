"""Everybody's accounts, and one of them. Auditors read; administrators change."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.access import person, require_read, require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.models import ApiToken, Role, User
from console.accounts.permissions import Permission
from console.accounts.services import account_data, change_account, end_sessions
from console.accounts.tokens import revoke_token
from console.cluster.selectors import shown_cluster
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
    data = account_data(user)
    initial = {name: getattr(data, name) for name in ("role", "active", "email", "cluster_user")}

    def make(**kwargs: Any) -> AccountForm:
        return AccountForm(**{"initial": initial, **kwargs})

    def save(form: AccountForm, _rows: object, by: dict[str, str]) -> Saved:
        change_account(user=user, data=form.data_of_account(), **by)
        to = reverse("person", args=[user.username])
        return Saved(to, _("The account %s is as you said.") % user.username)

    def show(form: AccountForm, _rows: object = None, *, invalid: bool = False) -> HttpResponse:
        (found,) = as_people(shown_cluster(), [user])
        context = {
            "found": found,
            "form": form,
            "may_change": request.user.has_perm(Permission.PEOPLE_CHANGE),
            "oneself": user == person(request),
        }
        return render(request, "people/person.html", context)

    if request.method == "POST":
        require_write(request, Permission.PEOPLE_CHANGE)
        return audited_form(request, make, save, show)
    return show(make())


@require_POST
def sign_out(request: HttpRequest, username: str) -> HttpResponse:
    """End all sessions of somebody's account."""
    user = _to_change(request, username)

    def end(by: dict[str, str]) -> str:
        end_sessions(user=user, **by)
        return _("%s is signed out everywhere.") % user.username

    return _with_reason(request, user, end)


@require_POST
def revoke(request: HttpRequest, username: str, pk: int) -> HttpResponse:
    """Take one of somebody's API tokens back."""
    user = _to_change(request, username)
    token = get_object_or_404(ApiToken, user=user, pk=pk)

    def take_back(by: dict[str, str]) -> str:
        revoke_token(token, **by)
        return _("The API token “%s” no longer works.") % token.name

    return _with_reason(request, user, take_back)


def _with_reason(request: HttpRequest, user: User, act: Callable[[dict[str, str]], str]) -> HttpResponse:
    """`act` says what it did."""
    to = reverse("person", args=[user.username])

    def save(_form: ReasonForm, _rows: object, by: dict[str, str]) -> Saved:
        return Saved(to, act(by))

    def show(_form: ReasonForm, _rows: object, *, invalid: bool) -> HttpResponse:
        messages.error(request, _("Say why; it stands in the audit log."))
        return redirect(to)

    return audited_form(request, ReasonForm, save, show)


def _found(request: HttpRequest, username: str) -> User:
    require_read(request, Permission.PEOPLE_VIEW)
    return get_object_or_404(User, username=username)


def _to_change(request: HttpRequest, username: str) -> User:
    user = _found(request, username)
    require_write(request, Permission.PEOPLE_CHANGE)
    return user
