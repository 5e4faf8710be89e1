"""What is raised in a cycle: kept, logged, and told by its place in words.

A defect in one part must not keep the others from taking back what was begun, and nobody may be stopped on its
account. So every part of a cycle is run under `Failures.kept`: what it raises is noted and the cycle goes on, and from
then on `Failures.holds` says for which partitions nothing may be begun. That the lease is lost, or the database away,
is not kept: the cycle ends there.
"""

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath

import structlog
from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError

from console.core.redaction import hide
from console.steering.actions.lease import LeaseLostError

EVERYWHERE = ""
"""In place of a partition: the whole cycle."""
STOOD_STILL = "25P03"
"""PostgreSQL's word for having ended a transaction in which nothing was done for too long."""
LONGEST_SAID = 200
OURS = ("console", "scheduler")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that was raised. `what`: the place and the exception, in words.

    `partitions`: what was being worked on, empty when that cannot be told. `only_there`: it concerns nothing else.
    `is_defect`: not merely the database that was away.
    """

    what: str
    partitions: frozenset[str] = frozenset()
    only_there: bool = False
    is_defect: bool = True


class Failures:
    """What was raised in one cycle. `held`: the partitions that no cycle has ended well for since an earlier one."""

    def __init__(self, held: Iterable[str] = ()) -> None:
        self.found: list[Failure] = []
        self.held = frozenset(held)

    @contextmanager
    def kept(self, *partitions: str, only_there: bool = False) -> Iterator[None]:
        """Keep what is raised inside, and go on behind it."""
        try:
            yield
        except LeaseLostError:
            raise
        except Exception as error:
            if _is_database_away(error):
                raise
            self.add(error, partitions, only_there=only_there)

    def add(self, error: Exception, partitions: Iterable[str] = (), *, only_there: bool = False) -> None:
        """Note an exception, with its traceback in the log."""
        failure = Failure(
            place_and_words(error), frozenset(partitions), only_there, not _is_database_away(error)
        )
        self.found.append(failure)
        log.error("cycle failed", what=failure.what, partitions=sorted(failure.partitions), exc_info=error)

    def holds(self, partition: str) -> bool:
        """Whether nothing may be begun in the partition: no plan, no signal, no stop."""
        if {EVERYWHERE, partition} & self.held:
            return True
        return any(not each.only_there or partition in each.partitions for each in self.found)


def _is_database_away(error: Exception) -> bool:
    """Whether the database has not answered, or has given up waiting for this process: nobody's defect."""
    if isinstance(error, InternalError):
        return getattr(error.__cause__, "sqlstate", None) == STOOD_STILL
    return isinstance(error, (OperationalError, InterfaceError))


def place_and_words(error: Exception) -> str:
    """`console/steering/ledger.py, line 88 (act): ValueError: …`: our own innermost line, and what was said.

    One line, cut, printable and without secrets: every page shows it.
    """
    said = hide("".join(c if c.isprintable() else " " for c in str(error)))
    said = " ".join(said.split()).rstrip(".")
    if len(said) > LONGEST_SAID:
        said = f"{said[: LONGEST_SAID - 1]}…"
    # A sentence within a sentence could not be said again in another language (console/core/translate.py).
    said = said.replace(". ", "; ")
    kind = type(error).__name__
    return f"{_place(error)}: {kind}: {said}" if said else f"{_place(error)}: {kind}"


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [(frame, name) for frame in frames if (name := _own_path(frame.filename))]
    if not ours:
        return "code that is not Giveway's"
    frame, name = ours[-1]
    return f"{name}, line {frame.lineno} ({frame.name})"


def _own_path(filename: str) -> str:
    """The path within the project; empty for somebody else's file."""
    path = PurePath(filename)
    if not path.is_relative_to(settings.PROJECT_DIR):
        return ""
    own = path.relative_to(settings.PROJECT_DIR)
    return own.as_posix() if own.parts[0] in OURS else ""
