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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from scheduler.forecast.facts import Forecast
from scheduler.forecast.stop_risk import (
    EDGES,
    HORIZON_S,
    HOURS_OF_WEEK,
    ArrivalRates,
    RiskPicture,
    Standing,
    StopCalibration,
    stop_chances,
)
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
LEFT = (0.1, 0.7, 9.0, 0.05, 19.0)
"""What is left of a run, per second that it has lasted: nothing else is known of it here."""


@dataclass(frozen=True)
class Span:
    """One run of a job: from when until when, and whether a stop ended it."""

    rank: int
    units: int
    start: int
    end: int
    stopped: bool


@dataclass(frozen=True)
class Course:
    """A whole simulation, as it is asked for: runs, waits and submissions, in units of the main resource."""

    total: int
    spans: Sequence[Span]
    waits: Sequence[tuple[int, int, int, int]]
    """From when until when, rank, units."""
    submitted: Sequence[tuple[int, int, int]]


def played(trace: Path, machines: Machines) -> Course:
    """The trace with stops. Ranks are weights: the larger outranks the smaller."""
    workload = fit(read_trace(trace.read_bytes()), machines)
    spans: list[Span] = []
    waits: list[tuple[int, int, int, int]] = []
    submitted: list[tuple[int, int, int]] = []
    for task in replay(workload, read_policy(json.dumps(POLICY).encode())).tasks:
        rank, units = task.pair[0], _units(task, machines.main)
        submitted.append((task.work.submit, rank, units))
        since = task.work.submit
        for number, (start, end, _nodes, _held) in enumerate(task.spans):
            waits.append((since, start, rank, units))
            spans.append(Span(rank, units, start, end, stopped=number < len(task.spans) - 1))
            since = end
    return Course(machines.nodes * machines.per_node[machines.main], spans, waits, sorted(submitted))


def _units(task: SimulatedTask, main: str) -> int:
    return task.work.nodes * max(1, task.work.amounts.get(main, 0))


def picture_at(course: Course, now: int) -> tuple[RiskPicture, list[Span]]:
    """What is known at a moment, and the runs that it is about."""
    runs = [span for span in course.spans if span.start <= now < span.end]
    # As the planner takes them: the lowest rank first, in it who has run least.
    runs.sort(key=lambda span: (span.rank, -span.start))
    ranks = {rank for _, rank, _ in course.submitted}
    waiting = [(rank, units) for since, until, rank, units in course.waits if since <= now < until]
    return RiskPicture(
        running=[Standing(span.rank, span.units, _left(now - span.start)) for span in runs],
        free=course.total - sum(span.units for span in runs),
        ahead={rank: sum(units for other, units in waiting if other >= rank) for rank in ranks},
        outranks={rank: frozenset(other for other in ranks if other < rank) for rank in ranks},
    ), runs  # fmt: skip


def _left(ran_s: int) -> Forecast:
    return Forecast(*(max(60.0, part * ran_s) for part in LEFT))


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
    first = course.submitted[0][0]
    rates, calibration = ArrivalRates(), StopCalibration()
    by_hour: dict[int, list[tuple[int, int]]] = {}
    for submit, rank, units in course.submitted:
        by_hour.setdefault((submit - first) // HORIZON_S, []).append((rank, units))
    base, errors, base_errors, drawn_errors = [0, 0], [], [], []
    bins: Counter[int] = Counter()
    said: Counter[int] = Counter()
    true: Counter[int] = Counter()
    took = 0.0
    for hour in range(learn_h + score_h):
        if hour >= learn_h // 2:
            picture, runs = picture_at(course, first + hour * HORIZON_S)
            began = time.process_time()
            chances = stop_chances(picture, rates, hour % HOURS_OF_WEEK, seed=hour)
            took = max(took, time.process_time() - began)
            rate = base[1] / base[0] if base[0] else 0.0
            outcomes = [run.stopped and run.end <= first + (hour + 1) * HORIZON_S for run in runs]
            corrected = [calibration.corrected(float(chance)) for chance in chances]
            if hour >= learn_h:
                for chance, raw, outcome in zip(corrected, chances, outcomes, strict=True):
                    errors.append((chance - outcome) ** 2)
                    drawn_errors.append((float(raw) - outcome) ** 2)
                    base_errors.append((rate - outcome) ** 2)
                    bin_ = sum(chance >= edge for edge in EDGES[1:])
                    bins[bin_] += 1
                    said[bin_] += round(1e6 * chance)
                    true[bin_] += outcome
            for chance, outcome in zip(chances, outcomes, strict=True):
                calibration.came(float(chance), stopped=outcome)
                base = [base[0] + 1, base[1] + outcome]
        rates.watched(hour % HOURS_OF_WEEK, by_hour.get(hour, ()))
    return {
        "job_hours": len(errors), "stopped": sum(true.values()),
        "brier": round(fmean(errors), 5), "brier_drawn": round(fmean(drawn_errors), 5),
        "brier_base_rate": round(fmean(base_errors), 5),
        "below_base_rate": round(1 - fmean(errors) / fmean(base_errors), 3),
        "longest_s": round(took, 2),
        "reliability": [{"from": EDGES[b], "jobs": bins[b], "said": round(said[b] / bins[b] / 1e6, 4),
                         "came": round(true[b] / bins[b], 4)} for b in sorted(bins)],
    }  # fmt: skip


if __name__ == "__main__":
    main()
