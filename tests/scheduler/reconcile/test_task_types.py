"""What a task type changes in the planner's input."""

from typing import Any

from scheduler.model.jobs import JobState, Request
from scheduler.model.task_types import TaskType
from scheduler.reconcile.build import snapshot_for
from tests.builders import NOW, node, observation, observed, policy

TYPES = (TaskType("train*", memory_mb=600, gpus=2, time_s=3600),)


def test_memory_that_is_not_asked_for_counts_in_the_plan() -> None:
    places = [node("n1", total={"cpu": 8, "mem": 1000})]
    ask = Request(nodes=1, per_node={"cpu": 1})
    jobs = [
        observed("1", name="train_a", state=JobState.PENDING, request=ask),
        observed("2", name="other", state=JobState.PENDING, request=ask),
    ]
    made = snapshot_for(observation(jobs, places), policy(task_types=TYPES), (), preemptions={})
    found = {job.id: job.request.per_node for job in made.snapshot.jobs if job.request}
    assert found == {"1": {"cpu": 1, "mem": 600}, "2": {"cpu": 1}}


def test_a_running_job_without_a_limit_is_expected_to_end_as_its_type_says() -> None:
    places = [node("n1", total={"cpu": 8, "mem": 1000})]
    facts: dict[str, Any] = {
        "state": JobState.RUNNING,
        "start": NOW - 60,
        "alloc": {"n1": {"cpu": 1}},
        "request": None,
    }
    jobs = [
        observed("1", name="train_a", time_limit_s=None, **facts),
        observed("2", name="train_b", time_limit_s=99, **facts),
        observed("3", name="other", time_limit_s=None, **facts),
    ]
    made = snapshot_for(observation(jobs, places), policy(task_types=TYPES), (), preemptions={})
    ends = {job.id: job.predicted_end for job in made.snapshot.jobs}
    assert ends == {"1": NOW - 60 + 3600, "2": None, "3": None}
