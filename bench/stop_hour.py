"""How long the chances of being stopped take.

`python -m bench.stop_hour [--running 10000] [--waiting 1000] [--rounds 3]`; the round that took the least processor
time of the user counts: what a busy machine adds (caches that others have emptied) is not the method's.
"""

import argparse
import os
import random
from dataclasses import replace
from math import ceil

from scheduler.forecast.facts import Forecast
from scheduler.forecast.stop_hour import Arrival, RiskPicture, Runner, Waiter
from scheduler.forecast.stop_risk import PastHours, stop_chances

RANKS = 5
HOURS = 100
NODE = 8


def made(running: int, waiting: int, seed: int = 1) -> tuple[RiskPicture, PastHours]:
    """A full partition of five ranks, of which each may stop all lower ones; up to one in twenty of its jobs comes in
    an hour."""
    chance = random.Random(seed)
    runs = [
        Runner(
            chance.choice((0, 1, 1, 2, 3)),
            chance.choice((1, 1, 2, 4, 8)),
            _forecast(chance),
            chance.randrange(100_000),
            chance.choice((0, 0, 0, 300, None)),
        )
        for _ in range(running)
    ]
    line = [
        Waiter(chance.choice((0, 0, 1, 2, 3, 4)), chance.choice((1, 2, 4, 8, 16, 64)), _forecast(chance))
        for _ in range(waiting)
    ]
    hours = [_hour(chance, chance.randrange(max(1, running // 20))) for _ in range(HOURS)]
    lower = {rank: frozenset(range(rank)) for rank in range(RANKS)}
    picture = RiskPicture(runs, 0, line, lower, by_rank=bool(seed % 2), exempt_s=300 * (seed % 3))
    return picture, PastHours(hours)


def placed(picture: RiskPicture, past: PastHours) -> tuple[RiskPicture, PastHours]:
    """The same with each job on one node of at most eight units; all are full. Who wants more wants more nodes."""
    nodes: list[int] = []
    runs = []
    for job in picture.running:
        if not nodes or nodes[-1] < job.units:
            nodes.append(NODE)
        nodes[-1] -= job.units
        runs.append(replace(job, on=((len(nodes) - 1, job.units),)))
    waits = [replace(job, nodes=ceil(job.units / NODE)) for job in picture.waiting]
    hours = [[replace(each, nodes=ceil(each.units / NODE)) for each in hour] for hour in past.hours]
    return replace(picture, running=runs, waiting=waits, nodes=[0] * len(nodes)), PastHours(hours)


def _hour(chance: random.Random, count: int) -> list[Arrival]:
    came = [
        Arrival(
            chance.randrange(3600),
            chance.choice((0, 0, 1, 2, 3, 4)),
            chance.choice((1, 1, 2, 4, 8, 16)),
            chance.randrange(60, 20_000),
        )
        for _ in range(count)
    ]
    return sorted(came, key=lambda each: each.at_s)


def _forecast(chance: random.Random) -> Forecast:
    middle = chance.lognormvariate(8, 1.2)
    return Forecast(middle / 3, middle, middle * 2.5, middle / 6, middle * 4)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--running", type=int, default=10_000)
    parser.add_argument("--waiting", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    picture, past = placed(*made(asked.running, asked.waiting))
    took, mean = min(_timed(picture, past) for _ in range(asked.rounds))
    print(f"{asked.waiting} waiting, {asked.running} running: {took:.2f} s of CPU, mean {mean:.3f}")


def _timed(picture: RiskPicture, past: PastHours) -> tuple[float, float]:
    """Seconds until all is said; the mean chance."""
    before = os.times().user
    chances = stop_chances(picture, past)
    return os.times().user - before, float(chances.mean())


if __name__ == "__main__":
    main()
