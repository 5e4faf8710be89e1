"""Partitions of different tiers over the same nodes: nobody is stopped for a job whose room another one would get."""

from dataclasses import replace
from typing import Any

import pytest

from scheduler.adapters.slurm import nodes, read
from scheduler.model.jobs import JobState, ObservedJob, Request
from tests.builders import HOUR, NOW, anywhere, observed, on_nodes, one_node

NODES = {"low": ("n1", "n2"), "high": ("n1",), "all": ("n1", "n2", "n3")}
TIERS = {"low": 1, "high": 10, "all": 1}
TOTALS = {name: {"cpu": 8} for name in NODES["all"]}
WHY = "jobs of a higher PriorityTier wait for nodes that it could use"


def _job(job_id: str, *partitions: str, **fields: Any) -> ObservedJob:
    return observed(job_id, **{"partitions": partitions, "request": one_node(4), **fields})


def _seen(*jobs: ObservedJob, of: dict[str, int] = TIERS) -> list[tuple[frozenset[str], str]]:
    """Which nodes each may not use, and why it is not planned for."""
    told = read.respect_tiers(jobs, of, NODES, TOTALS, NOW)
    return [(job.request.not_nodes if job.request else frozenset(), job.unplannable) for job in told]


def test_who_waits_in_a_higher_tier_keeps_its_nodes_from_the_others() -> None:
    first, second = _seen(_job("1", "low"), _job("2", "high"))

    assert first == (frozenset({"n1"}), "")
    assert second == (frozenset(), "")


def test_who_could_use_no_other_node_is_not_planned_for() -> None:
    bound = _job("1", "low", request=one_node(4, only_nodes=frozenset({"n1"})))

    assert _seen(bound, _job("2", "high"))[0] == (frozenset({"n1"}), WHY)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (on_nodes(2), ""),
        (on_nodes(3), WHY),
        (anywhere(16), ""),
        (anywhere(17), WHY),
    ],
)
def test_who_needs_more_than_is_left_is_not_said_never_to_fit(request_: Request, why: str) -> None:
    assert _seen(_job("1", "all", request=request_), _job("2", "high"))[0] == (frozenset({"n1"}), why)


def test_a_job_counts_with_the_highest_of_its_tiers_and_with_the_nodes_that_it_may_use() -> None:
    both = _job("1", "low", "high")
    away = _job("2", "high", "all", request=one_node(4, only_nodes=frozenset({"n3"})))

    assert _seen(both, away, _job("3", "low")) == [
        (frozenset(), ""),
        (frozenset(), ""),
        (frozenset({"n1", "n2"}), WHY),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"held": True},
        {"dependency": "afterok:7(unfulfilled)"},
        {"eligible": NOW + HOUR},
        {"slurm_reason": "QOSGrpCpuLimit"},
        {"slurm_reason": "PartitionDown"},
    ],
)
def test_who_waits_for_something_else_keeps_nothing(fields: dict[str, Any]) -> None:
    assert _seen(_job("1", "low"), _job("2", "high", **fields))[0] == (frozenset(), "")


def test_who_runs_keeps_nothing_and_one_tier_changes_nothing() -> None:
    runs = observed("2", JobState.RUNNING, partitions=("high",))

    assert _seen(_job("1", "low"), runs)[0] == (frozenset(), "")
    assert _seen(_job("1", "low"), _job("2", "high"), of=dict.fromkeys(TIERS, 5))[0] == (frozenset(), "")


def test_what_is_not_understood_of_a_request_keeps_all_its_partitions_nodes() -> None:
    odd = replace(_job("2", "high"), request=None)

    assert _seen(_job("1", "all"), odd)[0] == (frozenset({"n1"}), "")


@pytest.mark.parametrize(("words", "tier"), [("PriorityTier=10 RootOnly=NO", 10), ("RootOnly=NO", 1)])
def test_the_tier_of_a_partition(words: str, tier: int) -> None:
    assert nodes.tier(f"PartitionName=x Nodes=n[1-2] {words} State=UP") == tier
