"""What the log knows of the web request that is being answered: its id, and who asks."""

import logging
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse

log = structlog.get_logger("console.request")

current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


def add_request(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the request's id, and its user once known; nothing is looked up for it.

    Django's own lines about an answer are written when our middleware is done; they bring the request along.
    """
    request = current_request.get() or getattr(event.get("_record"), "request", None)
    if isinstance(request, HttpRequest):
        event["request_id"] = getattr(request, "request_id", "")
        if name := user_of(request):
            event["user"] = name
    return event


def user_of(request: HttpRequest) -> str:
    """The signed-in user's name; empty when nobody is, or nobody has asked yet."""
    # The REST framework puts a token's user in the place of the session's lazy one, whose result Django keeps apart.
    from django.contrib.auth.base_user import AbstractBaseUser  # the log is set up before the apps

    for user in (request.__dict__.get("user"), getattr(request, "_cached_user", None)):
        if isinstance(user, AbstractBaseUser) and user.is_authenticated:
            return str(user.get_username())
    return ""


def tell(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """One line per request: what was asked and how it was answered. Polls and probes only where somebody debugs."""
    changes = request.method not in {"GET", "HEAD", "OPTIONS"}
    level = logging.INFO if changes or response.status_code >= 400 else logging.DEBUG
    log.log(
        level,
        "request",
        method=request.method,
        path=request.path,  # never the query: it may be anything
        status=response.status_code,
        duration_ms=round(seconds * 1000),
    )
