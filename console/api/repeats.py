"""Validators: an answer that the asker already has is not sent again, and nobody writes over what he has not read.

Every answer to GET has an `ETag`: strong, from its content, or weak and without asking for the content at all where
the cluster's version says it. `If-None-Match` with it is answered 304. A write with `If-Match` is refused (412)
unless what GET shows at the same address is what the tag stands for.
"""

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.models import User
from console.api.errors import AnswerNotKeptError, KeyReusedError, PreconditionError
from console.api.models import LONGEST_KEY, IdempotencyKey
from console.core import clock
from console.core.concurrent_changes import MissedChanges
from console.core.l10n_format import names, set_in_type
from console.core.limits import no_room

READING = frozenset({"GET", "HEAD"})
_VERSION = re.compile(r'(?:W/)?"(\d{1,18})-[0-9a-f]{32}"')


class Validated:
    """Puts the `ETag` on what a view answers; for views of the REST framework, before them in the order of classes.

    `version_key`: the key of the answer that counts its versions, if there is one. Then the tag tells which version
    somebody had read, and `changes_since` says what has come after it, and by whom.
    """

    version_key: str | None = None
    request: Any
    kwargs: Any

    def weak_tag(self) -> str | None:
        """A validator that is known before the content is, or None."""
        return None

    def changes_since(self, version: int) -> MissedChanges | None:
        """What was changed after this version, and by whom; None: it cannot be told."""
        return None

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The tag of what is read, and of what a change made of it."""
        final: Any = super().finalize_response(request, response, *args, **kwargs)
        if final.status_code == 200 and hasattr(final, "add_post_render_callback"):
            if request.method in READING:
                final.add_post_render_callback(partial(self._validate, request))
            elif self.version_key and request.method in {"PUT", "PATCH"}:
                final.add_post_render_callback(self._tag)
        elif final.status_code == 200 and request.method in READING and not final.streaming:
            self._validate(request, final)  # a file, which is made already
        return final

    def _validate(self, request: Request, response: Any) -> None:
        weak = self.weak_tag()
        if weak:
            response["ETag"] = weak
        else:
            self._tag(response)
        if is_one_of(response["ETag"], request.headers.get("If-None-Match", "")):
            response.status_code = 304
            response.content = b""
            del response["Content-Type"]

    def _tag(self, response: Any) -> None:
        response["ETag"] = self._tag_of(getattr(response, "data", None), response.content)

    def _tag_of(self, data: Any, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()[:32]
        version = data.get(self.version_key) if self.version_key and isinstance(data, dict) else None
        return f'"{digest}"' if version is None else f'"{version}-{digest}"'

    # --- Writing ---------------------------------------------------------------------------------------------

    def check_preconditions(self, request: Request) -> None:
        """Raises `PreconditionError` when a write is to be done only to something else than what is there."""
        wanted = request.headers.get("If-Match")
        unwanted = request.headers.get("If-None-Match")
        if wanted is None and unwanted is None:
            return
        tag = self._current_tag(request)
        if wanted is not None and not is_one_of(tag, wanted, weakly=False):
            raise PreconditionError(self._words(wanted), tag)
        if unwanted is not None and is_one_of(tag, unwanted):
            raise PreconditionError(_("It is there already, as the request says that it must not be."), tag)

    def _current_tag(self, request: Request) -> str:
        """Of what GET would answer now; empty where there is no GET. What is not there for this account is a 404."""
        read = getattr(self, "get", None)
        if read is None:
            return ""
        response = read(request, **self.kwargs)
        if not isinstance(response, Response):
            return ""
        context = self.get_renderer_context()  # type: ignore[attr-defined]
        content: Any = request.accepted_renderer.render(response.data, request.accepted_media_type, context)
        return self.weak_tag() or self._tag_of(response.data, content)

    def _words(self, wanted: str) -> str:
        versions = [int(found) for found in _VERSION.findall(wanted)] if self.version_key else []
        missed = self.changes_since(max(versions)) if versions else None
        if missed is None or not missed.differences:
            return _("It has changed since you read it. Read it again and repeat your change.")
        text = _(
            "It has changed since you read it, by %(who)s: %(changes)s. Read it again and repeat your change."
        )
        return set_in_type(text % {"who": names(missed.who), "changes": missed.by_key})


def is_one_of(tag: str, header: str, *, weakly: bool = True) -> bool:
    """Whether a header names the tag; `weakly`: weak validators count too (RFC 9110, 8.8.3.2)."""
    if not tag or not header:
        return False
    named = parse_etags(header)
    if "*" in named:
        return True
    if not weakly:
        return not tag.startswith("W/") and tag in named
    return tag.removeprefix("W/") in {each.removeprefix("W/") for each in named}


# --- A write that is sent again is done once: `Idempotency-Key`.
#
# The same account, key and request get the first answer again for a day; another request under the key is refused.
# The answer is written down in the transaction of the change itself, so there is one if and only if the change was
# made: a request that failed has changed nothing, has kept nothing, and may be repeated under its key. Of two at
# once, one waits for the other.
#
# Where a view `checks_first`, the transaction begins with `base.changing`. What was sent is read and checked before,
# so that a long body keeps nobody else from the database. Elsewhere it begins before the view.

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
