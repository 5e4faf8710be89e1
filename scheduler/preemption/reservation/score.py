"""Which of several nodes that can run a job now is the best (spec 3.1): three figures between 0 and 1, each with a
weight. Whole numbers (thousandths) keep them exactly comparable; equal nodes go by their names.

| figure | weight |
|---|--:|
| the node's health | 4 |
| nearness: the node is in the compute unit that most of the job's nodes are in | 2 |
| tightness: how little of what is asked for would be left over on it | 1 |

So a healthy node goes before a near one, and a near one before one that it fills.
"""

from collections.abc import Iterable
from heapq import nsmallest

from scheduler.preemption.node_state import NodeState
from scheduler.preemption.shapes import Shape

Candidate = tuple[int, int, NodeState]
"""A node that can run a job now: its badness, its order, the node itself."""

THOUSAND = 1000
HEALTH, NEARNESS, TIGHTNESS = 4, 2, 1


def badness(place: NodeState, shape: Shape) -> int:
    """How much is missing to the best score, without nearness; 0 is a healthy node that the job fills."""
    return HEALTH * sickness(place) + TIGHTNESS * _left_over(place, shape)


def sickness(place: NodeState) -> int:
    """What a node lacks of full health, in thousandths."""
    return THOUSAND - round(THOUSAND * place.node.health)


def best_together(candidates: Iterable[Candidate], count: int) -> list[NodeState]:
    """The `count` best of some nodes with their badness, nearness counted: whichever unit the most of them are in.

    Exact: for every unit, as if it were that one, the best nodes with its bonus; the best of these sets.
    """
    if count == 1:
        return [min(candidates)[2]]
    everywhere = nsmallest(count, candidates)
    best = _Set(_cost(everywhere), everywhere)
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        unit = candidate[2].node.unit
        if unit is not None:
            groups.setdefault(unit, []).append(candidate)
    for unit in sorted(groups):
        inside = sorted(groups[unit])[:count]
        near = [(bad - NEARNESS * THOUSAND, order, place) for bad, order, place in inside]
        others = [candidate for candidate in everywhere if candidate[2].node.unit != unit]
        chosen = sorted([*near, *others])[:count]
        if (cost := _cost(chosen)) < best.cost:
            best = _Set(cost, chosen)
    return [place for _, _, place in best.chosen]


class _Set:
    """Some nodes and what they cost together."""

    def __init__(self, cost: int, chosen: list[Candidate]) -> None:
        self.cost = cost
        self.chosen = chosen


def _cost(chosen: Iterable[Candidate]) -> int:
    return sum([bad for bad, _, _ in chosen])


def _left_over(place: NodeState, shape: Shape) -> int:
    """Of what is asked for, the mean share that stays free, in thousandths."""
    total, free = place.node.total, place.free
    shares = [(free.get(name, 0) - amount) * THOUSAND // total[name] for name, amount in shape.wants]
    return sum(shares) // len(shares)
