"""Even sets: of nodes with a known compute power, those whose powers are closest together.

The distance of a set is its largest power minus its smallest one (spec 5.2). Sorted by power, the closest `count`
nodes are neighbours, so the smallest distance is found in one pass over windows of `count` neighbours: O(n log n) with
the sorting.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

ONE = 10**9
"""Powers and distances are counted in billionths: so 1.05 and 1.00 are exactly 0.05 apart."""


class Member(NamedTuple):
    """A node that could be in a set. `waste`: what would be left over on it; `order`: its place among all nodes."""

    power: int
    waste: int
    order: int


class EvenSet(NamedTuple):
    """A set of nodes; compares as sets are preferred: the smallest distance, the least left over, then the names."""

    distance: int
    waste: int
    node_indices: tuple[int, ...]


def scaled(power: float) -> int:
    """A power or distance in billionths."""
    return round(power * ONE)


def narrowest(members: Sequence[Member], count: int) -> EvenSet | None:
    """The best set of so many; None when there are fewer. `members` are sorted."""
    last = count - 1
    spans = [high.power - low.power for low, high in zip(members, members[last:], strict=False)]
    if not spans:
        return None
    least = min(spans)
    best: EvenSet | None = None
    before = -1
    for first, span in enumerate(spans):
        power = members[first].power
        if span == least and power != before:
            before = power
            # Whatever is taken between these powers is no further apart: the least left over decides.
            end = bisect_left(members, (power + least + 1,))
            found = _tightest(members[first:end], count, least)
            best = found if best is None else min(best, found)
    return best


def _tightest(members: Sequence[Member], count: int, distance: int) -> EvenSet:
    chosen = nsmallest(count, members, key=lambda member: member[1:])
    node_indices = tuple(sorted(member.order for member in chosen))
    return EvenSet(distance, sum(member.waste for member in chosen), node_indices)


def best_set(members: Sequence[Member], units: Mapping[int, str], count: int, most: int) -> EvenSet | None:
    """The set that a job gets: the best one inside a unit if that is no further apart than `most`, else the best of
    all, however far apart it is. `units`: the compute unit of each node that has one, by order.
    """
    inside: dict[str, list[Member]] = {}
    for member in members:
        unit = units.get(member.order)
        if unit is not None:
            inside.setdefault(unit, []).append(member)
    found = [narrowest(each, count) for each in inside.values() if len(each) >= count]
    near = min((each for each in found if each is not None), default=None)
    return near if near is not None and near.distance <= most else narrowest(members, count)


def first_set(ordered: Iterable[Member], count: int, most: int) -> list[Member] | None:
    """From nodes in the order in which they are welcome: stop at the first one that completes a set of `count` no
    further apart than `most`, and give that set; of several, the one whose other members came earlier.

    So the least welcome node of the set is as welcome as it can be.
    """
    known: list[tuple[int, int, Member]] = []
    for rank, member in enumerate(ordered):
        entry = (member.power, rank, member)
        insort(known, entry)
        at = bisect_left(known, entry)
        complete = [
            known[first : first + count]
            for first in range(max(0, at - count + 1), min(at, len(known) - count) + 1)
            if known[first + count - 1][0] - known[first][0] <= most
        ]
        if complete:
            best = min(complete, key=lambda window: sorted((entry[1] for entry in window), reverse=True))
            return [entry[2] for entry in best]
    return None
