"""What a check found, as sentences of `console.health.sentences` and `slurm_sentences`: code and parameters."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from console.core.redaction import hide_in_sentence
from scheduler.model.sentence import Moment, Param, Sentence, from_json, lines, say, to_json


class Level(StrEnum):
    """How bad it is. FAIL: Giveway cannot do its work, or would do harm. WARN: it works, and will bite some day."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence on what is, and one on what to do; the second is empty when nothing is to be done.

    Both are `Sentence`s, but for what Django's own check finds: plain text, English.
    """

    check: str
    level: Level
    what: str
    fix: str = ""

    def __post_init__(self) -> None:
        if (self.level is Level.OK) == bool(self.fix):
            raise ValueError(f"{self.check}: a cure belongs to what is wrong, and to nothing else")

    @property
    def code(self) -> str:
        """The code of what is; empty for what Django's own check finds."""
        return self.what.code if isinstance(self.what, Sentence) else ""

    def without_secrets(self) -> "Finding":
        """The same for showing: messages of the database and the broker may have a password in them."""
        return Finding(self.check, self.level, hide_in_sentence(self.what), hide_in_sentence(self.fix))

    def as_json(self) -> dict[str, Any]:
        """For keeping; `told_again` reads it."""
        return {
            "check": self.check,
            "level": self.level.value,
            "what": _kept(self.what),
            "fix": _kept(self.fix),
        }


def told_again(kept: dict[str, Any]) -> dict[str, Any]:
    """A kept finding with its sentences. Those of before 2026-11-23 were kept as English text, and stay that."""
    return {**kept, "what": _read(kept["what"]), "fix": _read(kept["fix"])}


def _kept(text: str) -> Any:
    return to_json(text) if isinstance(text, Sentence) else text


def _read(kept: Any) -> str:
    return kept if isinstance(kept, str) else from_json(kept)


def ok(check: str, code: str, /, **params: Param) -> Finding:
    """All is well."""
    return Finding(check, Level.OK, say(code, **params))


def warn(check: str, code: str, /, **params: Param) -> Finding:
    """It works, and will bite some day. The cure is the code's own, said with the same parameters."""
    return Finding(check, Level.WARN, say(code, **params), cure(code, **params))


def fail(check: str, code: str, /, **params: Param) -> Finding:
    """Giveway cannot do its work, or would do harm. The cure as in `warn`."""
    return Finding(check, Level.FAIL, say(code, **params), cure(code, **params))


def cure(code: str, /, **params: Param) -> Sentence:
    """What to do about a finding: `CODE.cure`, or for `CODE.one` that of `CODE`. Raises KeyError where there is none.

    It keeps only the parameters that it says.
    """
    own = f"{code}.cure"
    found = own if own in lines() else f"{code.rpartition('.')[0]}.cure"
    line = lines()[found]
    return say(found, **{name: value for name, value in params.items() if f"%({name})s" in line})


def moment(at: datetime) -> Moment:
    """A point in time, as sentences have it."""
    return Moment(at.timestamp())


def counted(code: str, count: int) -> str:
    """The code for this many: `CODE.one`, or `CODE` itself."""
    return f"{code}.one" if count == 1 else code
