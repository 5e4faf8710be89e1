"""Even sets: of nodes with a known compute power, those whose processors are closest together.

The distance of a set is the largest power in it minus its smallest one (spec 5.2). A node's processors may differ: it
has a lowest and a highest power, and both count, because which of its processors a job gets is not Giveway's to say.
Where no node's differ, the closest `count` nodes are neighbours once they are sorted; else the nodes are gone through
from the highest lowest power down, with the `count` smallest highest powers at hand. Both take O(n log n).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappush, heappushpop, nsmallest
from typing import NamedTuple

ONE = 10**9
"""Powers and distances are counted in billionths: so 1.05 and 1.00 are exactly 0.05 apart."""


class Member(NamedTuple):
    """A node that could be in a set. `power`: the lowest of its processors'; `waste`: what would be left over on it;
    `order`: its place among all nodes; `high`: the highest power of its processors."""

    power: int
    waste: int
    order: int
    high: int


class EvenSet(NamedTuple):
    """A set of nodes; compares as sets are preferred: the smallest distance, the least left over, then the names."""

    distance: int
    waste: int
    node_indices: tuple[int, ...]


def scaled(power: float) -> int:
    """A power or distance in billionths."""
    return round(power * ONE)


def distance_of(members: Iterable[Member]) -> int:
    """How far apart the processors of some nodes are."""
    chosen = list(members)
    return max(member.high for member in chosen) - min(member.power for member in chosen)


def narrowest(members: Sequence[Member], count: int) -> EvenSet | None:
    """The best set of so many; None when there are fewer. `members` are sorted."""
    spans = list(_spans(members, count))
    if not spans:
        return None
    least = min(span for span, _ in spans)
    best: EvenSet | None = None
    before = -1
    for span, first in spans:
        power = members[first].power
        if span == least and power != before:
            before = power
            # Whatever is taken between these powers is no further apart: the least left over decides.
            found = _tightest(between(members, power, power + least), count, least)
            best = found if best is None else min(best, found)
    return best


def between(members: Sequence[Member], low: int, high: int) -> list[Member]:
    """Those of sorted members all of whose processors have a power from `low` to `high`."""
    first = bisect_left(members, (low,))
    end = bisect_left(members, (high + 1,))
    return [member for member in members[first:end] if member.high <= high]


def _spans(members: Sequence[Member], count: int) -> Iterator[tuple[int, int]]:
    """For each member, by its index, with which a set can begin as the lowest: how far apart the closest one is."""
    if all(member.high == member.power for member in members):
        ends = zip(members, members[count - 1 :], strict=False)
        yield from ((high.power - low.power, first) for first, (low, high) in enumerate(ends))
        return
    highest: list[
        int
    ] = []  # Of those seen so far the `count` smallest highest powers, the largest of them first.
    for first in range(len(members) - 1, -1, -1):
        member = members[first]
        if len(highest) < count:
            heappush(highest, -member.high)
        else:
            heappushpop(highest, -member.high)
        if len(highest) == count:
            yield -highest[0] - member.power, first


def _tightest(members: Sequence[Member], count: int, distance: int) -> EvenSet:
    chosen = nsmallest(count, members, key=lambda member: member[1:3])
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
    known: list[Member] = []
    ranks: dict[int, int] = {}
    for rank, member in enumerate(ordered):
        ranks[member.order] = rank
        insort(known, member)
        # No set was complete before: of those in reach of a lowest power there are no more than are wanted.
        complete = [each for each in sets_with(known, member, most) if len(each) >= count]
        if complete:
            return min(complete, key=lambda each: sorted((ranks[m.order] for m in each), reverse=True))
    return None


def sets_with(members: Sequence[Member], member: Member, most: int) -> Iterator[list[Member]]:
    """For each lowest power that a set with a certain member may have: who may be in it. `members` are sorted, and it
    is one of them."""
    if member.high - member.power > most:
        return
    near = between(members, member.high - most, member.power + most)
    for low in sorted({each.power for each in near if each.power <= member.power}):
        yield between(near, low, low + most)
