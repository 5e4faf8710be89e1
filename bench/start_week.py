"""How good start forecasts are: a week of a trace, played by EASY with true arrivals.

`python -m bench.start_week --trace FILE --nodes N --cpus N [--gpus N] [--days 7] [--from 0.7] [--most 1500]`

The trace is played whole by EASY with its users' limits, which is what Slurm's backfill does. Of the jobs submitted in
the week that begins after so much of all submissions, each (or so many of them, evenly) is forecast in the second
of its submission: from who runs and who waits just then, and from the run-time model, which was trained on jobs that
had ended before the week and is told of the others as they end; corrected by the starts that have come by then
(`played`: without that). Beside it stands the same play with the limits for run times, which is what Slurm's own
estimate is made of. Prints a JSON document.
"""

import argparse
import heapq
import json
import time
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

from scheduler.forecast.draws import MOST_SEEN, PlacedRun, Together, place_of
from scheduler.forecast.facts import EndedJob, Forecast, JobFacts
from scheduler.forecast.model import Model
from scheduler.forecast.start_calibration import StartCalibration
from scheduler.forecast.starts import (
    Queue,
    RunningShare,
    StartForecast,
    WaitingRequest,
    forecast_starts,
    sure,
)
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.policy import read_policy
from scheduler.simulate.replay import replay
from scheduler.simulate.room import indexes
from scheduler.simulate.trace import Machines, fit, read_trace

NEAR_S = 600
KINDS = ("all", "at once", "waited")
DAY_S = 86_400
PAST_S = 28 * DAY_S
EASY = {
    "schema": "giveway.simulation/1",
    "name": "EASY",
    "scheduler": "easy",
    "partition": {"name": "all", "mode": "user"},
}


@dataclass(frozen=True)
class Run:
    """What became of a job: when it started and ended, on which nodes (their numbers)."""

    task: SimulatedTask
    facts: JobFacts
    start: int
    end: int
    nodes: tuple[int, ...]

    @property
    def id(self) -> str:
        return self.task.work.row.id

    @property
    def kind(self) -> Hashable:
        """The same of jobs of one owner with the same limit and request."""
        return self.facts.owner, self.facts.limit_s, self.facts.size

    @property
    def ended(self) -> EndedJob:
        return EndedJob(self.id, self.facts, self.end - self.start, self.end, self.start)


@dataclass
class Score:
    """How near forecasts were: errors in seconds, and how often the interval held the truth."""

    errors: list[float] = field(default_factory=list)
    held: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, said: StartForecast, truth: float) -> None:
        middle = said.p50 if said.p50 is not None else float("inf")
        low, high = said.low or 0.0, float("inf") if said.high is None else said.high
        self.errors.append(abs(middle - truth))
        self.held += low <= truth <= high
        self.widths.append(high - low)

    def told(self) -> dict[str, float]:
        if not self.errors:
            return {"jobs": 0}
        return {
            "jobs": len(self.errors),
            "within_10_min": round(fmean(error <= NEAR_S for error in self.errors), 3),
            "held": round(self.held / len(self.errors), 3),
            "median_error_s": round(median(self.errors)),
            "median_width_s": round(median(self.widths)),
        }


def runs_of(trace: Path, machines: Machines) -> list[Run]:
    """The whole trace, played by EASY; by submission."""
    workload = fit(read_trace(trace.read_bytes()), machines)
    policy = read_policy(json.dumps(EASY).encode())
    found = []
    for task in replay(workload, policy).tasks:
        row = task.work.row
        start, end, nodes, _held = task.spans[0]
        facts = JobFacts(row.user, row.group, row.name, row.limit, row.nodes, row.cpus, row.gpus, row.submit)
        found.append(Run(task, facts, start, end, tuple(indexes(nodes))))
    return sorted(found, key=lambda run: (run.task.work.submit, run.task.work.index))


class Week:
    """The week, moment by moment: what runs, what waits, and a model that knows what it could know."""

    def __init__(self, runs: Sequence[Run], machines: Machines, first: int) -> None:
        self.machines = machines
        self.resources = sorted(machines.per_node)
        before = [run.ended for run in runs[:first] if run.end <= runs[first].task.work.submit]
        self.model = Model.fit(before)
        self.now = runs[first].task.work.submit
        self.running: dict[str, Run] = {}
        self.waiting: dict[str, Run] = {}
        self.whole: dict[str, Forecast] = {}
        self._seen: deque[PlacedRun] = deque(maxlen=MOST_SEEN)
        self._coming = [
            (moment, kind, number)
            for number, run in enumerate(runs)
            if run.end > self.now
            for moment, kind in ((run.task.work.submit, 1), (run.start, 2), (run.end, 0))
        ]
        heapq.heapify(self._coming)
        self._runs = runs
        self._came = deque(
            run for run in runs[:first] if run.task.work.submit > self.now - PAST_S and run.end <= self.now
        )
        self._asked: dict[str, WaitingRequest] = {}
        for run in self._came:
            self._remember(run, run.end - run.start)

    def until(self, moment: int) -> None:
        """Everything that happened by then. What is submitted just then waits; what started just then still does."""
        while self._coming and (self._coming[0][0], self._coming[0][1]) <= (moment, 1):
            self.now, kind, number = heapq.heappop(self._coming)
            run = self._runs[number]
            if kind == 0:
                self.running.pop(run.id)
                self.model.ended(run.ended)
                self._see(run)
                self._remember(run, run.end - run.start)
            elif kind == 1:
                self.waiting[run.id] = run
                self.whole[run.id] = self.model.submitted(run.id, run.facts)
                self._came.append(run)
                self._remember(run, self._whole(run, limits=False).p50)
            else:
                self.waiting.pop(run.id)
                self.running[run.id] = run
                self.model.started(run.id, run.facts, run.start)
        self.now = moment

    def queue(self, *, limits: bool) -> Queue:
        """What is played: with the model's run times, or with the users' limits."""
        free = [list(self._vector(self.machines.per_node)) for _ in range(self.machines.nodes)]
        shares, together = [], Together.learned(self._seen)
        for run in self.running.values():
            holds = self._vector(run.task.work.amounts)
            for node in run.nodes:
                free[node] = [has - held for has, held in zip(free[node], holds, strict=True)]
            left = self._left(run, limits=limits)
            planned = self._left(run, limits=True).p50
            shares.append(RunningShare(run.nodes, holds, left, planned, together.of(run.kind)))
        waiting = [
            WaitingRequest(
                run.id, run.task.work.nodes, self._vector(run.task.work.amounts), self._whole(run, limits=limits),
                planned_s=self._whole(run, limits=True).p50, alike=together.of(run.kind),
            )
            for run in self.waiting.values()
        ]  # fmt: skip
        return Queue([tuple(each) for each in free], shares, waiting, past=() if limits else self._past())

    def _past(self) -> list[tuple[float, WaitingRequest]]:
        """Who came in the last days, the oldest first: how long they ran, or are forecast to."""
        while self._came and self._came[0].task.work.submit < self.now - PAST_S:
            self._came.popleft()
        came = sorted(self._came, key=lambda run: run.task.work.submit)
        return [(self.now - run.task.work.submit, self._asked[run.id]) for run in came]

    def _see(self, run: Run) -> None:
        """Where in its forecast it ended, if there was one."""
        if run.id in self.whole:
            place = place_of(self.whole[run.id], run.end - run.start, run.facts.limit_s)
            self._seen.append(PlacedRun(run.kind, run.facts.submit, run.end, place))

    def _remember(self, run: Run, run_s: float) -> None:
        planned = self._whole(run, limits=True).p50
        self._asked[run.id] = WaitingRequest(
            run.id,
            run.task.work.nodes,
            self._vector(run.task.work.amounts),
            sure(max(1, run_s)),
            planned_s=planned,
        )

    def _vector(self, amounts: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(amounts.get(name, 0) for name in self.resources)

    def _left(self, run: Run, *, limits: bool) -> Forecast:
        ran = self.now - run.start
        most = (run.facts.limit_s or 30 * DAY_S) - ran
        return sure(max(1, most)) if limits else self.model.remaining(run.facts, ran).at_most(most)

    def _whole(self, run: Run, *, limits: bool) -> Forecast:
        most = run.facts.limit_s or 30 * DAY_S
        return sure(most) if limits else self.whole[run.id].at_most(most)


def expected(queue: Queue, job_id: str, draws: int | None = None) -> StartForecast:
    """What is played of one job."""
    row = next(n for n, each in enumerate(queue.waiting) if each.id == job_id)
    return forecast_starts(queue, draws=draws)[row]


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--cpus", type=int, default=0)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument(
        "--learn", type=float, default=4, help="days before the week, for its corrections alone"
    )
    parser.add_argument("--from", dest="split", type=float, default=0.7)
    parser.add_argument("--most", type=int, default=1500)
    return parser.parse_args()


def main() -> None:
    """Print the figures."""
    asked = _asked()
    machines = Machines(asked.nodes, {k: v for k, v in (("gpu", asked.gpus), ("cpu", asked.cpus)) if v})
    began = time.perf_counter()
    runs = runs_of(asked.trace, machines)
    first = int(len(runs) * asked.split)
    week = Week(runs, machines, first)
    start = runs[first].task.work.submit
    start += int(asked.learn * DAY_S)
    end = start + asked.days * DAY_S
    inside = [run for run in runs[first:] if run.task.work.submit < end]
    scored = sum(run.task.work.submit >= start for run in inside)
    chosen = {run.id for run in inside[:: max(1, -(-scored // asked.most))]}
    scores = {f"{name}{how}": Score() for how in ("", ", played", ", limits") for name in KINDS}
    calibration = StartCalibration()
    pending: list[tuple[int, int, StartForecast, float]] = []
    for run in inside:
        moment = run.task.work.submit
        week.until(moment)
        if run.id not in chosen:
            continue
        truth = run.start - moment
        while pending and pending[0][0] < moment:
            _, _, played, waited = heapq.heappop(pending)
            calibration.came(played, waited)
        played = expected(week.queue(limits=False), run.id)
        heapq.heappush(pending, (run.start, run.task.work.index, played, truth))
        if moment < start:
            continue
        said = {"": calibration.corrected(played), ", played": played}
        said[", limits"] = expected(week.queue(limits=True), run.id, draws=1)
        for how, each in said.items():
            for name in ("all", "waited" if truth else "at once"):
                scores[name + how].add(each, truth)
    print(json.dumps({"trace": asked.trace.name, "took_s": round(time.perf_counter() - began, 1)}
                     | {name: score.told() for name, score in scores.items()}, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
