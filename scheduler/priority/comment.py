"""What a user says about a job in its comment (contract E): words between blanks or semicolons.

    elastic:min=2,wish=4,how=tasks   it may lose workers, down to `min`; `wish` is how many it would like to have
    group=NAME                       with others of its user and account it is one request
    partial=no                       all that it asks for, or nothing
    balanced                         nodes of equal compute power

All other words are the user's own. A comment is hostile text: any text is read, nothing is raised. A word of ours that
is wrong changes nothing and is named in `faults`; an elastic job whose words contradict each other is not elastic.
"""

import re
from dataclasses import dataclass, field

from scheduler.model.sentence import Sentence, say
from scheduler.model.task_types import ShrinkHow

MOST_FAULTS = 6
"""Faults that are told of one comment."""
LONGEST_SHOWN = 40
_MOST_WORKERS = 999_999
_BETWEEN = re.compile(r"[\s;]+")
_GROUP = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_ELASTIC, _GROUPED, _PARTIAL, _BALANCED = "elastic", "group", "partial", "balanced"
_NUMBERS = ("min", "wish")


_HOWS = {how.value: how for how in ShrinkHow}


@dataclass(frozen=True, slots=True)
class ElasticWords:
    """How far a job may shrink, in workers, 1 <= `least` <= `wish`. None: the user has not said it."""

    least: int
    wish: int | None = None
    how: ShrinkHow | None = None


@dataclass(frozen=True, slots=True)
class CommentWords:
    """What was understood of a comment, and what was not. `partial` is False only where the user wants all or none."""

    elastic: ElasticWords | None = None
    group: str = ""
    partial: bool = True
    balanced: bool = False
    faults: tuple[Sentence, ...] = ()
    about_elastic: bool = field(default=False, compare=False)
    """Whether it says anything of `elastic`, understood or not."""


def read_comment(comment: str) -> CommentWords:
    """The words of a job's comment."""
    if not comment:
        return CommentWords()
    by_head: dict[str, list[str]] = {}
    faults: list[Sentence] = []
    heads: set[str] = set()
    for word in dict.fromkeys(_BETWEEN.split(comment)):
        head = re.split("[:=]", word, maxsplit=1)[0]
        ours = _ours(head.lower(), word)
        heads.add(ours)
        if ours and head != ours:
            faults.append(say("comment.capitals", word=shown(word), right=ours))
        elif ours:
            by_head.setdefault(ours, []).append(word)
    elastic = _elastic(by_head.get(_ELASTIC, []), faults)
    group = _group(by_head.get(_GROUPED, []), faults)
    partial = _flag("partial=no", "comment.partial", by_head.get(_PARTIAL, []), faults)
    balanced = _flag("balanced", "comment.balanced", by_head.get(_BALANCED, []), faults)
    said = _ELASTIC in heads
    return CommentWords(elastic, group, not partial, balanced, tuple(faults[:MOST_FAULTS]), said)


def shown(word: str) -> str:
    """A user's own word as it may stand in a sentence: printable and cut."""
    cut = word if len(word) <= LONGEST_SHOWN else f"{word[: LONGEST_SHOWN - 1]}…"
    return "".join(c if c.isprintable() else "?" for c in cut)


def _ours(head: str, word: str) -> str:
    """Which of our words this is meant to be. `group` and `partial` alone, without `=`, are words of a user's own."""
    if head in (_ELASTIC, _BALANCED):
        return head
    return head if head in (_GROUPED, _PARTIAL) and word[len(head) : len(head) + 1] == "=" else ""


def _elastic(words: list[str], faults: list[Sentence]) -> ElasticWords | None:
    if len(words) > 1:
        faults.append(say("comment.elastic.many"))
        return None
    if not words:
        return None
    read = _elastic_word(words[0])
    if isinstance(read, Sentence):
        faults.append(read)
        return None
    return read


def _elastic_word(word: str) -> ElasticWords | Sentence:
    """One word, or what is wrong with it."""
    head, _, rest = word.partition(":")
    if head != _ELASTIC or not rest:
        return say("comment.elastic.form", word=shown(word))
    parts: dict[str, str] = {}
    for part in rest.split(","):
        key, _, value = part.partition("=")
        if key not in (*_NUMBERS, "how"):
            return say("comment.elastic.part", part=shown(part))
        if key in parts:
            return say("comment.elastic.twice", key=key)
        if key in _NUMBERS and _count(value) is None:
            return say("comment.elastic.number", key=key, value=shown(value))
        parts[key] = value
    return _agreeing(parts)


def _agreeing(parts: dict[str, str]) -> ElasticWords | Sentence:
    least, wish = (_count(parts.get(key, "")) for key in _NUMBERS)
    if least is None:
        return say("comment.elastic.no_min")
    if wish is not None and wish < least:
        return say("comment.elastic.crossed", least=least, wish=wish)
    if "how" not in parts:
        return ElasticWords(least, wish)
    if parts["how"] not in _HOWS:
        return say("comment.elastic.how", value=shown(parts["how"]))
    return ElasticWords(least, wish, _HOWS[parts["how"]])


def _count(value: str) -> int | None:
    """A number of workers in plain digits; None for anything else."""
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(_MOST_WORKERS))):
        return None
    return int(value) or None


def _group(words: list[str], faults: list[Sentence]) -> str:
    if len(words) > 1:
        faults.append(say("comment.group.many"))
        return ""
    name = words[0].partition("=")[2] if words else ""
    if words and not _GROUP.fullmatch(name):
        faults.append(say("comment.group.name", value=shown(name)))
        return ""
    return name


def _flag(right: str, code: str, words: list[str], faults: list[Sentence]) -> bool:
    """A word that has only one form. What is wrong beside the right one is told and changes nothing."""
    faults.extend(say(code, word=shown(word)) for word in words if word != right)
    return right in words
