"""Reading a body: JSON of a sensible size, without what no database stores and no reader can tell apart."""

import math
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser

from console.api.errors import TooLargeError
from console.core.limits import most
from console.core.translate import resay
from scheduler.contracts.errors import InputError, join
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
