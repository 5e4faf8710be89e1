"""How much of the processor the changes of one account may take, so that nobody's make everybody else wait.

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

import math
import time
from collections.abc import Callable
from threading import Lock
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from console.accounts.bounded_hashers import BusyError, Turns
from console.accounts.busy import spent
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
MOST_KEPT = 1000
"""Full allowances are forgotten then; there are never many others."""

log = structlog.get_logger(__name__)

Key = tuple[str, str]
"""Name of the account, and the pattern of the address."""


class Allowances:
    """Processor seconds that are left, by key. `per_minute`: how many come back in a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._left: dict[Key, tuple[float, float]] = {}

    def wait(self, key: Key, per_minute: float) -> float:
        """Seconds until there is some allowance again; 0 when there is."""
        with self._lock:
            return max(0.0, -self._now(key, per_minute) / per_minute * MINUTE)

    def charge(self, key: Key, seconds: float, per_minute: float) -> None:
        """What a change has taken."""
        with self._lock:
            self._left[key] = (self._now(key, per_minute) - seconds, self._clock())
            if len(self._left) > MOST_KEPT:
                full = per_minute * AT_ONCE
                kept = {key: left for key, left in self._left.items() if self._now(key, per_minute) < full}
                self._left = kept

    def _now(self, key: Key, per_minute: float) -> float:
        full = per_minute * AT_ONCE
        left, at = self._left.get(key, (full, 0.0))
        return min(full, left + (self._clock() - at) / MINUTE * per_minute)


_allowances = Allowances()
_held_back = Turns(1, 0, 0)


def wait_for_allowance(request: HttpRequest, user: Any) -> int:
    """Whole seconds until this account may change something at this address again; 0: at once."""
    name = getattr(user, "username", "")
    if not name or is_administrator(user):
        return 0
    seconds = math.ceil(_allowances.wait((name, _route(request)), _per_minute(request)))
    if seconds:
        _hold_back()
    return seconds


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
            taken = time.thread_time() - begin
            _allowances.charge((name, _route(request)), taken, _per_minute(request))
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        """429 for a form of somebody whose allowance is spent."""
        if request.method in READING or request.path.startswith(API):
            return None
        seconds = wait_for_allowance(request, request.user)
        return spent(request, seconds) if seconds else None


def _per_minute(request: HttpRequest) -> float:
    allowance: float = settings.GIVEWAY_CHANGES_S
    return allowance if request.path.startswith(API) else BY_HAND * allowance


def _route(request: HttpRequest) -> str:
    return request.resolver_match.route if request.resolver_match else ""
