"""How good the chance of being stopped is: weeks of a trace, every hour asked of every running job.

`python -m bench.stop_risk --trace FILE --nodes N [--gpus N] [--cpus N] [--learn 14] [--days 14]`

The trace is played with stops (three levels, dealt out by a hash of the job: a tenth, three tenths, the rest), and the
picture of each full hour is taken from that: who runs since when, what is free, who waits. Of what came before an hour
everything is known, of what comes nothing. The Brier score is compared with that of the base rate: the share of
running jobs that were stopped within an hour, as far as it was known by then. Prints a JSON document.
"""

import argparse
import json
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.stop_score import DAY_H, Score
from scheduler.forecast.facts import Forecast
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_hour import HORIZON_S, Arrival, RiskPicture, Runner, Waiter
from scheduler.forecast.stop_risk import PastHours, StopCalibration, stop_chances
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.policy import read_policy
from scheduler.simulate.replay import replay
from scheduler.simulate.room import indexes
from scheduler.simulate.trace import Machines, fit, read_trace

POLICY = {
    "schema": "giveway.simulation/1", "name": "stop, saved every hour", "scheduler": "preempt",
    "partition": {"name": "gpu", "mode": "user"}, "assumed_limit_s": 7 * 86_400,
    "user_level": {"by": "job", "seed": "giveway", "shares": [
        {"level": 0, "share": 0.1}, {"level": 1, "share": 0.3}, {"level": 2, "share": 0.6}]},
    "requeue": {"checkpoint_s": 3600, "restart_s": 60},
}  # fmt: skip
UNHEARD = Forecast(600, 3600, 86_400, 60, 7 * 86_400)
"""Of run times before any has ended."""
OWN, ALL = 30, 3000
"""So many of the last run times of a user, and of all, are remembered."""
FEW = 3
SHARES = (0.05, 0.1, 0.5, 0.9, 0.95)


@dataclass
class Ended:
    """The run times of jobs that have ended: what is known of those that have not."""

    own: dict[str, deque[int]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=OWN)))
    every: deque[int] = field(default_factory=lambda: deque(maxlen=ALL))
    _ordered: Floats | None = None

    def tell(self, task: SimulatedTask) -> None:
        """A job has ended."""
        self.every.append(task.work.runtime)
        self._ordered = None
        if task.work.row.user:
            self.own[task.work.row.user].append(task.work.runtime)

    def left(self, task: SimulatedTask, done: int) -> Forecast:
        """What is left of a job that has done so much: as of its user's jobs that ran longer, else as of all."""
        longer = np.sort(np.array([run for run in self.own.get(task.work.row.user, ()) if run > done], float))
        if len(longer) < FEW:
            if self._ordered is None:
                self._ordered = np.sort(np.array(self.every, float))
            longer = self._ordered[np.searchsorted(self._ordered, done, side="right") :]
        if len(longer) < FEW:
            return UNHEARD
        places = np.array(SHARES) * (len(longer) - 1)
        low, p10, p50, p90, high = np.interp(places, np.arange(len(longer)), longer) - done
        most = task.work.row.limit - done if task.work.row.limit else high
        return Forecast(*(max(1.0, min(float(value), most)) for value in (p10, p50, p90, low, high)))


@dataclass
class Course:
    """A whole simulation, looked at hour by hour. Ranks are weights: the larger outranks the smaller."""

    tasks: Sequence[SimulatedTask]
    machines: Machines
    most_stops: int

    def units(self, task: SimulatedTask) -> int:
        """What it holds or asks for, of the main resource."""
        return task.work.nodes * max(1, task.work.amounts.get(self.machines.main, 0))

    def at(self, now: int) -> tuple[list[SimulatedTask], list[SimulatedTask]]:
        """Who runs at a moment, and who waits."""
        there = [task for task in self.tasks if task.work.submit <= now < (task.finished or 0)]
        runs = [task for task in there if any(start <= now < end for start, end, _, _ in task.spans)]
        running = set(runs)
        return runs, [task for task in there if task not in running]

    def picture_at(self, now: int, ended: Ended) -> tuple[RiskPicture, list[bool]]:
        """What is known at a moment, and of each that runs then whether it is stopped within the hour."""
        runs, waits = self.at(now)
        room = [self.machines.per_node[self.machines.main]] * self.machines.nodes
        runners = [self._runner(task, now, ended, room) for task in runs]
        waiters = [Waiter(task.pair[0], self.units(task), ended.left(task, _ran(task, now)), _ran(task, now),
                          task.work.nodes) for task in waits]  # fmt: skip
        ranks = {task.pair[0] for task in self.tasks}
        outranks = {rank: frozenset(other for other in ranks if other < rank) for rank in ranks}
        stopped = [any(now < at <= now + HORIZON_S for at in task.stops_at) for task in runs]
        return RiskPicture(runners, sum(room), waiters, outranks, nodes=room), stopped

    def _runner(self, task: SimulatedTask, now: int, ended: Ended, room: list[int]) -> Runner:
        """A running job; takes its units out of the room of its nodes."""
        where = next(where for start, end, where, _ in task.spans if start <= now < end)
        nodes = list(indexes(where))
        share = self.units(task) // len(nodes)
        for node in nodes:
            room[node] -= share
        safe = None if sum(at <= now for at in task.stops_at) >= self.most_stops else 0
        ran, on = _ran(task, now), tuple((node, share) for node in nodes)
        return Runner(task.pair[0], self.units(task), ended.left(task, ran), ran, safe, on)


def _ran(task: SimulatedTask, now: int) -> int:
    return sum(min(end, now) - start for start, end, _, _ in task.spans if start <= now)


def played(trace: Path, machines: Machines) -> Course:
    """The trace with stops."""
    policy = read_policy(json.dumps(POLICY).encode())
    workload = fit(read_trace(trace.read_bytes()), machines)
    tasks = sorted(replay(workload, policy).tasks, key=lambda task: task.work.submit)
    return Course(tasks, machines, policy.max_stops_per_job)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--cpus", type=int, default=0)
    parser.add_argument("--learn", type=int, default=14, help="days before the scored ones")
    parser.add_argument("--days", type=int, default=14)
    asked = parser.parse_args()
    machines = Machines(asked.nodes, {k: v for k, v in (("gpu", asked.gpus), ("cpu", asked.cpus)) if v})
    began = time.perf_counter()
    course = played(asked.trace, machines)
    simulated_s = time.perf_counter() - began
    print(json.dumps({"trace": asked.trace.name, "simulated_s": round(simulated_s, 1)}
                     | scored(course, asked.learn * DAY_H, asked.days * DAY_H), indent=1))  # fmt: skip


def scored(course: Course, learn_h: int, score_h: int) -> dict[str, object]:
    """The figures. Chances are asked for, and learned from, in the second half of what comes before, too."""
    first = course.tasks[0].work.submit
    calibration, ended = StopCalibration(), Ended()
    ends = deque(sorted(course.tasks, key=lambda task: task.finished or 0))
    by_hour: dict[int, list[SimulatedTask]] = defaultdict(list)
    for task in course.tasks:
        by_hour[(task.work.submit - first) // HORIZON_S].append(task)
    past: list[list[Arrival]] = []
    score = Score()
    for hour in range(learn_h + score_h):
        now = first + hour * HORIZON_S
        while ends and (ends[0].finished or 0) <= now:
            ended.tell(ends.popleft())
        if hour >= learn_h // 2:
            _ask(
                course.picture_at(now, ended),
                PastHours(past),
                calibration,
                score,
                hour,
                counts=hour >= learn_h,
            )
        past.append([coming(course, task, now, ended) for task in by_hour[hour]])
    return score.figures()


def _ask(
    now: tuple[RiskPicture, list[bool]],
    past: PastHours,
    calibration: StopCalibration,
    score: Score,
    hour: int,
    *,
    counts: bool,
) -> None:
    """Say the chances of an hour; then learn what came."""
    picture, outcomes = now
    began = time.process_time()
    drawn = stop_chances(picture, past, seed=hour)
    score.took.append(time.process_time() - began)
    may = [number for number, job in enumerate(picture.running) if job.safe_s is not None]
    drawn, came = drawn[may], [outcomes[number] for number in may]
    told = np.array([calibration.corrected(chance) for chance in drawn.tolist()])
    score.tell(hour, {"drawn": drawn, "told": told}, came, counts=counts)
    for chance, stopped in zip(drawn.tolist(), came, strict=True):
        calibration.came(chance, stopped=stopped)


def coming(course: Course, task: SimulatedTask, hour: int, ended: Ended | None = None) -> Arrival:
    """A job that came in an hour; it lasts as is known by its end, or as it truly does."""
    lasts = int(ended.left(task, 0).p50) if ended else max(1, task.work.runtime)
    return Arrival(task.work.submit - hour, task.pair[0], course.units(task), lasts, task.work.nodes)


if __name__ == "__main__":
    main()
