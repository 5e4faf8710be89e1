"""The beginning of what may be long, and how much more there is: a page shows no thousand lines of one change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.translation import gettext as _

register = template.Library()

LISTED = 50
"""Unless the page says otherwise."""
NAMES = 20


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a list, and how many more there are."""

    shown: Sequence[Any]
    more: int


@register.filter
def first_names(names: Mapping[int, Sequence[str]], key: int) -> str:
    """Those of one project, with spaces between."""
    found = names.get(key, ())
    shown = " ".join(found[:NAMES])
    return shown if len(found) <= NAMES else and_more(shown, len(found) - NAMES)


def and_more(shown: str, count: int) -> str:
    """What is shown, and how much is not."""
    return _("%(shown)s and %(n)d more") % {"shown": shown, "n": count}
