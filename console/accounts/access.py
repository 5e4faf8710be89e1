"""The one question every view asks first: may this person do this to that?

Reading what is not yours answers 404 (it is not there for you); changing what you may only read answers 403.
"""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from console.accounts.models import User
from console.accounts.permissions import SENTENCES, Permission


def person(request: HttpRequest) -> User:
    """The signed-in account; pages without sign-in do not ask."""
    user = request.user
    assert isinstance(user, User)  # noqa: S101 - for the type checker
    return user


def request_id(request: HttpRequest) -> str:
    """The id under which the audit log keeps what came of this request."""
    return str(getattr(request, "request_id", ""))


def told(request: HttpRequest, form: Any) -> dict[str, str]:
    """Who does it, why (the valid form's `reason`), and in which request: what services take."""
    return {
        "actor": person(request).username,
        "reason": form.cleaned_data["reason"],
        "request_id": request_id(request),
    }


def require_read(request: HttpRequest, permission: Permission, target: Any = None) -> None:
    """404 unless the person may read it."""
    if not request.user.has_perm(permission, target):
        raise Http404(_("There is no such page, or it is not yours to see."))


def require_write(request: HttpRequest, permission: Permission, target: Any = None) -> None:
    """403 unless the person may do it."""
    if not request.user.has_perm(permission, target):
        raise PermissionDenied(_("Your role does not include this: %s") % _(SENTENCES[permission]))
