"""A write that is sent again is done once: `Idempotency-Key`.

The same account, key and request get the first answer again for a day; another request under the key is refused. The
answer is written down in the transaction of the change itself, so there is one if and only if the change was made: a
request that failed has changed nothing, has kept nothing, and may be repeated under its key. Of two at once, one waits
for the other.

Where a view `checks_first`, the transaction begins with `changes.changing`. What was sent is read and checked before,
so that a long body keeps nobody else from the database. Elsewhere it begins before the view.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.models import User
from console.api.errors import AnswerNotKeptError, KeyReusedError
from console.api.models import LONGEST_KEY, IdempotencyKey
from console.core import clock
from console.core.limits import no_room

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEPT = timedelta(days=1)
SECRETS = frozenset({"token", "secret", "password", "key", "link"})
"""An answer with one of these keys is not written down."""


class _AlreadyDoneError(Exception):
    """Somebody else had the key first."""


class _Claim:
    """A key that is to be claimed in the transaction of the change; `row` is there once it is."""

    def __init__(self, person: User, key: str, mark: str, stack: ExitStack) -> None:
        self.person, self.key, self.mark = person, key, mark
        self.row: IdempotencyKey | None = None
        self._stack = stack

    def begin(self) -> IdempotencyKey:
        """Begin the transaction, unless it has begun. Raises `_AlreadyDoneError`."""
        if self.row is None:
            self._stack.enter_context(transaction.atomic())
            self.row, first = _claim(self.person, self.key, self.mark)
            if not first:
                raise _AlreadyDoneError
        return self.row


_claims: ContextVar[_Claim | None] = ContextVar("claim of an idempotency key", default=None)


def once(
    request: Request, person: User, write: Callable[[], Response], *, checks_first: bool = False
) -> Response:
    """What `write` answers, or answered when this request came for the first time."""
    key = _key_of(request)
    if key is None:
        return write()
    mark = _fingerprint(request)
    if full := no_room("repetitions", IdempotencyKey.objects.filter(person=person).count()):
        raise ValidationError({HEADER: [full]})
    try:
        response = _under(key, mark, person, write, checks_first=checks_first)
    except _AlreadyDoneError:
        return _again(IdempotencyKey.objects.get(person=person, key=key), mark)
    forget_old_keys()
    return response


def _under(
    key: str, mark: str, person: User, write: Callable[[], Response], *, checks_first: bool
) -> Response:
    """The change and its answer, in one transaction."""
    with ExitStack() as stack:
        claim = _Claim(person, key, mark, stack)
        stack.callback(_claims.reset, _claims.set(claim))
        if not checks_first:
            claim.begin()
        response = write()
        _keep(claim.begin(), response)
    return response


def claimed() -> None:
    """From here on something is written: begin the transaction of the key, where there is one."""
    if (claim := _claims.get()) is not None:
        claim.begin()


def first_answer(request: Request, person: User) -> Response | None:
    """The answer that is kept for this request, if it has been made before."""
    key = _key_of(request)
    if key is None:
        return None
    row = IdempotencyKey.objects.filter(person=person, key=key, created_at__gte=clock.now() - KEPT).first()
    return _again(row, _fingerprint(request)) if row else None


def forget_old_keys() -> None:
    """Delete what has been kept for longer than `KEPT`, whoever's it is."""
    IdempotencyKey.objects.filter(created_at__lt=clock.now() - KEPT).delete()


def _key_of(request: Request) -> str | None:
    key: str | None = request.headers.get(HEADER)
    if key is not None and not (key.isascii() and key.isprintable() and 1 <= len(key) <= LONGEST_KEY):
        text = _("Must be 1 to %(most)s printable ASCII characters.")
        raise ValidationError({HEADER: [text % {"most": LONGEST_KEY}]})
    return key


def _fingerprint(request: Request) -> str:
    """What is asked, with the body as it was understood: spaces between its keys make no other request."""
    data = request.data.dict() if hasattr(request.data, "dict") else request.data
    what = [request.method, request.get_full_path(), data]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _claim(person: User, key: str, mark: str) -> tuple[IdempotencyKey, bool]:
    """The row of the key, and whether it is new. Whoever has just made it holds it until its transaction ends."""
    mine = IdempotencyKey.objects.filter(person=person, key=key)
    mine.filter(created_at__lt=clock.now() - KEPT).delete()
    new = {"fingerprint": mark, "created_at": clock.now()}
    return mine.get_or_create(person=person, key=key, defaults=new)


def _keep(row: IdempotencyKey, response: Response) -> None:
    row.status = response.status_code
    row.secret = isinstance(response.data, dict) and not SECRETS.isdisjoint(response.data)
    if response.data is not None and not row.secret:
        row.body = JSONRenderer().render(response.data).decode()
    row.save(update_fields=["status", "secret", "body"])


def _again(row: IdempotencyKey, mark: str) -> Response:
    if row.fingerprint != mark:
        raise KeyReusedError
    if row.secret:
        raise AnswerNotKeptError
    data: Any = json.loads(row.body) if row.body else None
    return Response(data, status=row.status, headers={REPLAYED: "true"})
