"""Reading a body: JSON of a sensible size, without what no database stores and no reader can tell apart."""

import math
from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser

from console.api.errors import TooLargeError
from console.core.limits import most
from console.core.translate import resay
from scheduler.contracts.errors import InputError, join, quoted
from scheduler.contracts.fields import near_key
from scheduler.contracts.jsontext import Doubled, parse


class BoundedJSONParser(JSONParser):
    """JSON read as the priority file is, with a limit to its size; faults are named by their path."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The decoded body."""
        request = (parser_context or {}).get("request")
        length = int(request.META.get("CONTENT_LENGTH") or 0) if request else 0
        if length > (limit := most(getattr((parser_context or {}).get("view"), "body_limit", "body"))):
            text = _("The body has %(length)s bytes, at most %(limit)s are read: send less at once.")
            raise TooLargeError(text % {"length": length, "limit": limit})
        try:
            body = parse(stream.read())
            found = dict(faults(body, "$"))
        except InputError as error:
            raise ParseError(_("The body %(fault)s.") % {"fault": resay(error.message)}) from None
        except RecursionError:
            raise ParseError(_("The body is nested too deeply.")) from None
        if found:
            raise ValidationError(
                {path.removeprefix("$").lstrip(".") or "body": [text] for path, text in found.items()}
            )
        return body


def faults(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Path and fault of each value inside that is not what it seems."""
    if isinstance(value, str):
        if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):
            yield path, _("Holds a NUL or half a character (a lone surrogate); remove it.")
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield path, _("Must be a finite number.")
    elif isinstance(value, dict):
        if isinstance(value, Doubled):
            yield join(path, value.key), _("Stands twice; keep one.")
        for key, inner in value.items():
            yield from faults(key, join(path, key))
            yield from faults(inner, join(path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from faults(inner, f"{path}[{index}]")


# --- A body's keys: one that means nothing is refused, for a misspelt one that is ignored changes what nobody meant.
#
# So is `true` where a number is wanted: it would be taken for 1.

_MOST_TOLD = 20
_LONGEST = 60


def valid(sent: serializers.Serializer, read: type[Any] | None = None) -> None:
    """Check what was sent. Raises `ValidationError` with the JSON path of each fault, unknown keys before all others.

    `read` is the serializer that the resource is read with: what was read may be sent back as it is, so its keys are
    known, and mean nothing.
    """
    if sent.initial_data is None:
        raise ValidationError(_("The body is null; an object is wanted."))
    also: Collection[str] = read().fields if read is not None else ()
    faults: dict[str, list[str]] = {}
    for path, fault in _unknown(sent, sent.initial_data, "$", also):
        faults[path.removeprefix("$").lstrip(".")] = [fault]
        if len(faults) == _MOST_TOLD:
            break
    if faults:
        raise ValidationError(faults)
    sent.is_valid(raise_exception=True)


def _unknown(
    field: serializers.Field, value: Any, path: str, also: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Path and fault of each unknown key, here and inside, and of each truth that should be a number."""
    if isinstance(field, serializers.ListSerializer) and field.child and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(field.child, item, f"{path}[{index}]")
    elif isinstance(field, serializers.Serializer) and isinstance(value, Mapping):
        known = {name: each for name, each in field.fields.items() if not each.read_only}
        for key, inner in value.items():
            if key in known:
                yield from _unknown(known[key], inner, join(path, key))
            elif key not in also:
                yield join(path, key[:_LONGEST]), _fault(key, known)
    elif isinstance(field, serializers.FloatField) and isinstance(value, bool):
        yield path, _("must be a number, not true or false")


def _fault(key: str, known: Collection[str]) -> str:
    near = near_key(key, known)
    text = _("unknown key %(key)s; known are %(known)s")
    if near:
        text = _("unknown key %(key)s; did you mean %(near)s?")
    return text % {"key": quoted(key[:_LONGEST]), "near": near, "known": ", ".join(known)}
