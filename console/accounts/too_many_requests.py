"""Who is turned away for a moment, or for a while: what is said, and when to come again.

And how much of the processor the changes of one account may take, so that nobody's make everybody else wait:

1. A change costs the processor time of its thread. Waiting, for a lock or for others, costs nothing.
2. Each account has an allowance for each address. It fills up steadily, to a quarter of what it gets in a minute.
3. The change that empties it is carried out. The next one is refused before anything is read (429), until there is
   some allowance again: an expensive change costs a pause, and what was refused costs next to nothing.
4. Whoever does not heed the pause gets the refusal late: one request at a time is held back for a while, so that a
   client without pauses does not make up in refusals what it may not do in changes.
5. Another address is another allowance: who has changed a project too often can still pause a partition.
6. Administrators have no bound. They import whole files, and must never be kept from acting.

It is kept in the memory of each web process, for it is that process's threads that would wait.
"""

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.accounts.bounded_hashers import RETRY_S, BusyError, Turns
from console.accounts.login_lockout import locked_for
from console.accounts.rules import is_administrator
from console.core.error_pages import API
from console.core.request_log import user_of

READING = frozenset({"GET", "HEAD", "OPTIONS"})
TOO_MANY = 429
MINUTE = 60.0
AT_ONCE = 0.25
BY_HAND = 4
"""Times as much for forms: the button that adds a row to a long policy sends and makes all of its page."""
HELD_BACK_S = 1.0

log = structlog.get_logger(__name__)

Key = tuple[str, str]
"""Name of the account, and the pattern of the address."""


_lock = Lock()
_held_back = Turns(1, 0, 0)


def wait_for_allowance(request: HttpRequest, user: Any) -> int:
    """Whole seconds until this account may change something at this address again; 0: at once."""
    name = getattr(user, "username", "")
    if not name or is_administrator(user):
        return 0
    seconds = math.ceil(seconds_until_allowed((name, _route(request)), _per_minute(request)))
    if seconds:
        _hold_back()
    return seconds


def charge_allowance(key: Key, seconds: float, per_minute: float) -> None:
    """What a change has taken. `per_minute`: how many processor seconds come back in a minute."""
    with _lock:
        left = _allowance_left(key, per_minute) - seconds
        full_in_s = (per_minute * AT_ONCE - left) / per_minute * MINUTE
        caches["allowances"].set(_name_of(key), (left, time.monotonic()), full_in_s + 1)


def seconds_until_allowed(key: Key, per_minute: float) -> float:
    """Until there is some allowance again; 0 when there is."""
    return max(0.0, -_allowance_left(key, per_minute) / per_minute * MINUTE)


def _allowance_left(key: Key, per_minute: float) -> float:
    """Processor seconds, below 0 where more was taken; what is full again is not kept any more."""
    full, now = per_minute * AT_ONCE, time.monotonic()
    left, at = caches["allowances"].get(_name_of(key), (full, now))
    return min(full, float(left) + (now - at) / MINUTE * per_minute)


def _name_of(key: Key) -> str:
    """Names of accounts may be anything; a cache's keys may not."""
    return hashlib.sha256("\0".join(key).encode()).hexdigest()


def _hold_back() -> None:
    """Keep this request for a while, unless another one is kept: it has one of few threads."""
    try:
        with _held_back.one():
            time.sleep(HELD_BACK_S)
    except BusyError:
        log.debug("somebody else is held back already")


class AllowancesMiddleware:
    """Measures what changes take, and refuses those of pages; the API refuses its own (`console.api.base`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method in READING:
            return self.get_response(request)
        begin = time.thread_time()
        response = self.get_response(request)
        if response.status_code == TOO_MANY:
            # A body that nobody has read would break the connection before the answer has arrived.
            request.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        if name := user_of(request):
            charge_allowance((name, _route(request)), time.thread_time() - begin, _per_minute(request))
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        """429 for a form of somebody whose allowance is spent."""
        if request.method in READING or request.path.startswith(API):
            return None
        seconds = wait_for_allowance(request, request.user)
        return _spent(request, seconds) if seconds else None


def _per_minute(request: HttpRequest) -> float:
    allowance: float = settings.GIVEWAY_CHANGES_S
    return allowance if request.path.startswith(API) else BY_HAND * allowance


def _route(request: HttpRequest) -> str:
    return request.resolver_match.route if request.resolver_match else ""


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


def locked(
    request: HttpRequest, answer: HttpResponse | None = None, credentials: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Too many failed tries for this name, or from here; axes asks for it in the place of `answer`."""
    seconds = locked_for(request, dict(credentials or {}))
    return _later(render(request, "accounts/locked.html", status=429), seconds)


def _spent(request: HttpRequest, seconds: int) -> HttpResponse:
    """The changes of this account have kept the console busy for long enough."""
    return _later(render(request, "accounts/spent.html", {"seconds": seconds}, status=429), seconds)


def _later(response: HttpResponse, seconds: int) -> HttpResponse:
    response["Retry-After"] = str(seconds)
    return response
