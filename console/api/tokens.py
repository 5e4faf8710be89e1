"""Giving out and revoking tokens: the lockout of the login page counts here too."""

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import ValidationError

from console.accounts.models import User
from console.api.errors import LockedOutError

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
        raise ValidationError(WRONG, code="wrong_password")
    user_logged_in.send(sender=type(user), request=request, user=user)
    return Token.objects.get_or_create(user=user)[0]


def revoke_token(user: User, request_id: str = "") -> None:
    """End the account's token, if it has one."""
    Token.objects.filter(user=user).delete()
