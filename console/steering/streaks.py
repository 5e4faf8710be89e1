"""Failures of cycles, one after the other: what is held back on their account, and from when on.

1. A cycle in which something was raised begins a streak, or goes on with it.
2. While a streak holds, cycles observe, verify and take back; they begin no plan and signal and stop nobody.
3. A cycle that ends well lifts the hold. The streak is over only after a second one, in which nothing was held back:
   what raises whenever somebody is stopped is not well because nobody was.
One streak is about the whole cycle; a partition that could not be decided on has one of its own and holds up no other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from console.steering.failures import EVERYWHERE, Failure
from scheduler.model.sentence import say


@dataclass(frozen=True, slots=True)
class Streak:
    """Failures that no good cycle has followed yet. `partition`: the one that they are about, empty for the cycle.

    `what`: the latest, by its place. `concerned`: the partitions that were being worked on, empty when that is not
    known of all of them. `toward_pause`: how many there were since a partition was paused for it.
    """

    partition: str
    what: str
    since: datetime
    in_a_row: int = 1
    toward_pause: int = 0
    holds: bool = True
    concerned: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The place and the kind of the exception, without its words: for whoever is not signed in."""
        return ": ".join(self.what.split(": ", 2)[:2])

    @property
    def sentence(self) -> str:
        """In words, for pages and programs."""
        if self.partition:
            return say("cycle.undecided", partition=self.partition, what=self.what)
        return say("cycle.failed", what=self.what)


def read(kept: Mapping[str, Any]) -> dict[str, Streak]:
    """What `CycleMeter.failing` keeps, by partition."""
    return {
        name: Streak(
            **{**row, "since": datetime.fromisoformat(row["since"]), "concerned": tuple(row["concerned"])}
        )
        for name, row in kept.items()
    }


def written(streaks: Mapping[str, Streak]) -> dict[str, Any]:
    """The streaks as `CycleMeter.failing` keeps them."""
    return {name: {**asdict(each), "since": each.since.isoformat()} for name, each in streaks.items()}


def what_holds(streaks: Iterable[Streak]) -> list[Streak]:
    """Those on whose account nobody is stopped now, the whole cycle's first."""
    return sorted((each for each in streaks if each.holds), key=lambda each: each.partition)


def next_streaks(
    before: Mapping[str, Streak], found: Iterable[Failure], now: datetime, *, seen: bool
) -> dict[str, Streak]:
    """The streaks after a cycle in which `found` was raised."""
    by_name: dict[str, list[Failure]] = {}
    for failure in found:
        for name in failure.partitions if failure.only_there else (EVERYWHERE,):
            by_name.setdefault(name, []).append(failure)
    after: dict[str, Streak] = {}
    for name in before.keys() | by_name.keys():
        if name in by_name:
            after[name] = _longer(before.get(name), name, by_name[name], now)
        elif not seen or EVERYWHERE in by_name:
            after[name] = before[name]  # nothing is known of it: it was not come to
        elif before[name].holds:
            after[name] = replace(before[name], holds=False)
    return after


def _longer(before: Streak | None, name: str, found: list[Failure], now: datetime) -> Streak:
    concerned = frozenset().union(*(each.partitions for each in found))
    is_known = all(each.partitions for each in found) and (before is None or bool(before.concerned))
    if before is not None:
        concerned |= frozenset(before.concerned)
    return Streak(
        partition=name,
        what=found[0].what,
        since=before.since if before else now,
        in_a_row=(before.in_a_row if before else 0) + 1,
        toward_pause=(before.toward_pause if before else 0) + any(each.is_defect for each in found),
        concerned=tuple(sorted(concerned)) if is_known else (),
    )
