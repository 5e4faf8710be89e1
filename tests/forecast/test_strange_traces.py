"""Contract D on traces that it was not made on: each gives a clear result."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from random import Random

import pytest

from scheduler.forecast.command import answer
from scheduler.forecast.facts import EndedJob
from scheduler.simulate.trace import TraceRow, read_trace
from tests.forecast.made import workload

LIMITED = ("limit", "last_two", "median")
COLUMNS = "job_id,submit_s,wait_s,runtime_s,time_limit_s,nodes,cpus,gpus,user,group_or_vc,job_name"


def rows(jobs: Sequence[EndedJob]) -> tuple[TraceRow, ...]:
    """The jobs as a file tells them."""
    lines = [COLUMNS]
    for job in jobs:
        facts, wait = job.facts, (job.start or 0) - job.facts.submit
        cells = [job.id, facts.submit, wait, job.runtime_s, facts.limit_s, facts.nodes, facts.cpus, facts.gpus,
                 facts.user, facts.group, facts.name]  # fmt: skip
        lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    return read_trace("\n".join(lines).encode())


def methods(trace: Sequence[TraceRow], split: float = 0.7) -> dict:
    """The figures of the methods, without the times."""
    ticks = count()
    result = json.loads(answer(trace, split, lambda: float(next(ticks)), as_json=True))["methods"]
    return {name: figures for name, figures in result.items() if figures is not None}


def figures_are_sound(result: dict) -> None:
    """Each is a finite number where it belongs."""
    for method in result.values():
        assert 0 <= method["accuracy"] <= 1
        assert 0 <= method["underestimated"] <= 1
    assert 0 <= result["model"]["coverage_90"] <= 1
    assert math.isfinite(result["model"]["width_90_s"])


@pytest.mark.parametrize("seed", [11, 12])
def test_the_model_beats_medians_on_workloads_that_nobody_has_seen(seed: int) -> None:
    result = methods(rows(workload(1000, seed)))
    figures_are_sound(result)
    assert result["model"]["accuracy"] > max(result[name]["accuracy"] for name in LIMITED)


def test_names_mean_nothing() -> None:
    """Other names for the same users: the same figures, to the last digit."""
    made = workload(160, 3)
    names = {job.facts.user for job in made}
    others = dict(zip(sorted(names), Random(1).sample(["用户", "é 😀", *(f"x{n}" for n in range(40))], len(names)),
                      strict=True))  # fmt: skip
    renamed = [replace(job, facts=replace(job.facts, user=others[job.facts.user])) for job in made]
    assert methods(rows(renamed)) == methods(rows(made))


def test_users_who_say_nothing_of_a_job() -> None:
    """Every job is given to somebody by chance: their pasts mislead, and the model is no worse than the limits."""
    chance, made = Random(5), workload(300, 4)
    users = [job.facts.user for job in made]
    mixed = [replace(job, facts=replace(job.facts, user=chance.choice(users))) for job in made]
    result = methods(rows(mixed))
    figures_are_sound(result)
    assert result["model"]["accuracy"] > result["limit"]["accuracy"]


CHANGES: dict[str, Callable[[TraceRow], TraceRow]] = {
    "one user": lambda row: replace(row, user="u"),
    "no users": lambda row: replace(row, user=""),
    "no limits": lambda row: replace(row, limit=None),
    "no waits": lambda row: replace(row, wait=None),
    "no request": lambda row: replace(row, nodes=None, cpus=None, gpus=None),
    "nothing but times": lambda row: replace(
        row, user="", limit=None, nodes=None, cpus=None, gpus=None, wait=None
    ),
    "all at once": lambda row: replace(row, submit=0),
    "no run time": lambda row: replace(row, runtime=0),
    "very long runs": lambda row: replace(row, runtime=10**12),
    "limits without an end": lambda row: replace(row, limit=10**12),
    "limits of a second": lambda row: replace(row, limit=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_strange_trace_gives_a_clear_result(change: Callable[[TraceRow], TraceRow]) -> None:
    result = methods([change(row) for row in rows(workload(110, 7))])
    figures_are_sound(result)


@pytest.mark.parametrize("jobs", [2, 7, 50])
def test_a_tiny_trace_gives_a_clear_result(jobs: int) -> None:
    figures_are_sound(methods(rows(workload(jobs, 8))))
