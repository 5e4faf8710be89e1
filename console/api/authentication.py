"""Who sends a token, and whether what they ask is within its scope.

The scope is looked at here and not in the views' permissions, so that no view can forget it.
"""

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.authentication import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied, ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import ScopedRateThrottle

from console.accounts.addresses import client_address, neighbourhood
from console.accounts.login_lockout import locked_for
from console.accounts.models import ApiToken, Scope, User
from console.accounts.single_sign_on import DirectoryError, NotAdmittedError
from console.accounts.tokens import TokenData, find_token, make_token
from console.api.errors import LockedOutError, UnavailableError

CHECKPOINTS = frozenset({("POST", "api-checkpoint-token"), ("POST", "api-checkpoints")})
"""All that a token for checkpoints is good for."""
GONE = "This token is not one of this console, has ended or was revoked."


class ScopedTokenAuthentication(TokenAuthentication):
    """`Authorization: Token gwt_…`; `request.auth` is the token's row."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """The account and the token, None without one. 401 for a token worth nothing, 403 beyond its scope."""
        found: Any = super().authenticate(request)
        if found is not None:
            _require_scope(found[1], request)
        return found

    def authenticate_credentials(self, key: str) -> tuple[User, ApiToken]:
        """By the token's hash."""
        token = find_token(key)
        if token is None:
            raise AuthenticationFailed(GONE)
        return token.user, token


def _require_scope(token: ApiToken, request: Request) -> None:
    match token.scope:
        case Scope.WRITE:
            return
        case Scope.READ:
            if request.method not in SAFE_METHODS:
                raise PermissionDenied(_("This token may only read."))
        case _:
            resolved = request._request.resolver_match  # noqa: SLF001 - DRF does not pass it on
            if resolved is None or (request.method, resolved.url_name) not in CHECKPOINTS:
                raise PermissionDenied(_("This token is good for acknowledging checkpoints only."))


# --- A token for a name and a password: the lockout of the sign-in page counts here too.

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
            user, data, actor=user.username, by_password=True, request_id=getattr(request, "request_id", "")
        )


# --- So many tries per address, as `GIVEWAY_TRUSTED_PROXIES` has it: the framework believes all that is sent or none.


class AddressThrottle(ScopedRateThrottle):
    """By the view's `throttle_scope`."""

    def get_ident(self, request: Request) -> str:
        """Where the request comes from."""
        return neighbourhood(client_address(request._request))  # noqa: SLF001 - Django's own request has the address
