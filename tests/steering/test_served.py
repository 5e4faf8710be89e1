"""Whom a plan makes room for, who of them still waits, and what room is kept for those."""

from collections.abc import Iterable

import pytest

from console.steering.models import Plan
from console.steering.served import (
    as_seen,
    jobs_served,
    label_of,
    new_tasks,
    nodes_with_less,
    placement_left,
    rooms_left,
    waiting,
)
from scheduler.model.jobs import JobState, ObservedJob
from tests.builders import observed


def plan(*nodes: str) -> Plan:
    """Room for one task of two CPUs on each of these nodes, as often as it is named."""
    tasks = new_tasks((f"7_{number}", 0, node) for number, node in enumerate(nodes))
    placement = {node: {"cpu": 2 * nodes.count(node)} for node in nodes}
    return Plan(job_id="7_0", tasks=tasks if len(tasks) > 1 else [], placement=placement)


def seen(waits: Iterable[int] = (), **runs: str) -> dict[str, ObservedJob]:
    """`seen([1], t0="n2")`: task 1 waits, task 0 runs on n2, others are not there."""
    jobs = [observed(f"7_{number}") for number in waits]
    for task, where in runs.items():
        jobs.append(observed(f"7_{task[1:]}", JobState.RUNNING, alloc={where: {"cpu": 2}}))
    return {job.id: job for job in jobs}


def test_a_plan_for_one_job_is_as_it_always_was() -> None:
    one = plan("n1")
    assert (jobs_served(one), label_of(one), waiting(one)) == (["7_0"], "7_0", ["7_0"])
    assert rooms_left(one) == {"7_0": {"n1": {"cpu": 2}}}
    assert placement_left(one, {}) == {"n1": {"cpu": 2}}
    assert nodes_with_less(one, {}) == frozenset()


def test_each_task_that_waits_keeps_its_part() -> None:
    three = plan("n1", "n1", "n2")
    assert label_of(three) == "7_[0-2]"
    assert rooms_left(three) == {
        "7_0": {"n1": {"cpu": 2}}, "7_1": {"n1": {"cpu": 2}}, "7_2": {"n2": {"cpu": 2}},
    }  # fmt: skip
    assert placement_left(three, seen([0, 1, 2])) == {"n1": {"cpu": 4}, "n2": {"cpu": 2}}


def test_who_starts_in_anothers_place_leaves_it_its_own() -> None:
    three = plan("n1", "n1", "n2")
    jobs = seen([1, 2], t0="n2")
    assert waiting(three, jobs) == ["7_1", "7_2"]
    assert rooms_left(three, jobs) == {"7_1": {"n1": {"cpu": 2}}, "7_2": {"n1": {"cpu": 2}}}
    three.tasks = as_seen(three, jobs)
    assert rooms_left(three) == rooms_left(three, jobs)
    assert nodes_with_less(three, jobs) == {"n2"}


def test_who_starts_elsewhere_leaves_its_place_to_nobody() -> None:
    two = plan("n1", "n2")
    assert placement_left(two, seen([1], t0="n9")) == {"n2": {"cpu": 2}}
    assert [task["seen"] for task in as_seen(two, seen([1], t0="n9"))] == ["elsewhere", ""]


def test_who_has_started_stays_so_and_who_was_missed_may_be_there_again() -> None:
    two = plan("n1", "n2")
    two.tasks = as_seen(two, seen(t0="n1"))
    assert [task["seen"] for task in two.tasks] == ["started", "gone"]
    assert [task["seen"] for task in as_seen(two, seen([1]))] == ["started", ""]


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_task_that_ran_meanwhile_and_waits_again_has_started(restarts: int) -> None:
    two = plan("n1", "n2")
    jobs = {"7_0": observed("7_0", restarts=restarts), "7_1": observed("7_1")}
    assert waiting(two, jobs) == (["7_1"] if restarts else ["7_0", "7_1"])
