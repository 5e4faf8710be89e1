"""How good a chance of being stopped could be: the play of the hour, told what nobody knows.

`python -m bench.stop_ceiling --trace FILE --nodes N [--gpus N] [--cpus N] [--learn 14] [--days 28] [--every 6]`

The hours of `bench.stop_risk`, every sixth of them, each played several times over:
with everybody's true run time (`ends`); with who truly comes, when, how large and for how long, but the levels dealt
out anew in every draw, as the bench deals them (`arrivals`); that with true run times too; with their true levels; with
all of it. What is then still missed, the play does not see. Prints a JSON document.
"""

import argparse
import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.stop_risk import Course, Ended, coming, played
from bench.stop_score import DAY_H
from scheduler.forecast.draws import drawn
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_hour import HORIZON_S, Arrival
from scheduler.forecast.stop_risk import PastHours, hour_of
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.trace import Machines

DRAWS = 30
Drawing = Callable[[int], Sequence[int]]


class Known:
    """What of an hour is drawn, and what is true, by draw."""

    def __init__(
        self, course: Course, now: int, ended: Ended, past: PastHours, tasks: Sequence[SimulatedTask]
    ) -> None:
        self.picture, self.outcomes = course.picture_at(now, ended)
        rng = np.random.default_rng(now)
        runs, waits = course.at(now)
        true = [_left(task, now) for task in runs], [max(1, task.work.runtime) for task in waits]
        lefts, lasts = (
            np.maximum(drawn(said, DRAWS, rng), 1).astype(int)
            for said in (
                [job.left for job in self.picture.running],
                [job.lasts for job in self.picture.waiting],
            )
        )
        self.drawn_ends = [(lefts[:, n].tolist(), lasts[:, n].tolist()) for n in range(DRAWS)]
        self.true_ends = [true] * DRAWS
        self.drawn_coming = past.drawn(DRAWS, rng)
        came = [coming(course, task, now) for task in tasks if task.work.submit > now]
        self.true_coming = [came] * DRAWS
        shares = Counter(task.pair[0] for task in course.tasks)
        ranks, weights = sorted(shares), np.array([shares[rank] for rank in sorted(shares)], float)
        dealt = rng.choice(ranks, (DRAWS, len(came)), p=weights / weights.sum()).tolist()
        self.dealt_coming = [
            [
                Arrival(each.at_s, rank, each.units, each.lasts_s, each.nodes)
                for each, rank in zip(came, row, strict=True)
            ]
            for row in dealt
        ]

    def ways(self) -> dict[str, Floats]:
        """The chances that each way of knowing gives."""
        return {
            "nothing": self._play(self.drawn_ends, self.drawn_coming),
            "ends": self._play(self.true_ends, self.drawn_coming),
            "arrivals": self._play(self.drawn_ends, self.dealt_coming),
            "arrivals, ends": self._play(self.true_ends, self.dealt_coming),
            "arrivals, levels": self._play(self.drawn_ends, self.true_coming),
            "arrivals, levels, ends": self._play(self.true_ends, self.true_coming),
        }

    def _play(
        self, ends: Sequence[tuple[list[int], list[int]]], hours: Sequence[Sequence[Arrival]]
    ) -> Floats:
        stopped, play = np.zeros(len(self.picture.running)), hour_of(self.picture)
        for (lefts, lasts), hour in zip(ends, hours, strict=True):
            stopped[list(play(lefts, lasts, hour).stopped())] += 1
        return np.asarray(stopped / DRAWS)


def _left(task: SimulatedTask, now: int) -> int:
    """How long a running job runs on; one that is stopped would have run on."""
    end = next(end for start, end, _, _ in task.spans if start <= now < end)
    return task.work.runtime if end in task.stops_at else end - now


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--nodes", type=int, required=True)
    for name, usual in (("gpus", 0), ("cpus", 0), ("learn", 14), ("days", 28), ("every", 6)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    machines = Machines(asked.nodes, {k: v for k, v in (("gpu", asked.gpus), ("cpu", asked.cpus)) if v})
    course = played(asked.trace, machines)
    print(json.dumps(ceiling(course, asked.learn * DAY_H, asked.days * DAY_H, asked.every), indent=1))


def ceiling(course: Course, learn_h: int, score_h: int, every: int) -> dict[str, object]:
    """By what share each way of knowing is below the share that was stopped in all of these hours."""
    first, ended = course.tasks[0].work.submit, Ended()
    ends = deque(sorted(course.tasks, key=lambda task: task.finished or 0))
    by_hour: dict[int, list[SimulatedTask]] = defaultdict(list)
    for task in course.tasks:
        by_hour[(task.work.submit - first) // HORIZON_S].append(task)
    past: list[list[Arrival]] = []
    said: dict[str, list[float]] = defaultdict(list)
    came: list[bool] = []
    for hour in range(learn_h + score_h):
        now = first + hour * HORIZON_S
        while ends and (ends[0].finished or 0) <= now:
            ended.tell(ends.popleft())
        if hour >= learn_h and hour % every == 0:
            known = Known(course, now, ended, PastHours(past), by_hour[hour])
            may = [number for number, job in enumerate(known.picture.running) if job.safe_s is not None]
            came += [known.outcomes[number] for number in may]
            for way, chances in known.ways().items():
                said[way] += chances[may].tolist()
        past.append([coming(course, task, now, ended) for task in by_hour[hour]])
    truth = np.array(came, float)
    below = {
        way: round(1 - float(np.mean((np.array(each) - truth) ** 2) / truth.var()), 3)
        for way, each in said.items()
    }
    return {"job_hours": len(came), "stopped": int(truth.sum()), "below_base_rate_when_known": below}


if __name__ == "__main__":
    main()
