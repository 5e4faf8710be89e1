"""Kept English sentences in the reader's language.

What the core and the workers say is kept in English: rows are made once and read by many, in whichever language. A
page says it again: it finds the line of `phrases.PHRASES` that the sentence was made from, takes out what stands in
the place of each placeholder, says that again if it is words itself, and puts it into the line's translation. Nothing
is guessed: what no line fits stays as it is, marked as English.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from console.core import saying
from console.core.doctor_phrases import FINDINGS, HINDRANCES
from console.core.fault_phrases import FAULTS
from console.core.labels import label_of
from console.core.phrases import PHRASES
from scheduler.model.reasons import SENTENCES
from scheduler.model.sentence import Sentence

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
"""The texts around the placeholders of a phrase, and the names of these."""


def resaid(text: str) -> str | None:
    """The text in the reader's language; itself where that is English; None when no phrase fits it."""
    language = get_language() or "en"
    if language.startswith("en") or not text:
        return text
    return saying.said(text, resay) if isinstance(text, Sentence) else _resaid(language, text)


@lru_cache(maxsize=4096)
def _resaid(_language: str, text: str) -> str | None:
    """Kept for a while: the same sentences stand on page after page. The language is part of what is asked."""
    if len(text) > LONGEST:
        return None
    return _phrase(text) or _sentences(text) or (_phrase(text, across=True) if _SENTENCE in text else None)


def _sentences(text: str) -> str | None:
    """Several sentences, one phrase after the other; the longest first one that is known."""
    end = text.rfind(". ")
    while end > 0:
        first = _phrase(text[: end + 1])
        rest = _phrase(text[end + 2 :]) or _sentences(text[end + 2 :]) if first else None
        if first and rest:
            return gettext("%(sentence)s %(next)s") % {"sentence": first, "next": rest}
        end = text.rfind(". ", 0, end)
    return None


def resay(text: str) -> str:
    """The same for a sentence within other text: unknown ones stay as they are."""
    said = resaid(text)
    return text if said is None else said


def resay_marked(text: str) -> str | SafeString:
    """The same for a page: what stays English says so, for whoever reads the page aloud."""
    said = resaid(text)
    return format_html('<span lang="en">{}</span>', text) if said is None else said


@cache
def _known() -> tuple[tuple[str, str, Pieces], ...]:
    """The phrases with their longest text and their pieces, those with the most text of their own first."""
    every = dict.fromkeys((*PHRASES, *FAULTS, *FINDINGS, *HINDRANCES, *SENTENCES.values(), *_OF_PAGES))
    pieces = {phrase: (tuple(PLACE.split(phrase)[::2]), tuple(PLACE.findall(phrase))) for phrase in every}
    ordered = sorted(pieces.items(), key=lambda item: -sum(map(len, item[1][0])))
    return tuple((phrase, max(found[0], key=len), found) for phrase, found in ordered)


_OF_PAGES = (
    # Marked where they are made, and kept all the same.
    "%(who)s rejected it: %(why)s",
    "The first administrator, with the one-time code of the server.",
    "Invited by %(who)s.",
    "draft %(name)s",
    "back to revision %(n)d",
    "rules for projects",
    "and %(n)s more",
    "nothing configured",
    "nothing",
    "unconfigured",
)


def _phrase(text: str, *, across: bool = False) -> str | None:
    """The text, made from one phrase. `across`: what somebody wrote in it may be several sentences."""
    for phrase, longest, pieces in _known():
        if longest not in text:  # hundreds of phrases: nearly all of them end here
            continue
        found = _held(text, pieces, across=across)
        if found is not None:
            return _put(gettext(phrase), {name: _word(name, value) for name, value in found.items()})
    return None


def _put(phrase: str, words: Mapping[str, str]) -> str:
    return _WIDE.sub(r"\1", PLACE.sub(lambda place: words[place[1]], phrase))


def _held(text: str, pieces: Pieces, *, across: bool) -> dict[str, str] | None:
    """What stands in the place of each placeholder, if the text is made from this phrase.

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


def _word(name: str, value: str) -> str:
    """What a placeholder holds, said again."""
    if name in TIMES:
        units = saying.units()
        return " ".join(units.get(part, part) for part in value.split(" "))
    if name in LABELLED:
        return label_of(name, value) or value
    if name in LISTS:
        return _list(value, _LOSSES if name == "losses" else _COMMAS)
    return _phrase(value) or value if name in WORDS else value


def _list(value: str, between: re.Pattern[str]) -> str:
    """`a, b and c`, as `scheduler.model.words.names` makes it."""
    items = between.split(value)
    said = [_phrase(item) or item for item in items]
    if len(said) > 1 and re.fullmatch(r"\d+ more", items[-1]):
        return saying.names_and_more(said[:-1], int(items[-1].split()[0]))
    return saying.names(said, limit=len(said))
