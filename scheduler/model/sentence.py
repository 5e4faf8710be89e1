"""Sentences as data: a code and parameters. The English is made at once; other languages say it when it is shown.

    say("blocked", who=say("job", job="102", user="bob", level="P1"), why=say("waits.begintime"))

A `Sentence` is a `str`, its own English: whoever needs words (contract A, the command line, a hash) takes it as it is.
Parameters are plain: names as `str` (they stay as they are in every language), numbers, other sentences, and what each
language says in its own way: `Seconds`, `Moment`, `Held`, `Listed`. The lines are in `scheduler.model.sentences` and in
what other apps add with `add_lines`; a line is English with `%(name)s` for each parameter.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Union

from scheduler.model import words
from scheduler.model.sentences import SENTENCES

LONGEST = 20_000
"""Characters of JSON that are read back; longer ones are no sentences of ours."""
DEEPEST = 8
"""Sentences within sentences that are read back."""


class Seconds(int):
    """A duration."""

    def __str__(self) -> str:
        return words.duration(self)


class Moment(int):
    """A point in time, epoch seconds."""

    def __str__(self) -> str:
        return words.moment(self)


class Held(dict[str, int]):
    """Amounts of resources."""

    def __str__(self) -> str:
        return words.amounts(self)


class Listed(tuple["Param", ...]):
    """Names or sentences, one after the other; of a long list `limit` are said."""

    more: int
    """How many were left out."""

    def __new__(cls, items: Iterable["Param"], limit: int = 6) -> "Listed":
        """Of the items no more are kept than are said, and how many more there were."""
        every = tuple(items)
        shown = every[: limit - 1] if len(every) > limit else every
        return cls.of(shown, len(every) - len(shown))

    @classmethod
    def of(cls, shown: Iterable["Param"], more: int) -> "Listed":
        """Those that are said, and how many were left out."""
        made = super().__new__(cls, tuple(shown))
        made.more = more
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Listed.of, (tuple(self), self.more)

    def __str__(self) -> str:
        said = list(map(str, self))
        if self.more:
            return f"{', '.join(said)} and {self.more} more"
        return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}" if said else "nobody"


Param = Union[str, int, float, "Sentence", Seconds, Moment, Held, Listed]
_LINES: dict[str, str] = dict(SENTENCES)
_PLAIN = frozenset({str, int, float, Moment})
"""Types whose values are compared as they are."""
_AS_IT_IS = frozenset({str, int, float})
"""Types whose values are JSON already."""


class Sentence(str):
    """English words that know their code and parameters."""

    code: str
    params: Mapping[str, Param]

    def __new__(cls, code: str, params: dict[str, Param]) -> "Sentence":
        """`params` are the sentence's own from then on. Raises KeyError for a code without a line, and for a parameter
        that the line wants and that is not given."""
        made = super().__new__(cls, _LINES[code] % params)
        made.code = code
        made.params = MappingProxyType(params)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Sentence, (self.code, dict(self.params))


def add_lines(lines: Mapping[str, str]) -> None:
    """Further lines by their codes; a code that has another line already raises ValueError."""
    for code, line in lines.items():
        if _LINES.setdefault(code, line) != line:
            raise ValueError(f"two lines for the code {code}")


def line_of(code: str) -> str:
    """The English line of a code. Raises KeyError."""
    return _LINES[code]


def lines() -> Mapping[str, str]:
    """All lines that are known, by code."""
    return MappingProxyType(_LINES)


def say(code: str, /, **params: Param) -> Sentence:
    """One sentence, or a part of one."""
    return Sentence(code, params)


def join(*sentences: str) -> str:
    """Sentences one after the other; what is empty is left out."""
    some = [each for each in sentences if each]
    if len(some) < 2:
        return some[0] if some else ""
    return say("joined", first=told(some[0]), next=told(join(*some[1:])))


def told(words: str) -> Sentence:
    """A sentence itself; of words of ours that are text, one that a page reads as it reads rows of before.

    Never for what a person or Slurm has said.
    """
    return words if isinstance(words, Sentence) else say("told", english=words)


def facts_of(text: str) -> object:
    """What can be compared: two sentences that differ only in durations, which grow by themselves, are the same."""
    return _facts(text)


def _facts(value: object) -> object:
    kind = type(value)  # by `is`: asked of every part of every decision in each cycle
    if kind in _PLAIN:
        return value
    if isinstance(value, Sentence):
        said = sorted(value.params.items())
        return value.code, tuple([(k, v if type(v) in _PLAIN else _facts(v)) for k, v in said])
    if kind is Seconds:
        return Seconds
    if isinstance(value, Listed):
        return (*map(_facts, value), value.more)
    if isinstance(value, Held):
        return tuple(sorted(value.items()))
    return value


def with_names(sentence: Sentence, change: Callable[[str], str]) -> Sentence:
    """The sentence with every name and word in it changed; its own words stay."""
    return Sentence(sentence.code, {name: _changed(value, change) for name, value in sentence.params.items()})


def _changed(value: Param, change: Callable[[str], str]) -> Param:
    match value:
        case Sentence():
            return with_names(value, change)
        case Listed():
            return Listed.of((_changed(each, change) for each in value), value.more)
        case Held():
            return Held({change(name): amount for name, amount in value.items()})
        case str():
            return change(value)
        case _:
            return value


# --- As JSON ----------------------------------------------------------------------------------------------------------


def to_json(sentence: Sentence) -> dict[str, Any]:
    """`{"code": …, "params": …, "en": …}`; `en` is read where a later release does not know the code."""
    return {"code": sentence.code, "params": _params(sentence), "en": str.__str__(sentence)}


def _params(sentence: Sentence) -> dict[str, Any]:
    return {name: v if type(v) in _AS_IT_IS else _plain(v) for name, v in sentence.params.items()}


def _plain(value: Param) -> Any:
    if isinstance(value, Sentence):
        return {"code": value.code, "params": _params(value)}
    if isinstance(value, Seconds):
        return {"s": int(value)}
    if isinstance(value, Held):
        return {"held": dict(value)}
    if isinstance(value, Listed):
        return {"list": [_plain(each) for each in value], "more": value.more}
    return {"at": int(value)} if isinstance(value, Moment) else value


def from_json(document: object) -> str:
    """The sentence, or its kept English where something in it is not understood; "" where there is none. Never
    raises: a page must not break on what another release has kept."""
    if not isinstance(document, dict):
        return ""
    try:
        return _read(document, DEEPEST)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        kept = document.get("en")
        return kept if isinstance(kept, str) else ""


def _read(document: Mapping[str, Any], depth: int) -> Sentence:
    if not depth:
        raise ValueError("sentences within sentences without an end")
    params = {name: _param(value, depth) for name, value in document["params"].items()}
    return Sentence(document["code"], params)


def _param(value: Any, depth: int) -> Param:
    if isinstance(value, str | int | float):
        return value
    if "code" in value:
        return _read(value, depth - 1)
    if "s" in value:
        return Seconds(value["s"])
    if "at" in value:
        return Moment(value["at"])
    if "held" in value:
        return Held({str(name): int(amount) for name, amount in value["held"].items()})
    return Listed.of([_param(each, depth - 1) for each in value["list"]], int(value["more"]))
