"""Who sends a token, and whether what they ask is within its scope.

The scope is looked at here and not in the views' permissions, so that no view can forget it.
"""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.authentication import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from console.accounts.models import ApiToken, Scope, User
from console.accounts.tokens import find_token

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
