"""Validators: an answer that the asker already has is not sent again, and nobody writes over what he has not read.

Every answer to GET has an `ETag`: strong, from its content, or weak and without asking for the content at all where
the cluster's version says it. `If-None-Match` with it is answered 304. A write with `If-Match` is refused (412)
unless what GET shows at the same address is what the tag stands for.
"""

import hashlib
import re
from functools import partial
from typing import Any

from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from console.api.errors import PreconditionError
from console.core.concurrent_changes import MissedChanges
from console.core.l10n_format import names, set_in_type

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
