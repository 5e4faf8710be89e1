"""Durations, amounts and lists as people read them, in the reader's language; in English as the core says them."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext as _

from scheduler.model import words

_LETTER, _MARK = "[\u4e00-\u9fff]", "[，。：；、（）？！]"
_BETWEEN_WIDE = re.compile(f" (?={_MARK})|(?<={_MARK}) |(?<={_LETTER}) (?={_LETTER})|(?<=[0-9]) (?=%)")
_TAGS = "(?:<[^<>]*>)*"
_IN_HTML = (
    (re.compile(rf"({_MARK}{_TAGS})\s+"), r"\1"),
    (re.compile(rf"\s+({_TAGS}{_MARK})"), r"\1"),
    (re.compile(rf"({_LETTER}{_TAGS})\s+(?={_TAGS}{_LETTER})"), r"\1"),
)


_SIZES = (("s", 1, 90), ("min", 60, 5400), ("h", 3600, 129600), ("d", 86400, 0))
"""Units of durations: their names, their seconds, and from how many seconds on the next one is said."""


say_again = _
"""Goes with its last caller, `console/steering/templatetags/plan_rows.py`."""


def is_english() -> bool:
    """Whether what is being written is for a reader of English."""
    return (get_language() or "en").startswith("en")


def units() -> Mapping[str, str]:
    """The units of durations in words."""
    return _units(get_language())


@cache
def _units(_language: str | None) -> Mapping[str, str]:
    """Kept, and never changed: a page says hundreds of durations. The language is part of what is asked."""
    return MappingProxyType(
        {
            "d": pgettext("unit of time", "d"),
            "h": pgettext("unit of time", "h"),
            "min": pgettext("unit of time", "min"),
            "s": pgettext("unit of time", "s"),
        }
    )


def duration(seconds: float) -> str:
    """`2 h 14 min`, two units at most."""
    said = units()
    return " ".join(f"{count} {said[unit]}" for count, unit in words.duration_parts(seconds))


def short_duration(seconds: float) -> str:
    """`40 s`, `12 min`, `1.5 h`, `3 d`: one unit, where there is no room for two. As far as it is whole, as `duration`
    says it beside."""
    name, size = next(((name, size) for name, size, most in _SIZES if round(seconds) < most), _SIZES[-1][:2])
    many = seconds / size
    said = f"{many:.1f}".removesuffix(".0") if size >= 3600 and many < 10 else f"{int(many)}"
    return f"{said} {units()[name]}"


def amounts(held: Mapping[str, int]) -> str:
    """`4 × a100, 16 cpu, 32 GB`: Slurm's own names, the same in every language."""
    if not any(held.values()):
        return _("nothing")
    said = words.amounts(held)
    return said if is_english() else said.replace(", ", in_a_row(("", "")))


def percent(share: float) -> str:
    """`12 %` of a share of 0.12."""
    return _("%(n)s\N{NO-BREAK SPACE}%%") % {"n": f"{100 * share:.0f}"}


def one_after_the_other(sentences: Iterable[str]) -> str:
    """Sentences in a row, with a space between them, where the language has one."""
    return set_in_type(" ".join(filter(None, sentences)))


def set_in_type(text: str) -> str:
    """Put together from parts, without the spaces that the reader's language has not: full-width marks bring their
    own, and Chinese letters stand side by side."""
    return text if is_english() else _BETWEEN_WIDE.sub("", text)


def set_html_in_type(html: str) -> str:
    """The same for a piece of a page, where a tag may stand beside the space."""
    if is_english():
        return html
    for found, put in _IN_HTML:
        html = found.sub(put, html)
    return html


def with_label(label: object, text: object) -> str:
    """`label: text`."""
    return f"{label}{pgettext('after a label', ': ')}{text}"


def names(items: Iterable[str], limit: int = 6) -> str:
    """`a, b and c`; a long list is cut: `a, b, c and 9 more`."""
    every = list(items)
    if len(every) < 2:
        return every[0] if every else _("nobody")
    if len(every) > limit:
        return names_and_more(every[: limit - 1], len(every) - limit + 1)
    return set_in_type(_("%(first)s and %(last)s") % {"first": in_a_row(every[:-1]), "last": every[-1]})


def names_and_more(some: Iterable[str], more: int) -> str:
    """`a, b, c and 9 more`."""
    return _("%(some)s and %(n)d more") % {"some": in_a_row(some), "n": more}


def with_aside(said: object, aside: object) -> str:
    """`what is said (and what stands in brackets)`."""
    return _("%(word)s (%(why)s)") % {"word": said, "why": aside}


def part_of(whole: str, part: str) -> str:
    """`a thing, its part`."""
    return f"{whole}{pgettext('between a thing and its part', ', ')}{part}"


def in_a_row(items: Iterable[str]) -> str:
    """`a, b, c`."""
    return pgettext("between names", ", ").join(items)
