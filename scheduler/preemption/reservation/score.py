"""Which of several nodes that can run a job now is the best (spec 3.1): three figures between 0 and 1, each with a
weight. Whole numbers (thousandths) keep them exactly comparable; equal nodes go by their names.

| figure | weight |
|---|--:|
| the node's health | 4 |
| nearness: the node is in the compute unit that most of the job's nodes are in | 2 |
| tightness: how little of what is asked for would be left over on it | 1 |

So a healthy node goes before a near one, and a near one before one that it fills.
"""

from collections.abc import Sequence
from heapq import nsmallest

from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place

THOUSAND = 1000
HEALTH, NEARNESS, TIGHTNESS = 4, 2, 1


def badness(place: Place, shape: Shape) -> int:
    """How much is missing to the best score, without nearness; 0 is a healthy node that the job fills."""
    return HEALTH * sickness(place) + TIGHTNESS * _left_over(place, shape)


def sickness(place: Place) -> int:
    """What a node lacks of full health, in thousandths."""
    return THOUSAND - round(THOUSAND * place.node.health)


def best_together(candidates: Sequence[tuple[int, Place]], count: int) -> list[Place]:
    """The `count` best of some nodes with their badness, nearness counted: whichever unit the most of them are in.

    Exact: for every unit, as if it were that one, the best nodes with its bonus; the best of these sets.
    """
    everywhere = nsmallest(count, candidates, key=_key)
    if count == 1:
        return [place for _, place in everywhere]
    best = _Set(_cost(everywhere), everywhere)
    groups: dict[str, list[tuple[int, Place]]] = {}
    for candidate in candidates:
        if candidate[1].node.unit is not None:
            groups.setdefault(candidate[1].node.unit, []).append(candidate)
    for unit in sorted(groups):
        inside = nsmallest(count, groups[unit], key=_key)
        near = [(bad - NEARNESS * THOUSAND, place) for bad, place in inside]
        others = [candidate for candidate in everywhere if candidate[1].node.unit != unit]
        chosen = nsmallest(count, [*near, *others], key=_key)
        if (cost := _cost(chosen)) < best.cost:
            best = _Set(cost, chosen)
    return [place for _, place in best.chosen]


class _Set:
    """Some nodes and what they cost together."""

    def __init__(self, cost: int, chosen: list[tuple[int, Place]]) -> None:
        self.cost = cost
        self.chosen = chosen


def _key(candidate: tuple[int, Place]) -> tuple[int, int]:
    return candidate[0], candidate[1].order


def _cost(chosen: Sequence[tuple[int, Place]]) -> int:
    return sum(bad for bad, _ in chosen)


def _left_over(place: Place, shape: Shape) -> int:
    """Of what is asked for, the mean share that stays free, in thousandths."""
    total, free = place.node.total, place.free
    shares = [(free.get(name, 0) - amount) * THOUSAND // total[name] for name, amount in shape.wants]
    return sum(shares) // len(shares)
