"""What somebody is told who is turned away for a moment, or for a while: at once, and when to come again."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.accounts.bounded_hashers import RETRY_S, BusyError
from console.accounts.login_lockout import locked_for


class BusyMiddleware:
    """Pages: too many passwords are being looked at just now. The API says so itself (`console.api.handler`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """503, for this one exception."""
        if not isinstance(exception, BusyError):
            return None
        return _later(render(request, "accounts/busy.html", status=503), RETRY_S)


def barred(request: HttpRequest) -> HttpResponse:
    """Too many failed tries from this address."""
    return locked(request)


def locked(
    request: HttpRequest, answer: HttpResponse | None = None, credentials: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Too many failed tries for this name, or from here; axes asks for it in the place of `answer`."""
    seconds = locked_for(request, dict(credentials or {}))
    return _later(render(request, "accounts/locked.html", status=429), seconds)


def spent(request: HttpRequest, seconds: int) -> HttpResponse:
    """The changes of this account have kept the console busy for long enough."""
    return _later(render(request, "accounts/spent.html", {"seconds": seconds}, status=429), seconds)


def _later(response: HttpResponse, seconds: int) -> HttpResponse:
    response["Retry-After"] = str(seconds)
    return response
