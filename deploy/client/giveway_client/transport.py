"""One request to the console: what is sent, what comes back, and when to try once more."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any, NamedTuple

from giveway_client.errors import BY_STATUS, GivewayError, RefusedError, UnreachableError
from giveway_client.words import ENGLISH, _

TIMEOUT_S = 30.0
TRIES = 3
FIRST_PAUSE_S = 0.3
PASSING = frozenset({502, 503, 504})
"""What a proxy answers while the console starts again."""


class Answer(NamedTuple):
    """What the console sent, and what time it is there."""

    body: Any
    now: datetime


class _NoAnswerError(UnreachableError):
    """Nothing came back: it may help to try again."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token is sent to the address that it was made for, and nowhere else."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        text = _("the console answers from elsewhere; log in again with its address: %(url)s")
        raise UnreachableError(text % {"url": newurl})


def api_address(url: str) -> str:
    """`https://host`, with or without /api/v1, as the address that paths are added to."""
    try:
        parts = urllib.parse.urlsplit(url.strip())
        known = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # http://[::1 or a port that is no number
        known = False
    if not known:
        text = _("%(url)r is no address of a console; for example https://giveway.example.org")
        raise GivewayError(text % {"url": url})
    base = url.strip().rstrip("/")
    return f"{base}/" if base.endswith("/api/v1") else f"{base}/api/v1/"


class Transport:
    """Asks one console as one account. `tries`: how often a request is sent when no answer comes. `language`: of the
    sentences in an answer."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = TIMEOUT_S,
        tries: int = TRIES,
        language: str = ENGLISH,
    ) -> None:
        if token and not (token.isascii() and token.isprintable()):
            raise GivewayError(_("the token holds characters that no token has; do: giveway login"))
        self.address = api_address(url)
        self._token = token
        self._timeout = timeout
        self._tries = tries
        self._language = language

    def ask(
        self, method: str, path: str, *, query: Any = None, send: Any = None, key: str | None = None
    ) -> Answer:
        """The answer; refusals are raised. `key`: the idempotency key of a change, by itself a new one."""
        if query:
            path = f"{path}?{urllib.parse.urlencode(query, doseq=True)}"
        headers = self._headers(send is not None)
        if method != "GET" and self._token:
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        return self._tried(self._tries - 1, FIRST_PAUSE_S, lambda: self._once(method, path, headers, send))

    def _tried(self, left: int, pause: float, once: Callable[[], Answer]) -> Answer:
        """Once more, after a pause that doubles, while nothing comes back."""
        try:
            return once()
        except _NoAnswerError:
            if not left:
                raise
        time.sleep(pause)
        return self._tried(left - 1, pause * 2, once)

    def _headers(self, with_body: bool) -> dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Language": self._language, "User-Agent": "giveway"}
        if self._token:
            headers["Authorization"] = f"Token {self._token}"
        if with_body:
            headers["Content-Type"] = "application/json"
        return headers

    def _once(self, method: str, path: str, headers: dict[str, str], send: Any) -> Answer:
        body = None if send is None else json.dumps(send).encode()
        # `api_address` lets http and https through, nothing else.
        request = urllib.request.Request(self.address + path, body, headers, method=method)  # noqa: S310
        try:
            opener = urllib.request.build_opener(NoRedirects)
            with opener.open(request, timeout=self._timeout) as response:
                return Answer(self._decode(response.read()), clock_of(response))
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except urllib.error.URLError as error:
            text = _("%(address)s cannot be reached: %(why)s")
            raise _NoAnswerError(text % {"address": self.address, "why": error.reason}) from None
        except (OSError, HTTPException, ValueError) as error:
            text, why = _("%(address)s did not answer: %(why)s"), f"{type(error).__name__} {error}"
            raise _NoAnswerError(text % {"address": self.address, "why": why}) from None

    def _decode(self, body: bytes) -> Any:
        try:
            return json.loads(body) if body else {}
        except ValueError:
            text = _("%(address)s is not the API of a Giveway console")
            raise UnreachableError(text % {"address": self.address}) from None

    def _refusal(self, error: urllib.error.HTTPError) -> GivewayError:
        """The console's own sentence, if it sent one."""
        said = {"address": self.address, "status": error.code}
        with error:
            if error.code == 401 and self._token:
                return BY_STATUS[401](_("the token is not valid (any more); do: giveway login"), 401)
            try:
                told = json.loads(error.read())["error"]
                message, code, fields = str(told["message"]), str(told["code"]), told.get("fields")
            except (ValueError, KeyError, TypeError, OSError, HTTPException):
                if error.code in PASSING:
                    text = _("%(address)s answered %(status)s: the console is not there now")
                    return _NoAnswerError(text % said)
                return UnreachableError(_("%(address)s answered %(status)s: is it a Giveway console?") % said)
        if error.code in PASSING:  # it is there, and knows what it waits for: its database, a directory
            return _NoAnswerError(message)
        if error.code >= 500:
            return UnreachableError(message)
        return BY_STATUS.get(error.code, RefusedError)(message, error.code, code, fields)


def clock_of(response: Any) -> datetime:
    """The console's clock, so that ages are right where this machine's clock is not."""
    try:
        return parsedate_to_datetime(response.headers["Date"])
    except (TypeError, ValueError):
        return datetime.now(timezone.utc)
