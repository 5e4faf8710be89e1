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

from scheduler.forecast.facts import Forecast
from scheduler.forecast.stop_hour import HORIZON_S, Arrival, RiskPicture, Runner, Waiter
from scheduler.forecast.stop_risk import EDGES, PastHours, StopCalibration, stop_chances
from scheduler.simulate.policy_file import read_policy
from scheduler.simulate.replay import replay
from scheduler.simulate.tasks import SimulatedTask
from scheduler.simulate.trace import read_trace
from scheduler.simulate.workload import Machines, fit

DAY_H = 24
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


@dataclass
class Ended:
    """The run times of jobs that have ended: what is known of those that have not."""

    own: dict[str, deque[int]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=OWN)))
    every: deque[int] = field(default_factory=lambda: deque(maxlen=ALL))

    def tell(self, task: SimulatedTask) -> None:
        """A job has ended."""
        self.every.append(task.work.runtime)
        if task.work.row.user:
            self.own[task.work.row.user].append(task.work.runtime)

    def left(self, task: SimulatedTask, done: int) -> Forecast:
        """What is left of a job that has done so much: as of its user's jobs that ran longer, else as of all."""
        longer = [run - done for run in self.own.get(task.work.row.user, ()) if run > done]
        if len(longer) < FEW:
            longer = [run - done for run in self.every if run > done]
        if len(longer) < FEW:
            return UNHEARD
        low, p10, p50, p90, high = np.percentile(longer, (5, 10, 50, 90, 95))
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

    def picture_at(self, now: int, ended: Ended) -> tuple[RiskPicture, list[bool]]:
        """What is known at a moment, and of each that runs then whether it is stopped within the hour."""
        ranks = {task.pair[0] for task in self.tasks}
        runners, stopped, waiters = [], [], []
        total = self.machines.nodes * self.machines.per_node[self.machines.main]
        for task in self.tasks:
            if task.work.submit > now or (task.finished or 0) <= now:
                continue
            stops = sum(at <= now for at in task.stops_at)
            ran = sum(min(end, now) - start for start, end, _, _ in task.spans if start <= now)
            left = ended.left(task, ran)
            if any(start <= now < end for start, end, _, _ in task.spans):
                safe = None if stops >= self.most_stops else 0
                runners.append(Runner(task.pair[0], self.units(task), left, ran, safe))
                stopped.append(any(now < at <= now + HORIZON_S for at in task.stops_at))
            else:
                waiters.append(Waiter(task.pair[0], self.units(task), left, ran))
        outranks = {rank: frozenset(other for other in ranks if other < rank) for rank in ranks}
        free = total - sum(job.units for job in runners)
        return RiskPicture(runners, free, waiters, outranks), stopped


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
            picture, outcomes = course.picture_at(now, ended)
            began = time.process_time()
            chances = stop_chances(picture, PastHours(past), seed=hour).tolist()
            score.took.append(time.process_time() - began)
            rows = [(chance, calibration.corrected(chance), outcome)
                    for chance, outcome, job in zip(chances, outcomes, picture.running, strict=True)
                    if job.safe_s is not None]  # fmt: skip
            score.tell(rows, counts=hour >= learn_h)
            for chance, _, outcome in rows:
                calibration.came(chance, stopped=outcome)
        past.append([_arrival(course, task, now, ended) for task in by_hour[hour]])
    return score.figures()


def _arrival(course: Course, task: SimulatedTask, hour: int, ended: Ended) -> Arrival:
    lasts = int(ended.left(task, 0).p50)
    return Arrival(task.work.submit - hour, task.pair[0], course.units(task), lasts)


@dataclass
class Score:
    """How far chances were off. `base`: of how many job-hours, how many were stopped, as far as it was known."""

    base: tuple[int, int] = (0, 0)
    rows: list[tuple[float, float, float, bool]] = field(default_factory=list)
    took: list[float] = field(default_factory=list)

    def tell(self, rows: Sequence[tuple[float, float, bool]], *, counts: bool) -> None:
        """One hour: the drawn chance, the corrected one, and what came."""
        rate = self.base[1] / self.base[0] if self.base[0] else 0.0
        if counts:
            self.rows += [(rate, *row) for row in rows]
        self.base = (self.base[0] + len(rows), self.base[1] + sum(row[2] for row in rows))

    def figures(self) -> dict[str, object]:
        """All of it."""
        rate, raw, said, came = np.array(self.rows, float).T
        bins = np.digitize(said, EDGES[1:])
        base, ours, raw_ = (float(np.mean((each - came) ** 2)) for each in (rate, said, raw))
        return {
            "job_hours": len(came), "stopped": int(came.sum()),
            "brier": round(ours, 5), "brier_drawn": round(raw_, 5), "brier_base_rate": round(base, 5),
            "below_base_rate": round(1 - ours / base, 3), "drawn_below_base_rate": round(1 - raw_ / base, 3),
            "longest_s": round(max(self.took), 2),
            "reliability": [{"from": EDGES[b], "jobs": int((bins == b).sum()),
                             "said": round(float(said[bins == b].mean()), 4),
                             "came": round(float(came[bins == b].mean()), 4)} for b in np.unique(bins)],
        }  # fmt: skip


if __name__ == "__main__":
    main()
