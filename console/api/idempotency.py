"""A write that is sent again is done once: `Idempotency-Key`.

The same account, key and request get the first answer again for a day; another request under the key is refused. The
answer is written down in the transaction of the change itself, so there is one if and only if the change was made: a
request that failed has changed nothing, has kept nothing, and may be repeated under its key. Of two at once, one waits
for the other.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
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


def once(request: Request, person: User, write: Callable[[], Response]) -> Response:
    """What `write` answers, or answered when this request came for the first time."""
    key = _key_of(request)
    if key is None:
        return write()
    mark = _fingerprint(request)
    if full := no_room("repetitions", IdempotencyKey.objects.filter(person=person).count()):
        raise ValidationError({HEADER: [full]})
    with transaction.atomic():
        row, first = _claim(person, key, mark)
        if not first:
            return _again(row, mark)
        response = write()
        _keep(row, response)
    forget_old_keys()
    return response


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
        raise ValidationError({HEADER: [f"Must be 1 to {LONGEST_KEY} printable ASCII characters."]})
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
