"""What tells of a running job, beside its drawn chance, whether it is stopped within the hour: figures without scale.

Who is next? Jobs are stopped in an order, so before it is a job's turn those ahead of it have to be stopped and the
free room to be taken. How much is that beside what usually comes in an hour of those whom it gives way to, beside
what came in the last hours, what waits now, and what is about to end? All are ratios of units, logarithms and shares:
they mean the same on ten GPUs and on ten thousand, and name no user.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log

import numpy as np

from scheduler.forecast.facts import Forecast
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_picture import HORIZON_S, Arrival, RiskPicture
from scheduler.forecast.stop_risk import PastHours

# --- Who is next on the nodes: the chance to be stopped for a job that wants much of one node ---
# The play of the hour in one pool (`stop_hour`) does not see nodes, and on nodes (`stop_hour_nodes`) it has few draws.
# Who wants eight units of a node finds no room in eight that are free on eight nodes, and stops whoever holds the
# rest of the cheapest node. So for each kind of job that comes (its rank, its units on a node, how many nodes), nodes
# are put into the order in which room would be made on them: first where the most valuable of those to be stopped is
# worth least, then the next. The node that is the n-th in it is reached when n such jobs come that find no free node;
# how many come is taken as a Poisson number about what is usual. Who wants one unit is not looked at: any that is
# free will do, and the play knows it. Ends are not looked at either; the chance is too high for that, and is only one
# of the figures that are learned from.


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


FIGURES = 13
LATELY = 6
"""Hours that count as the last ones."""
SOFT = 0.5
"""Added to counts of draws: a chance is never told as none."""
LEAST = 0.002
"""The same for the chance by nodes; none at all is 0."""
LIKELY = log(0.1 / 0.9)
"""Above this drawn chance the correction may bend."""


def figures_of(picture: RiskPicture, past: PastHours, drawn: Floats, draws: int) -> Floats:
    """(running, FIGURES), in the order of `running`. The first is always 1, the second the log odds of what was drawn.

    `drawn`: in what share of so many draws each is stopped.
    """
    running = picture.running
    if not running:
        return np.zeros((0, FIGURES))
    comes, last, lately = _coming(picture, past)
    nodes = node_chances(picture, past.known, past.weights())
    ranks = [each.rank for each in running]
    usual = np.array([comes[rank] for rank in ranks])
    units = np.array([each.units for each in running], float)
    # What comes may be nothing: a usual job is put beside it. So nothing depends on what units are.
    job = max(1.0, float(units.mean()))
    ending = _soon_over([each.left for each in running])
    waits = _waiting(picture)
    odds = np.log((drawn * draws + SOFT) / ((1 - drawn) * draws + SOFT))
    lacks = np.array([waits[rank] for rank in ranks]) - picture.free
    return np.stack(
        [
            np.ones(len(running)),
            odds,
            np.maximum(0, odds - LIKELY),
            np.log1p(_ahead(picture) / (job + usual)),
            np.log1p(np.maximum(0, lacks) / (job + usual)),
            np.log1p(usual / job),
            np.log((job + np.array([last[rank] for rank in ranks])) / (job + usual)),
            np.log((job + np.array([lately[rank] for rank in ranks])) / (job + usual)),
            np.log1p(units / job),
            np.log1p(np.array([each.ran_s for each in running]) / HORIZON_S),
            ending,
            np.log1p((units * ending).sum() / (job + usual)),
            np.log((nodes + LEAST) / (1 - nodes + LEAST)) - np.log(LEAST / (1 + LEAST)),
        ],
        axis=1,
    )


def _coming(
    picture: RiskPicture, past: PastHours
) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """By rank, the units that come in an hour of those that may stop it: usually, in the last one, in the last ones."""
    weights = past.weights()
    hours = past.known
    sums: dict[int, Floats] = {rank: np.zeros(len(hours)) for rank in picture.outranks}
    for number, hour in enumerate(hours):
        for each in hour:
            if each.rank in sums:
                sums[each.rank][number] += each.units
    found: tuple[dict[int, float], dict[int, float], dict[int, float]] = ({}, {}, {})
    for rank in picture.outranks:
        above = sum((sums[other] for other in _above(picture, rank)), np.zeros(len(hours)))
        if not len(hours):
            above, weights = np.zeros(1), np.ones(1)
        for result, value in zip(found, (above @ weights, above[-1], above[-LATELY:].mean()), strict=True):
            result[rank] = float(value)
    return found


def _above(picture: RiskPicture, rank: int) -> list[int]:
    return [other for other, lower in picture.outranks.items() if rank in lower]


def _ahead(picture: RiskPicture) -> Floats:
    """What is taken before it is a job's turn: the free room, and who is stopped before it."""
    running = picture.running
    order = sorted(range(len(running)), key=lambda n: (running[n].rank, running[n].ran_s, n))
    ahead, before = np.zeros(len(running)), float(max(0, picture.free))
    for number in order:
        ahead[number] = before
        safe = running[number].safe_s
        if safe is not None and safe < HORIZON_S:
            before += running[number].units
    return ahead


def _waiting(picture: RiskPicture) -> dict[int, float]:
    """By rank, the units that those want who wait and may stop it."""
    wanted = dict.fromkeys(picture.outranks, 0.0)
    for job in picture.waiting:
        for lower in picture.outranks.get(job.rank, ()):
            wanted[lower] += job.units
    return wanted


def _soon_over(lefts: Sequence[Forecast]) -> Floats:
    """The chance of each to end within the hour, as forecast."""
    marks = np.log(np.maximum([(each.low, each.p10, each.p50, each.p90, each.high) for each in lefts], 1))
    over = (marks <= log(HORIZON_S)).sum(axis=1)
    return np.asarray(np.array([0.02, 0.07, 0.3, 0.7, 0.93, 0.98])[over])
