"""How long a start forecast takes.

`python -m bench.starts [--waiting 1000] [--running 10000] [--nodes 2500] [--rounds 3]`; the round that took the least
processor time of the user counts.
"""

import argparse
import os
import random
from dataclasses import replace

from scheduler.forecast.draws import USUAL, Bond
from scheduler.forecast.facts import Forecast
from scheduler.forecast.starts import Queue, RunningShare, WaitingRequest, forecast_starts, sure

GPUS, CPUS = 8, 64
DAY_S = 86_400
PAST_EVERY_S = 121
"""One job after the other came so much later, for a week."""
SHAPES = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8), (16, 8))
"""Nodes, and GPUs on each."""
KINDS = 200
"""Of jobs that run longer or shorter together."""


def made(nodes: int, running: int, waiting: int, seed: int = 1) -> Queue:
    """A full cluster of 8-GPU nodes, shared by jobs of 1 to 5 GPUs; requests of every shape wait."""
    chance = random.Random(seed)
    free = [[CPUS, GPUS] for _ in range(nodes)]
    shares = []
    for number in range(running):
        node = number % nodes
        # The last one on each node takes what is left of it.
        gpus = free[node][1] if number >= running - nodes else chance.choice((1, 2, 2))
        if gpus < 1 or gpus > free[node][1]:
            raise SystemExit(f"{running} running jobs do not fit on {nodes} nodes; take about four a node")
        free[node][0] -= 8 * gpus
        free[node][1] -= gpus
        left = _forecast(chance)
        shares.append(RunningShare((node,), (8 * gpus, gpus), left, 2 * left.high, _alike(number)))
    asked = [
        WaitingRequest(
            str(number), many, (8 * gpus, gpus), _forecast(chance), planned_s=DAY_S, alike=_alike(number)
        )
        for number in range(waiting)
        for many, gpus in [chance.choice(SHAPES)]
    ]
    past = [(float(ago), chance.choice(asked)) for ago in range(7 * DAY_S, 0, -PAST_EVERY_S)]
    past = [(ago, replace(job, run=sure(job.run.p50))) for ago, job in past]
    return Queue([tuple(each) for each in free], shares, asked, past=past)


def _alike(number: int) -> Bond:
    return Bond(number % KINDS, USUAL)


def _forecast(chance: random.Random) -> Forecast:
    middle = chance.lognormvariate(8, 1.2)
    return Forecast(middle / 3, middle, middle * 2.5, middle / 6, middle * 4)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("waiting", 1000), ("running", 10_000), ("nodes", 2500), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    queue = made(asked.nodes, asked.running, asked.waiting)
    took, draws = min(_timed(queue) for _ in range(asked.rounds))
    print(
        f"{len(queue.waiting)} waiting on {len(queue.running)} running jobs, {asked.nodes} nodes, "
        f"{draws} draws: {took:.2f} s of CPU"
    )


def _timed(queue: Queue) -> tuple[float, int]:
    """Seconds, and the number of draws."""
    before = os.times().user
    said = forecast_starts(queue)
    return os.times().user - before, len(said[0].draws)


if __name__ == "__main__":
    main()
