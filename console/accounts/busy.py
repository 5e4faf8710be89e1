"""What somebody is told who is turned away for a moment, or for a while: at once, and when to come again."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.accounts.guesses import WINDOW
from console.accounts.hashing import RETRY_S, BusyError


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
    return _later(render(request, "accounts/locked.html", status=429), int(WINDOW.total_seconds()))


def _later(response: HttpResponse, seconds: int) -> HttpResponse:
    response["Retry-After"] = str(seconds)
    return response
