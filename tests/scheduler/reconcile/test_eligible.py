"""Looking again: may these victims still be stopped for this beneficiary?"""

from dataclasses import replace
from typing import Any

import pytest

from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.model.policy import LevelRule, Mode, OverQuota, PartitionPolicy
from scheduler.reconcile.eligible import why_spared

LEVELS = tuple(LevelRule(f"P{n}", keyword=f"p{n}") for n in range(4))
POLICY = PartitionPolicy("x", Mode.TASK, levels=LEVELS)


def job(job_id: str, name: str, state: JobState = JobState.RUNNING, **fields: Any) -> ObservedJob:
    start = None if state is JobState.PENDING else 1000 + int(job_id)
    return replace(ObservedJob(job_id, name, "ann", state, ("x",), 900, start=start), **fields)


URGENT = job("9", "p0_eval", JobState.PENDING, user="cy")
LOW = job("1", "p2_train")
OTHER = job("2", "p3_train")


def why(*jobs: ObservedJob, policy: PartitionPolicy = POLICY, state: str = "UP", **preemptions: int) -> str:
    seen = Observation("dev", 2000, partitions=(ObservedPartition("x", state),), jobs=jobs)
    victims = frozenset({LOW.run, OTHER.run})
    stops = {name.removeprefix("job"): count for name, count in preemptions.items()}
    return why_spared(seen, policy, (), beneficiary="9", victims=victims, preemptions=stops)


def test_lower_victims_of_a_job_that_waits_may_be_stopped() -> None:
    assert why(URGENT, LOW, OTHER) == ""


@pytest.mark.parametrize("gone", [(), (replace(URGENT, state=JobState.RUNNING, start=1500),)])
def test_without_a_beneficiary_that_waits_nobody_may(gone: tuple[ObservedJob, ...]) -> None:
    assert why(*gone, LOW, OTHER) == "9 no longer waits."


@pytest.mark.parametrize("state", ["DOWN", "INACTIVE"])
def test_in_a_partition_that_starts_nothing_nobody_may(state: str) -> None:
    assert why(URGENT, LOW, OTHER, state=state) == f"9 could not start: the partition is {state}."


def test_a_victim_that_was_stopped_too_often_since_may_not() -> None:
    assert "1 may no longer be stopped: it was stopped 3 times, as often" in why(URGENT, LOW, OTHER, job1=3)


def test_a_victim_that_has_become_protected_may_not() -> None:
    policy = replace(POLICY, protected_users=("ann",))
    assert "may no longer be stopped" in why(URGENT, LOW, OTHER, policy=policy)


def test_a_victim_that_ranks_as_high_now_may_not() -> None:
    policy = replace(POLICY, task_overrides={"p2_train": "P0"})
    assert why(URGENT, LOW, OTHER, policy=policy) == "1 no longer ranks below 9."


def test_a_beneficiary_that_ranks_lower_now_has_nobody_stopped() -> None:
    policy = replace(POLICY, task_overrides={"p0_eval": "P3"})
    assert why(URGENT, LOW, OTHER, policy=policy) == "1 no longer ranks below 9."


def test_a_later_run_of_a_victim_is_none_of_ours() -> None:
    later = replace(LOW, start=1900, restarts=1)
    policy = replace(POLICY, task_overrides={"p2_train": "P0"})
    assert why(URGENT, later, OTHER, policy=policy) == ""


def test_a_victim_beyond_its_users_quota_ranks_lowest_as_it_does_for_the_planner() -> None:
    """Its own level is the beneficiary's; it is stopped because it is one too many."""
    first, beyond = job("3", "p0_one", user="bob"), job("1", "p0_two", user="bob", start=1800)
    seen = Observation("dev", 2000, partitions=(ObservedPartition("x"),), jobs=(URGENT, first, beyond))
    asked: dict[str, Any] = {"beneficiary": "9", "victims": frozenset({beyond.run}), "preemptions": {}}

    assert why_spared(seen, replace(POLICY, quotas={"P0": 1}), (), **asked) == ""
    assert why_spared(seen, replace(POLICY, quotas={"P0": 2}), (), **asked) == "1 no longer ranks below 9."


def test_amounts_count_as_they_do_for_the_planner() -> None:
    """The victim is one too many by what it holds; on a node that is none of the partition's it holds nothing."""
    first = job("3", "p0_one", user="bob", alloc={"n1": {"gpu": 3}, "elsewhere": {"gpu": 9}})
    beyond = job("1", "p0_two", user="bob", start=1800, alloc={"n1": {"gpu": 2}})
    seen = Observation(
        "dev", 2000, partitions=(ObservedPartition("x", nodes=("n1",)),), jobs=(URGENT, first, beyond)
    )
    asked: dict[str, Any] = {"beneficiary": "9", "victims": frozenset({beyond.run}), "preemptions": {}}

    assert why_spared(seen, replace(POLICY, quota_amounts={"P0": {"gpu": 4}}), (), **asked) == ""
    assert why_spared(seen, replace(POLICY, quota_totals={"P0": {"gpu": 4}}), (), **asked) == ""
    wide = replace(POLICY, quota_amounts={"P0": {"gpu": 5}})
    assert why_spared(seen, wide, (), **asked) == "1 no longer ranks below 9."


def test_whom_others_were_stopped_for_keeps_its_slot_here_too() -> None:
    """The first one started later than the second, but room was made for it: the second is the one too many."""
    served, beyond = job("3", "p0_one", user="bob", start=1900), job("1", "p0_two", user="bob", start=1800)
    seen = Observation("dev", 2000, partitions=(ObservedPartition("x"),), jobs=(URGENT, served, beyond))
    policy = replace(POLICY, quotas={"P0": 1})
    asked: dict[str, Any] = {"beneficiary": "9", "victims": frozenset({beyond.run}), "preemptions": {}}

    assert why_spared(seen, policy, (), **asked) == "1 no longer ranks below 9."
    assert why_spared(seen, policy, (), **asked, served=frozenset({("3", 0)})) == ""


@pytest.mark.parametrize(
    ("over_quota", "words"),
    [(OverQuota.LOWEST, "1 no longer ranks below 9."), (OverQuota.HOLD, "9 is over quota.")],
)
def test_a_beneficiary_over_quota_has_nobody_stopped(over_quota: OverQuota, words: str) -> None:
    running = job("4", "p0_other", user="cy")
    policy = replace(POLICY, quotas={"P0": 1}, over_quota=over_quota)
    assert why(URGENT, LOW, OTHER, running, policy=policy) == words
