"""Who may run on kept nodes meanwhile: only who is forecast to end in time, and fits beside those who run there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.reconcile.guests import MARGIN_S, guests

NOW = 1_700_000_000
HOST = Decision("host", DecisionKind.RESERVE, Reason.EARLIEST_START, "", nodes=("n1", "n2"), at=NOW + 100)
SMALL = Request(nodes=1, per_node={"cpu": 4})


def job(name: str, request: Request = SMALL, **more: Any) -> SnapshotJob:
    return SnapshotJob(name, name, JobState.PENDING, "ann", 1, None, NOW - 10, request=request, **more)


def waits(name: str, action: DecisionKind = DecisionKind.QUEUE) -> Decision:
    return Decision(name, action, Reason.NOT_ENOUGH_EVEN_SO, "")


def found(
    *jobs: SnapshotJob, run_s: Mapping[str, float] | None = None, decisions: Any = None, **node: Any
) -> list[tuple[str, tuple[str, ...]]]:
    nodes = tuple(SnapshotNode(name, up=True, total={"cpu": 8}, **node) for name in ("n1", "n2", "n3"))
    running = SnapshotJob(
        "r", "r", JobState.RUNNING, "bob", 1, None, NOW - 99, start=NOW - 90, alloc={"n1": {"cpu": 6}}
    )
    snapshot = Snapshot(NOW, PartitionRules("x", Mode.USER), nodes, (running, job("host"), *jobs))
    told = decisions or [HOST, *(waits(each.id) for each in jobs)]
    runs = run_s if run_s is not None else {each.id: 10.0 for each in jobs}
    return list(guests(snapshot, told, HOST, runs, HOST.nodes).items())


def test_a_small_job_gets_a_kept_node_with_room() -> None:
    assert found(job("a")) == [("a", ("n2",))]


@pytest.mark.parametrize(("run_s", "is_let_in"), [(100 - MARGIN_S, True), (100 - MARGIN_S + 1, False)])
def test_it_has_to_end_in_time(run_s: float, is_let_in: bool) -> None:
    assert bool(found(job("a"), run_s={"a": run_s})) == is_let_in


def test_one_of_which_nothing_is_known_is_none() -> None:
    assert found(job("a"), run_s={}) == []


def test_each_node_is_given_once_in_the_order_of_the_decisions() -> None:
    small = Request(nodes=1, per_node={"cpu": 2})
    assert found(job("a"), job("b", small), job("c", small)) == [
        ("a", ("n2",)),
        ("b", ("n1",)),
    ]


@pytest.mark.parametrize(
    "request_",
    [
        replace(SMALL, per_node={"cpu": 9}),
        replace(SMALL, nodes=2),
        replace(SMALL, features=frozenset({"a100"})),
        replace(SMALL, not_nodes=frozenset({"n2"})),
        replace(SMALL, only_nodes=frozenset({"n3"})),
        Request(spread={"cpu": 2}),
        Request(unit={"cpu": 2}, count=1),
        replace(SMALL, any_of=(frozenset({"a"}),)),
    ],
)
def test_one_that_does_not_fit_or_cannot_be_said_is_none(request_: Request) -> None:
    assert found(job("a", request_)) == []


def test_one_that_wants_a_node_alone_gets_an_empty_one() -> None:
    alone = Request(nodes=1, per_node={"cpu": 1}, exclusive=True)
    assert found(job("a", alone)) == [("a", ("n2",))]
    assert found(job("a", replace(alone, only_nodes=frozenset({"n1"})))) == []


def test_what_is_held_elsewhere_is_not_free() -> None:
    assert found(job("a"), held_elsewhere={"cpu": 5}) == []


@pytest.mark.parametrize("action", [DecisionKind.PREEMPT, DecisionKind.START, DecisionKind.WAIT])
def test_one_that_gets_room_anyhow_is_none(action: DecisionKind) -> None:
    assert found(job("a"), decisions=[HOST, waits("a", action)]) == []


def test_one_that_is_blocked_is_none() -> None:
    assert found(job("a", blocked="it is held")) == []
