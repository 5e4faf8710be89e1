"""What tells of a running job, beside its drawn chance, whether it is stopped within the hour: figures without scale.

Who is next? Jobs are stopped in an order, so before it is a job's turn those ahead of it have to be stopped and the
free room to be taken. How much is that beside what usually comes in an hour of those whom it gives way to, beside
what came in the last hours, what waits now, and what is about to end? All are ratios of units, logarithms and shares:
they mean the same on ten GPUs and on ten thousand, and name no user.
"""

from collections.abc import Sequence
from math import log

import numpy as np

from scheduler.forecast.facts import Forecast
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_nodes import node_chances
from scheduler.forecast.stop_picture import HORIZON_S, RiskPicture
from scheduler.forecast.stop_risk import PastHours

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
