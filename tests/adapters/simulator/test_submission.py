"""What the simulated cluster refuses at submission, in words that name the field."""

from dataclasses import replace
from typing import Any

import pytest

from scheduler.adapters.simulator.submission import SubmitError
from scheduler.model.jobs import Request
from tests.adapters.simulator.builders import cluster, cpus, job


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"partitions": ("nowhere",)}, "partitions: there is no partition 'nowhere'; there are x"),
        ({"request": Request()}, "request: either"),
        ({"request": Request(nodes=1, per_node={"cpu": 1}, spread={"cpu": 1})}, "request: either"),
        ({"request": cpus(9)}, "request: Requested node configuration"),
        ({"request": Request(nodes=1, per_node={"gpu": 1})}, "request: Requested node configuration"),
        (
            {"request": Request(nodes=1, per_node={"cpu": 1}, features=frozenset({"a100"}))},
            "request: Requested",
        ),
        ({"request": cpus(-1)}, "cpu: -1 is negative"),
        ({"request": Request(spread={"cpu": -1})}, "cpu: -1 is negative"),
        ({"array_tasks": -1}, "array_tasks: -1 is negative"),
        ({"dependency": "before:1"}, "dependency: 'before:1'"),
        ({"dependency": "afterok"}, "dependency: 'afterok'"),
        ({"dependency": "afterok:77"}, "dependency: there is no job '77'"),
    ],
)
def test_a_job_that_cannot_be_is_refused_and_leaves_no_trace(change: dict[str, Any], words: str) -> None:
    sim = cluster()

    with pytest.raises(SubmitError) as refused:
        sim.submit(replace(job(), **change))

    assert words in str(refused.value)
    assert sim.state.jobs == {}
    assert sim.submit(job()) == "1"


def test_a_draining_partition_takes_no_jobs() -> None:
    sim = cluster()
    sim.set_partition_state("x", "DRAIN")

    with pytest.raises(SubmitError, match="takes no jobs"):
        sim.submit(job())


def test_an_array_takes_as_many_ids_as_it_has_tasks() -> None:
    sim = cluster()

    assert sim.submit(replace(job(1), array_tasks=3)) == "1"
    assert sim.submit(job(1)) == "4"
    assert list(sim.state.jobs) == ["1_0", "1_1", "1_2", "4"]
    assert [found.id for found in sim.observe().jobs] == ["1_0", "1_1", "1_2", "4"]
