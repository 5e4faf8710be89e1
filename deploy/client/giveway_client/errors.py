"""What can go wrong, in one line each. `exit_status` is what the command ends with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class GivewayError(Exception):
    """Something is wrong on this side: no login, an address that is none."""

    exit_status = 2


class UnreachableError(GivewayError):
    """There was no answer, none of a Giveway console, or one that says that the console failed."""

    exit_status = 3


class RefusedError(GivewayError):
    """The console said no. `code` is for programs, `fields` names what is wrong in what was sent."""

    exit_status = 1

    def __init__(self, message: str, status: int = 0, code: str = "", fields: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.fields: Mapping[str, list[str]] = fields if isinstance(fields, dict) else {}


class InvalidError(RefusedError):
    """The request makes no sense (400, 422)."""


class NotSignedInError(RefusedError):
    """No token, or one that is worth nothing (any more)."""


class ForbiddenError(RefusedError):
    """You may see it, but not do that."""


class NotFoundError(RefusedError):
    """It is not there, or not there for you."""


class ChangedError(RefusedError):
    """It is not, or no longer, as the request takes it to be (409, 412): read it again."""


class ThrottledError(RefusedError):
    """Too many tries."""


BY_STATUS = {
    400: InvalidError,
    401: NotSignedInError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ChangedError,
    412: ChangedError,
    422: InvalidError,
    429: ThrottledError,
}
