"""Even sets for requests that are counted over nodes together: the narrowest range of powers with enough in it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from scheduler.model.resources import add, subtract

Amounts = Mapping[str, int]
Giving = tuple[int, int, Amounts]
"""A node's power, its order, what it could give."""


def narrowest_range(nodes: Sequence[Giving], wants: Sequence[tuple[str, int]]) -> tuple[int, int] | None:
    """The lowest and the highest power of the narrowest range whose nodes together give enough; of equal ones the
    lowest. `nodes` are sorted. None when all together are not enough.
    """
    have: dict[str, int] = {}
    best: tuple[int, int] | None = None
    first = 0
    for power, _, gives in nodes:
        add(have, gives)
        while all(have.get(name, 0) >= amount for name, amount in wants):
            low = nodes[first][0]
            if best is None or power - low < best[1] - best[0]:
                best = low, power
            subtract(have, nodes[first][2])
            first += 1
    return best


def fullest_ranges(
    nodes: Iterable[Giving], wants: Sequence[tuple[str, int]], lows: Iterable[int], wide: int
) -> list[int]:
    """Of the ranges of power that begin at `lows` and are so wide, those first in which most of what is wanted can be
    given: of the scarcest resource, and of equal ones the lowest."""
    ordered = sorted(nodes, key=lambda node: node[:2])
    powers = [power for power, _, _ in ordered]
    sums = {name: [0, *accumulate(gives.get(name, 0) for _, _, gives in ordered)] for name, _ in wants}

    def share(low: int) -> int:
        first, last = bisect_left(powers, low), bisect_right(powers, low + wide)
        return min((sums[name][last] - sums[name][first]) * 1000 // amount for name, amount in wants)

    return sorted(lows, key=lambda low: (-share(low), low))
