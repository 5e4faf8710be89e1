"""What `python -m scheduler forecast` does, files and process apart: the rows of a trace in, text out (contract D)."""

import json
import math
from collections.abc import Sequence
from typing import Protocol

from scheduler.contracts.errors import InputError, quoted
from scheduler.forecast.facts import EndedJob, JobFacts
from scheduler.forecast.score import Clock, Points, Scores, score

SCHEMA = "giveway.forecast/1"


class Row(Protocol):
    """A job of a trace (`scheduler.simulate.trace.TraceRow`)."""

    @property
    def id(self) -> str: ...
    @property
    def submit(self) -> int: ...
    @property
    def wait(self) -> int | None: ...
    @property
    def runtime(self) -> int | None: ...
    @property
    def limit(self) -> int | None: ...
    @property
    def nodes(self) -> int | None: ...
    @property
    def cpus(self) -> int | None: ...
    @property
    def gpus(self) -> int | None: ...
    @property
    def user(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def name(self) -> str: ...


def read_split(text: str) -> float:
    """The share of jobs to train on. Raises `InputError`."""
    try:
        split = float(text)
    except ValueError:
        split = math.nan
    if not 0 < split < 1:
        raise InputError("--split", f"must be a number between 0 and 1, not {quoted(text)}")
    return split


def answer(rows: Sequence[Row], split: float, clock: Clock, *, as_json: bool) -> str:
    """The figures of all methods. Raises `InputError` when nothing can be scored."""
    jobs = jobs_of(rows)
    first = int(len(jobs) * split)
    if first == 0:
        raise InputError(
            "--split", f"leaves no job to train on: {len(jobs)} jobs of the trace have a run time"
        )
    result = document(rows, jobs[first:], score(jobs, first, clock))
    return json.dumps(result, ensure_ascii=False, indent=1) if as_json else table(result)


def jobs_of(rows: Sequence[Row]) -> list[EndedJob]:
    """The jobs that have a run time, by submission time.

    A trace that tells no waits says nothing of starts: a job then counts as ended its run time after its submission,
    which is earlier than in truth, and never as running.
    """
    jobs = []
    for row in rows:
        if row.runtime is None:
            continue
        facts = JobFacts(row.user, row.group, row.name, row.limit, row.nodes, row.cpus, row.gpus, row.submit)
        start = None if row.wait is None else row.submit + row.wait
        jobs.append(
            EndedJob(
                row.id, facts, row.runtime, (row.submit if start is None else start) + row.runtime, start
            )
        )
    return sorted(jobs, key=lambda job: job.facts.submit)


def document(rows: Sequence[Row], scored: Sequence[EndedJob], scores: Scores) -> dict[str, object]:
    """The answer as `giveway.forecast/1`; a method that the trace cannot serve is None."""
    limits = all(job.facts.limit_s for job in scored)
    users = any(job.facts.user for job in scored)
    count = len(scored)
    model = _method(scores.model) | {
        "coverage_90": round(scores.intervals.inside / count, 4),
        "width_90_s": round(scores.intervals.width_s / count, 1),
        "accuracy_frozen": round(scores.frozen.accuracy, 4),
        "train_s": round(scores.train_s, 2),
        "predict_us": round(scores.predict_s / count * 1e6, 1),
    }
    return {
        "schema": SCHEMA,
        "jobs": len(rows),
        "scored": count,
        "methods": {
            "model": model,
            "limit": _method(scores.limit) if limits else None,
            "last_two": _method(scores.last_two) if users else None,
            "median": _method(scores.median),
        },
    }


def _method(points: Points) -> dict[str, object]:
    return {"accuracy": round(points.accuracy, 4), "underestimated": round(points.underestimated, 4)}


def table(result: dict[str, object]) -> str:
    """The same for people."""
    methods = result["methods"]
    assert isinstance(methods, dict)  # noqa: S101
    lines = [
        f"{result['jobs']} jobs; the last {result['scored']} by submission time are scored.",
        "At its submission, a job is forecast from those that had ended by then; accuracy_frozen: from those that",
        "had ended when the scored part began.",
        "",
        f"{'method':<10} {'accuracy':>9} {'underestimated':>15}",
    ]
    for name, figures in methods.items():
        if figures is None:
            lines.append(f"{name:<10} {'the trace has not what it needs':>25}")
        else:
            lines.append(f"{name:<10} {figures['accuracy']:>9.4f} {figures['underestimated']:>15.4f}")
    lines += ["", *(f"{key}: {value}" for key, value in methods["model"].items() if key not in _METHOD)]
    return "\n".join(lines)


_METHOD = ("accuracy", "underestimated")
