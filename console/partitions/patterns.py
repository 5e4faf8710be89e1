"""A form's field of shell-style patterns: one per line, or with commas between."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

_BETWEEN = re.compile(r"[,\r\n]")
_QUOTED = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*(?:[,\r\n]|\Z)')


class PatternsField(forms.CharField):
    """Patterns as a tuple, each once, in the order given.

    Blanks inside a pattern belong to it: job names may hold them. One that holds a comma, a line break, a quotation
    mark or a blank at its end stands as a JSON text in quotation marks, so that what is shown can be sent back.
    """

    def __init__(self, *, one_line: bool = False, **kwargs: Any) -> None:
        attributes = {"spellcheck": "false", "autocomplete": "off"}
        widget: forms.Widget = (
            forms.TextInput(attributes) if one_line else forms.Textarea({"rows": 2, **attributes})
        )
        self._between = ", " if one_line else "\n"
        super().__init__(required=False, strip=False, widget=widget, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """A list as text."""
        return self._between.join(_shown(value)) if isinstance(value, (list, tuple)) else value

    def clean(self, value: Any) -> Any:
        """The patterns."""
        return tuple(dict.fromkeys(_patterns(super().clean(value) or "")))


def _shown(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        plain = pattern == pattern.strip() and pattern.isprintable() and not re.search('[,"]', pattern)
        yield pattern if plain else json.dumps(pattern)


def _patterns(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        quoted = _QUOTED.match(text, at)
        if quoted:
            yield _unquoted(quoted[1])
            at = quoted.end()
            continue
        between = _BETWEEN.search(text, at)
        end = between.start() if between else len(text)
        plain = text[at:end].strip()
        if plain:
            yield plain
        at = end + 1


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise ValidationError(_("%(text)s is no text in quotation marks.") % {"text": text}) from None
