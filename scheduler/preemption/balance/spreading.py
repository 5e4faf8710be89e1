"""Even sets for requests that are counted over nodes together: the narrowest range of powers with enough in it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from scheduler.model.resources import add, subtract

Amounts = Mapping[str, int]
Wants = Sequence[tuple[str, int]]


class Giving(NamedTuple):
    """What a node could give. `power`, `high`: the lowest and the highest power of its processors; `order`: its place
    among all nodes."""

    power: int
    high: int
    order: int
    gives: Amounts


def narrowest_range(nodes: Sequence[Giving], wants: Wants) -> tuple[int, int] | None:
    """The lowest and the highest power of the narrowest range whose nodes together give enough; of equal ones the
    lowest. `nodes` are sorted. None when all together are not enough.
    """
    if any(node.high != node.power for node in nodes):
        return _narrowest_of_unlike(nodes, wants)
    have: dict[str, int] = {}
    best: tuple[int, int] | None = None
    first = 0
    for node in nodes:
        add(have, node.gives)
        while _enough(have, wants):
            low = nodes[first].power
            if best is None or node.power - low < best[1] - best[0]:
                best = low, node.power
            subtract(have, nodes[first].gives)
            first += 1
    return best


def _narrowest_of_unlike(nodes: Sequence[Giving], wants: Wants) -> tuple[int, int] | None:
    """The same where processors of one node differ: for each lowest power the nodes above it, by their highest one."""
    best: tuple[int, int] | None = None
    by_high = sorted(nodes, key=lambda node: (node.high, node.order))
    for low in sorted({node.power for node in nodes}):
        have: dict[str, int] = {}
        for node in by_high:
            if best is not None and node.high - low >= best[1] - best[0]:
                break
            if node.power < low:
                continue
            add(have, node.gives)
            if _enough(have, wants):
                best = low, node.high
                break
    return best


def _enough(have: Amounts, wants: Wants) -> bool:
    return all(have.get(name, 0) >= amount for name, amount in wants)


def fullest_ranges(nodes: Iterable[Giving], wants: Wants, lows: Iterable[int], wide: int) -> list[int]:
    """Of the ranges of power that begin at `lows` and are so wide, those first in which most of what is wanted can be
    given: of the scarcest resource, and of equal ones the lowest. By the nodes' lowest powers."""
    ordered = sorted(nodes, key=lambda node: (node.power, node.order))
    powers = [node.power for node in ordered]
    sums = {name: [0, *accumulate(node.gives.get(name, 0) for node in ordered)] for name, _ in wants}

    def share(low: int) -> int:
        first, last = bisect_left(powers, low), bisect_right(powers, low + wide)
        return min((sums[name][last] - sums[name][first]) * 1000 // amount for name, amount in wants)

    return sorted(lows, key=lambda low: (-share(low), low))
