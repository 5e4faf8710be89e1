"""Sentences that were kept as English text before 2026-11-23, when they became data, in the reader's language.

Rows of before are read for ever: the audit log's above all. `old_sentences.json` has the lines that such sentences were
made from, with their translations as they were then; nothing is added there, whatever becomes of the lines of today.
The line that fits is found, what stands in the place of each placeholder is taken out, said again if it is words
itself, and put into the line's translation. Nothing is guessed: what no line fits is not said.
"""

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from django.utils.translation import get_language, gettext

from console.core import l10n_format
from console.core.diff import KeyChange, KeyDifference, value_of
from console.core.labels import label_of
from scheduler.model.sentence import line_of

LINES: Mapping[str, Mapping[str, str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
"""By language: the English lines with their translations."""
PLACE = re.compile(r"%\((\w+)\)[sd]")
LONGEST = 4000
"""Longer texts are no sentences of ours."""
NUMBERS = frozenset({"n", "m", "plan", "most"})
TIMES = frozenset({"time", "left"})
LISTS = frozenset({"nodes", "names", "victims", "losses"})
WORDS = frozenset(
    {"who", "why", "need", "free", "below", "origin", "limit", "used", "asked", "amounts", "level", "task"}
)
"""Placeholders that hold words of ours, to be said again."""
LABELLED = frozenset({"enforcement"})
"""Placeholders that hold the short form of a value that documents keep. What all others hold stands as it is."""
CLAUSES = frozenset({"why", "origin", "said", "state", "what", "sum", "free"})
"""Placeholders that may hold whole clauses; what all others hold is a name, an amount or a list of them."""
_CLAUSE, _SENTENCE = re.compile(r"[:;.] "), ". "
_NUMBER = re.compile(r"\d[\d.,]*")
_WIDE = re.compile(" ?([，。：；、（）]) ?")
"""Full-width marks bring their own space."""
_TIME = re.compile(r"\d+ (?:d|h|min|s)(?: \d+ (?:h|min))?")
_COMMAS = re.compile(r"(?:, | and )(?![^()]*\))")
"""Between the items of a list; commas in brackets are within one."""
_LOSSES = re.compile(r"(?:, | and )(?=\S+ \([^()]*\) (?:gives|stops|is) )")
"""The same where each item is a clause with lists of its own."""
Pieces = tuple[tuple[str, ...], tuple[str, ...]]
"""The texts around the placeholders of a line, and the names of these."""


def read(text: str) -> str | None:
    """The text in the reader's language; None when no line fits it, and for readers of English."""
    language = get_language() or "en"
    return _read(language, text) if language in LINES else None


@lru_cache(maxsize=4096)
def _read(language: str, text: str) -> str | None:
    """Kept for a while: the same sentences stand on page after page."""
    if len(text) > LONGEST:
        return None
    return (
        _phrase(language, text)
        or _sentences(language, text)
        or (_phrase(language, text, across=True) if _SENTENCE in text else None)
    )


def _sentences(language: str, text: str) -> str | None:
    """Several sentences, one line after the other; the longest first one that is known."""
    end = text.rfind(". ")
    while end > 0:
        first = _phrase(language, text[: end + 1])
        following = text[end + 2 :]
        rest = _phrase(language, following) or _sentences(language, following) if first else None
        if first and rest:
            return gettext(line_of("joined")) % {"first": first, "next": rest}
        end = text.rfind(". ", 0, end)
    return None


@cache
def _known(language: str) -> tuple[tuple[str, str, Pieces], ...]:
    """The translations of the lines with these lines' longest text and pieces, those with the most text first."""
    pieces = {line: (tuple(PLACE.split(line)[::2]), tuple(PLACE.findall(line))) for line in LINES[language]}
    ordered = sorted(pieces.items(), key=lambda item: -sum(map(len, item[1][0])))
    return tuple((LINES[language][line], max(found[0], key=len), found) for line, found in ordered)


def _phrase(language: str, text: str, *, across: bool = False) -> str | None:
    """The text, made from one line. `across`: what somebody wrote in it may be several sentences."""
    for said, longest, pieces in _known(language):
        if longest not in text:  # hundreds of lines: nearly all of them end here
            continue
        found = _held(text, pieces, across=across)
        if found is not None:
            return _put(said, {name: _word(language, name, value) for name, value in found.items()})
    return None


def _put(phrase: str, words: Mapping[str, str]) -> str:
    return _WIDE.sub(r"\1", PLACE.sub(lambda place: words[place[1]], phrase))


def _held(text: str, pieces: Pieces, *, across: bool) -> dict[str, str] | None:
    """What stands in the place of each placeholder, if the text is made from this line.

    Found from left to right without ever going back: hostile names make it wrong at worst, never slow.
    """
    around, names = pieces
    if not names:
        return {} if text == around[0] else None
    if not text.startswith(around[0]) or not text.endswith(around[-1]):
        return None
    end, at, held = len(text) - len(around[-1]), len(around[0]), {}
    for name, following in zip(names[:-1], around[1:-1], strict=True):
        next_at = text.find(following, at + 1, end)
        if next_at < 0:
            return None
        held[name] = text[at:next_at]
        at = next_at + len(following)
    held[names[-1]] = text[at:end]
    fits = at < end and all(_fits(name, value, across=across) for name, value in held.items())
    return held if fits else None


def _fits(name: str, value: str, *, across: bool) -> bool:
    if name in NUMBERS:
        return _NUMBER.fullmatch(value) is not None
    if name in TIMES:
        return _TIME.fullmatch(value) is not None
    if name in CLAUSES:
        return bool(value) and (across or _SENTENCE not in value)
    return bool(value) and _CLAUSE.search(value) is None


def _word(language: str, name: str, value: str) -> str:
    """What a placeholder holds, said again."""
    if name in TIMES:
        units = l10n_format.units()
        return " ".join(units.get(part, part) for part in value.split(" "))
    if name in LABELLED:
        return label_of(name, value) or value
    if name in LISTS:
        return _list(language, value, _LOSSES if name == "losses" else _COMMAS)
    return _phrase(language, value) or value if name in WORDS else value


def _list(language: str, value: str, between: re.Pattern[str]) -> str:
    """`a, b and c`, as `scheduler.model.words.names` made it."""
    items = between.split(value)
    said = [_phrase(language, item) or item for item in items]
    if len(said) > 1 and re.fullmatch(r"\d+ more", items[-1]):
        return l10n_format.names_and_more(said[:-1], int(items[-1].split()[0]))
    return l10n_format.names(said, limit=len(said))


# --- What an import changed, line by line, before it became data on 2026-11-25 ---------------------------------------

_ARROW, _COLON = " → ", ": "
_CHANGE = re.compile(r"(?:added|removed) ")


def read_change(line: str) -> KeyDifference | None:
    """The difference that was kept as this line; None where its parts cannot be told apart for certain."""
    path, _, rest = line.partition(_COLON)
    try:
        if _ARROW in rest:
            before, after = map(_value, rest.split(_ARROW))
            return KeyDifference(path, KeyChange.CHANGED, before, after)
        kind, _, told = rest.partition(" ")
        if kind == KeyChange.REMOVED:
            return KeyDifference(path, KeyChange.REMOVED, before=_value(told))
        return KeyDifference(path, KeyChange.ADDED, after=_value(told)) if kind == KeyChange.ADDED else None
    except ValueError:
        return None


def _value(told: str) -> Any:
    """Raises `ValueError` for what may be more than a value."""
    value = value_of(told)
    if value is told and (_COLON in told or _CHANGE.match(told)):
        raise ValueError(told)
    return value
