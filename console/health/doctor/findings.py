"""What a check found."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is. FAIL: Giveway cannot do its work, or would do harm. WARN: it works, and will bite some day."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence on what is, and one on what to do; the second is empty when nothing is to be done."""

    check: str
    level: Level
    what: str
    fix: str = ""

    def __post_init__(self) -> None:
        if (self.level is Level.OK) == bool(self.fix):
            raise ValueError(f"{self.check}: a cure belongs to what is wrong, and to nothing else")


def ok(check: str, what: str) -> Finding:
    """All is well."""
    return Finding(check, Level.OK, what)


def warn(check: str, what: str, fix: str) -> Finding:
    """It works, and will bite some day."""
    return Finding(check, Level.WARN, what, fix)


def fail(check: str, what: str, fix: str) -> Finding:
    """Giveway cannot do its work, or would do harm."""
    return Finding(check, Level.FAIL, what, fix)
