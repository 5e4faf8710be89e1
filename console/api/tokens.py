"""Giving out and revoking tokens: the lockout of the sign-in page counts here too, and the audit log knows."""

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.http import HttpRequest
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import ValidationError

from console.accounts.models import User
from console.api.errors import LockedOutError
from console.audit.services import Context, Subject, record

WRONG = "No active account has this name and password."


def obtain_token(request: HttpRequest, *, username: str, password: str) -> Token:
    """The token of the account with this name and password; made when there is none.

    Raises `ValidationError` for a wrong pair and `LockedOutError` after too many of them.
    """
    user: Any = authenticate(request, username=username, password=password)
    if getattr(request, "axes_locked_out", False):
        # Taken back, or axes' middleware would put its own page in the place of our answer.
        request.axes_locked_out = False  # type: ignore[attr-defined]
        raise LockedOutError
    if user is None:
        raise ValidationError(WRONG)
    with transaction.atomic():
        # Tells axes to forget the failures, Django to note the time and the audit log to say who came in.
        user_logged_in.send(sender=type(user), request=request, user=user)
        token, made = Token.objects.get_or_create(user=user)
        if made:
            _tell("account.token_made", user, user.username, getattr(request, "request_id", ""))
    return token


@transaction.atomic
def revoke_token(user: User, *, actor: str, request_id: str = "") -> None:
    """End the account's token, if it has one."""
    number, _ = Token.objects.filter(user=user).delete()
    if number:
        _tell("account.token_revoked", user, actor, request_id)


def _tell(action: str, user: User, actor: str, request_id: str) -> None:
    subject = Subject("account", user.username, user.username)
    record(actor=actor, action=action, subject=subject, context=Context(request_id=request_id))
