"""A token for a name and a password: the lockout of the sign-in page counts here too."""

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import PermissionDenied, ValidationError

from console.accounts.login_lockout import locked_for
from console.accounts.models import ApiToken
from console.accounts.single_sign_on import DirectoryError, NotAdmittedError
from console.accounts.tokens import TokenData, make_token
from console.api.errors import LockedOutError, UnavailableError

WRONG = gettext_lazy("No active account has this name and password.")


def obtain_token(
    request: HttpRequest, *, username: str, password: str, data: TokenData
) -> tuple[ApiToken, str]:
    """A new token of the account with this name and password.

    Raises `ValidationError` for a wrong pair, `LockedOutError` after too many of them, and where a directory is asked
    `UnavailableError` and `PermissionDenied`.
    """
    try:
        user: Any = authenticate(request, username=username, password=password)
    except DirectoryError as error:
        raise UnavailableError(str(error)) from error
    except NotAdmittedError as error:
        raise PermissionDenied(str(error)) from error
    if getattr(request, "axes_locked_out", False):
        # Taken back, or axes' middleware would put its own page in the place of our answer.
        request.axes_locked_out = False  # type: ignore[attr-defined]
        raise LockedOutError(locked_for(request, {"username": username}))
    if user is None:
        raise ValidationError(WRONG)
    with transaction.atomic():
        # Tells axes to forget the failures, Django to note the time and the audit log to say who came in.
        user_logged_in.send(sender=type(user), request=request, user=user)
        return make_token(
            user,
            data,
            actor=user.username,
            by_password=True,
            request_id=getattr(request, "request_id", ""),
        )
