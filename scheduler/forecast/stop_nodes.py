"""Who is next on the nodes: the chance to be stopped for a job that wants much of one node.

The play of the hour in one pool (`stop_hour`) does not see nodes, and on nodes (`stop_hour_nodes`) it has few draws.
Who wants eight units of a node finds no room in eight that are free on eight nodes, and stops whoever holds the rest of
the cheapest node. So for each kind of job that comes (its rank, its units on a node, how many nodes), nodes are put
into the order in which room would be made on them: first where the most valuable of those to be stopped is worth least,
then the next. The node that is the n-th in it is reached when n such jobs come that find no free node; how many come is
taken as a Poisson number about what is usual. Who wants one unit is not looked at: any that is free will do, and the
play knows it. Ends are not looked at either; the chance is too high for that, and is only one of the figures that are
learned from.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from scheduler.forecast.history import Floats
from scheduler.forecast.stop_picture import HORIZON_S, Arrival, RiskPicture

MOST_KINDS = 8
"""Of the kinds of jobs the most usual so many are looked at."""
FARTHEST = 40
"""So many jobs that come are looked ahead."""

_Worth = tuple[int, int, int]
"""Rank, seconds run, number: the larger is stopped later."""


@dataclass(frozen=True, slots=True)
class _Kind:
    rank: int
    share: int
    nodes: int


def node_chances(
    picture: RiskPicture, hours: Sequence[Sequence[Arrival]], weights: Floats, most_kinds: int = MOST_KINDS
) -> Floats:
    """Of each running job; 0 where it is not known who runs on which node. `weights`: of the hours, with sum 1."""
    spared = np.ones(len(picture.running))
    if picture.nodes:
        on = _by_node(picture)
        rates = _rates(hours, weights)
        above = [kind for kind in rates if kind.share > 1 and picture.outranks.get(kind.rank)]
        for kind in sorted(above, key=lambda kind: (-rates[kind], kind.rank, kind.share, kind.nodes))[
            :most_kinds
        ]:
            _play(picture, on, kind, rates, spared)
    return np.asarray(1 - spared)


def _by_node(picture: RiskPicture) -> list[list[tuple[_Worth, int]]]:
    """On each node who may be stopped, in the order of stopping, and the units that this gives."""
    on: list[list[tuple[_Worth, int]]] = [[] for _ in picture.nodes]
    running = picture.running
    order = sorted((job.rank, job.ran_s, number) for number, job in enumerate(running)
                   if job.safe_s is not None and job.safe_s < HORIZON_S)  # fmt: skip
    for worth in order:
        for node, units in running[worth[2]].on:
            on[node].append((worth, units))
    return on


def _rates(hours: Sequence[Sequence[Arrival]], weights: Floats) -> dict[_Kind, float]:
    """How many of each kind come in an hour."""
    rates: dict[_Kind, float] = defaultdict(float)
    for hour, weight in zip(hours, weights.tolist(), strict=True):
        kinds = Counter((each.rank, ceil(each.units / each.nodes), each.nodes) for each in hour)
        for key, count in kinds.items():
            rates[_Kind(*key)] += weight * count
    return dict(rates)


def _play(
    picture: RiskPicture,
    on: Sequence[Sequence[tuple[_Worth, int]]],
    kind: _Kind,
    rates: Mapping[_Kind, float],
    spared: Floats,
) -> None:
    """What this kind adds: who is reached when so many come."""
    lower = picture.outranks[kind.rank]
    free = sum(units >= kind.share for units in picture.nodes) // kind.nodes
    comes = sum(rate for other, rate in rates.items() if other.share >= kind.share
                and (free or other.rank not in lower))  # fmt: skip
    share = rates[kind] / comes if comes else 0.0
    reached = _at_least(comes)
    if free >= FARTHEST:
        return
    costs = []
    for units, victims in zip(picture.nodes, on, strict=True):
        if units < kind.share:
            costs.append(_needed(kind.share - units, victims, lower))
    order = sorted(cost for cost in costs if cost)
    told: set[int] = set()
    for place, cost in enumerate(order):
        number = free + place // kind.nodes + 1
        if number >= FARTHEST:
            break
        # The last of those who come has to be of this kind; others reach it in their own turn.
        chance = reached[number] * (1 - (1 - share) ** number)
        for worth in cost:
            if worth[2] not in told:
                told.add(worth[2])
                spared[worth[2]] *= 1 - chance


def _needed(missing: int, victims: Sequence[tuple[_Worth, int]], lower: frozenset[int]) -> list[_Worth]:
    """The first who suffice, without those who are not needed, the most valuable first; none where they do not."""
    found = []
    for worth, units in victims:
        if missing <= 0:
            break
        if worth[0] in lower:
            found.append((worth, units))
            missing -= units
    if missing > 0:
        return []
    needed = []
    for worth, units in reversed(found):
        if missing + units <= 0:
            missing += units
        else:
            needed.append(worth)
    return needed


def _at_least(mean: float) -> list[float]:
    """The chance that so many come or more, by number."""
    chance, below, found = float(np.exp(-mean)), 0.0, []
    for number in range(FARTHEST + 1):
        found.append(max(0.0, 1 - below))
        below += chance
        chance *= mean / (number + 1)
    return found
