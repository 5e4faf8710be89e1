"""The claims of document 000 one by one: who makes room for whom, by which priority, and when nobody does.

Claims 10 to 15 repeat 3 to 9 with users and tasks exchanged, so most tests here run on both `first` axes.
docs/traceability.md says which test stands for which claim.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from scheduler.contracts.snapshot import encode_snapshot
from scheduler.model.jobs import Level, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from scheduler.preemption.planner import plan
from tests.builders import HOUR, anywhere, node, one_node, pending, running, snapshot

ROOT = Path(__file__).parents[2]

ONE_AXIS = {"user": Mode.USER, "task": Mode.TASK}
TWO_AXES = {"user": Mode.USER_THEN_TASK, "task": Mode.TASK_THEN_USER}
on_both_axes = pytest.mark.parametrize("first", ["user", "task"])


def levels(first: str, own: Level, other: Level = None) -> dict[str, Any]:
    """A job's level on the axis that the mode looks at first, and on the other one."""
    return {"user": own, "task": other} if first == "user" else {"task": own, "user": other}


def decide(mode: Mode, jobs: Iterable[SnapshotJob], nodes: Iterable[SnapshotNode] | None = None) -> Decision:
    """The decision on the only pending job."""
    (decision,) = plan(snapshot(jobs, nodes, mode=mode)).decisions
    return decision


def stopped(decision: Decision) -> set[str]:
    return {victim.job for victim in decision.victims}


# --- Claim 1: is there room? Whose priority is asked? -----------------------------------------------------


@pytest.mark.parametrize(("free", "action"), [(0, "preempt"), (2, "preempt"), (4, "start"), (6, "start")])
def test_room_is_there_when_at_least_as_much_is_free_as_is_asked_for(free: int, action: str) -> None:
    """¶62: four GPUs are asked for."""
    holder = running("low", {"n1": {"gpu": 8 - free}}, user=3)
    urgent = pending("J", anywhere(spread={"gpu": 4}), user=0)
    assert decide(Mode.USER, [holder, urgent], [node(total={"gpu": 8})]).action.value == action


@pytest.mark.parametrize("resource", ["cpu", "gpu", "gpu:a100", "npu", "mem"])
def test_whatever_can_be_counted_is_a_resource(resource: str) -> None:
    """¶54 names CPUs, GPUs and NPUs."""
    full = [running(name, {"n1": {resource: 4}}, user=level) for name, level in (("mid", 2), ("low", 3))]
    urgent = pending("J", one_node(per_node={resource: 3}), user=0)
    assert stopped(decide(Mode.USER, [*full, urgent], [node(total={resource: 8})])) == {"low"}


@on_both_axes
@pytest.mark.parametrize("others", [(None, 3, 0), (0, 0, 0), (0, 3, None)])
def test_a_mode_of_one_axis_does_not_look_at_the_other(
    first: str, others: tuple[Level, Level, Level]
) -> None:
    """¶74: the priority that is not asked for decides nothing."""
    high, low, own = others
    jobs = [
        running("high", cpu=4, **levels(first, 1, high)),
        running("low", cpu=4, **levels(first, 2, low)),
        pending("J", one_node(4), **levels(first, 1, own)),
    ]
    assert stopped(decide(ONE_AXIS[first], jobs)) == {"low"}


@on_both_axes
def test_without_any_level_free_room_is_enough(first: str) -> None:
    """¶63: priorities are asked for only when room is missing."""
    decision = decide(ONE_AXIS[first], [running("top", cpu=4, **levels(first, 0)), pending("J", one_node(4))])
    assert (decision.action, decision.reason) == (DecisionKind.START, Reason.ROOM_IS_FREE)


# --- Claims 3 and 4, 10 with ¶143: one axis ---------------------------------------------------------------


@on_both_axes
def test_one_axis_lower_jobs_that_hold_enough_make_room(first: str) -> None:
    jobs = [
        running("equal", cpu=4, **levels(first, 1)),
        running("low", cpu=4, **levels(first, 2)),
        pending("J", one_node(4), **levels(first, 1)),
    ]
    decision = decide(ONE_AXIS[first], jobs)
    assert (decision.action, stopped(decision)) == (DecisionKind.PREEMPT, {"low"})
    assert decision.reason is (Reason.LOWER_USER if first == "user" else Reason.LOWER_TASK)


@on_both_axes
@pytest.mark.parametrize("level", [0, 1])
def test_one_axis_where_nothing_lower_runs_the_job_stays_in_the_queue(first: str, level: int) -> None:
    """Equal is not lower, whatever the other axis says."""
    jobs = [
        running("a", cpu=8, ran=1, **levels(first, level, None)),
        pending("J", one_node(4), **levels(first, 1, 0)),
    ]
    decision = decide(ONE_AXIS[first], jobs)
    assert (decision.action, decision.reason) == (DecisionKind.QUEUE, Reason.NOTHING_LOWER_RUNS)


@on_both_axes
def test_one_axis_where_lower_jobs_hold_too_little_nobody_is_stopped(first: str) -> None:
    jobs = [
        running("equal", cpu=6, **levels(first, 1)),
        running("low", cpu=2, **levels(first, 2)),
        pending("J", one_node(4), **levels(first, 1)),
    ]
    decision = decide(ONE_AXIS[first], jobs)
    assert (decision.action, decision.reason) == (DecisionKind.QUEUE, Reason.NOT_ENOUGH_EVEN_SO)
    assert not decision.victims


@on_both_axes
def test_of_one_level_those_go_that_have_run_for_the_shortest_time(first: str) -> None:
    """¶98's figures for users, and for tasks as ¶143 has it: 3, 6 and 2 hours; two CPUs are asked for."""
    jobs = [
        running(name, cpu=1, ran=hours * HOUR, **levels(first, 2))
        for name, hours in (("b2", 3), ("b3", 6), ("b4", 2))
    ]
    decision = decide(ONE_AXIS[first], [*jobs, pending("J", one_node(2), **levels(first, 0))], [node(cpu=3)])
    assert stopped(decision) == {"b2", "b4"}


@on_both_axes
@pytest.mark.parametrize("cpus", [1, 2, 3, 4, 5])
def test_the_unconfigured_go_first_then_the_lowest_level_and_so_on_upwards(first: str, cpus: int) -> None:
    """¶79, ¶184, ¶198. The higher a job the shorter it has run: the level decides, not the time."""
    order: list[tuple[str, Level]] = [("none", None), ("4", 4), ("3", 3), ("2", 2), ("1", 1)]
    jobs = [
        running(name, cpu=1, ran=(9 - i) * HOUR, **levels(first, level))
        for i, (name, level) in enumerate(order)
    ]
    decision = decide(
        ONE_AXIS[first], [*jobs, pending("J", one_node(cpus), **levels(first, 0))], [node(cpu=5)]
    )
    assert stopped(decision) == {name for name, _ in order[:cpus]}


# --- Claims 5 to 9, 11 to 15: two axes --------------------------------------------------------------------


def equals(first: str, *hours_and_others: tuple[int, Level]) -> list[SnapshotJob]:
    """Jobs e1, e2, … of one CPU each, equal (level 1) on the first axis: hours run, level on the other."""
    return [
        running(f"e{i}", cpu=1, ran=hours * HOUR, **levels(first, 1, other))
        for i, (hours, other) in enumerate(hours_and_others, start=1)
    ]


@on_both_axes
def test_two_axes_without_a_lower_first_axis_the_second_decides_between_equals(first: str) -> None:
    """Claims 5 and 11, ¶107 and ¶153: only equals on the first axis run; the lower on the second yields."""
    jobs = [*equals(first, (3, 2), (6, 2), (2, 2), (1, 1)), pending("J", one_node(2), **levels(first, 1, 1))]
    decision = decide(TWO_AXES[first], jobs, [node(cpu=4)])
    assert stopped(decision) == {"e1", "e3"}
    assert decision.reason is (Reason.LOWER_TASK if first == "user" else Reason.LOWER_USER)


NOBODY_LOWER = {
    "all are higher on the first axis": (0, None, 8),
    "the equal one is equal on the second axis": (1, 1, 8),
    "the equal one is higher on the second axis": (1, 0, 8),
    "the equal and lower one holds too little": (1, 2, 3),
}


@on_both_axes
@pytest.mark.parametrize("case", NOBODY_LOWER)
def test_two_axes_where_the_second_finds_nobody_the_job_stays_in_the_queue(first: str, case: str) -> None:
    """Claims 6 and 12."""
    own, other, cpus = NOBODY_LOWER[case]
    jobs = [
        running("a", cpu=cpus, **levels(first, own, other)),
        *([running("top", cpu=8 - cpus, **levels(first, 0, 0))] if cpus < 8 else []),
        pending("J", one_node(4), **levels(first, 1, 1)),
    ]
    decision = decide(TWO_AXES[first], jobs)
    assert (decision.action, decision.victims) == (DecisionKind.QUEUE, ())


@on_both_axes
def test_two_axes_the_first_tier_is_enough_so_the_second_is_left_alone(first: str) -> None:
    jobs = [
        running("equal", cpu=4, ran=60, **levels(first, 1, None)),
        running("low", cpu=4, ran=9 * HOUR, **levels(first, 2, 0)),
        pending("J", one_node(4), **levels(first, 1, 1)),
    ]
    assert stopped(decide(TWO_AXES[first], jobs)) == {"low"}


@on_both_axes
def test_two_axes_both_tiers_together_make_room(first: str) -> None:
    """Claims 7 and 13."""
    jobs = [
        running("low", cpu=4, **levels(first, 2, 0)),
        running("equal", cpu=2, **levels(first, 1, 2)),
        running("same", cpu=2, **levels(first, 1, 1)),
        pending("J", one_node(6), **levels(first, 1, 1)),
    ]
    decision = decide(TWO_AXES[first], jobs)
    assert stopped(decision) == {"low", "equal"}
    assert decision.reason is (Reason.LOWER_USER_AND_TASK if first == "user" else Reason.LOWER_TASK_AND_USER)


@on_both_axes
def test_two_axes_where_both_tiers_together_hold_too_little_nobody_is_stopped(first: str) -> None:
    """Claims 8 and 14."""
    jobs = [
        running("low", cpu=4, **levels(first, 2, 0)),
        running("equal", cpu=1, **levels(first, 1, 2)),
        running("same", cpu=3, **levels(first, 1, 1)),
        pending("J", one_node(6), **levels(first, 1, 1)),
    ]
    decision = decide(TWO_AXES[first], jobs)
    assert (decision.action, decision.reason) == (DecisionKind.QUEUE, Reason.NOT_ENOUGH_EVEN_SO)
    assert not decision.victims


@on_both_axes
def test_the_second_tier_gives_the_remainder_the_shortest_running_first(first: str) -> None:
    """Claims 9 and 15 with the figures of ¶131 and ¶176: 3, 6 and 2 hours, and 2 CPUs of the first tier."""
    jobs = [
        *equals(first, (3, 2), (6, 2), (2, 2)),
        running("b5", cpu=2, ran=8 * HOUR, **levels(first, 3, 0)),
        pending("J", one_node(4), **levels(first, 1, 1)),
    ]
    assert stopped(decide(TWO_AXES[first], jobs, [node(cpu=5)])) == {"b5", "e1", "e3"}


@on_both_axes
@pytest.mark.parametrize(
    ("low", "equal"), [(3, 0), (0, 3), (2, 1)], ids=["first tier", "second tier", "both tiers"]
)
def test_what_is_free_counts_together_with_the_victims(first: str, low: int, equal: int) -> None:
    """¶91, ¶109, ¶122, ¶139, ¶155, ¶168: one CPU is free, four are asked for, so three have to come free."""
    jobs = [
        *(running(f"low{i}", cpu=1, **levels(first, 2, 0)) for i in range(low)),
        *(running(f"equal{i}", cpu=1, **levels(first, 1, 2)) for i in range(equal)),
    ]
    everybody = {job.id for job in jobs}
    decision = decide(
        TWO_AXES[first], [*jobs, pending("J", one_node(4), **levels(first, 1, 1))], [node(cpu=4)]
    )
    assert stopped(decision) == everybody


# --- Claims 16 to 18: the same as a program ---------------------------------------------------------------


def test_a_stored_program_answers_the_documents_question(tmp_path: Path) -> None:
    """¶81, asked of the command: a snapshot in a file goes in, the plan comes out."""
    jobs = [
        running("a3", cpu=2, user=1, task=1),
        running("a4", cpu=2, user=1, task=2),
        running("b1", cpu=4, user=3, task=1),
        pending("c", one_node(6), user=1, task=1),
    ]
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(encode_snapshot(snapshot(jobs, mode=Mode.USER_THEN_TASK))), encoding="utf-8")
    command = [sys.executable, "-m", "scheduler", "plan", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (decision,) = plan_decisions(done.stdout)
    assert decision["action"] == "preempt"
    assert sorted(victim["job"] for victim in decision["victims"]) == ["a4", "b1"]


def plan_decisions(text: str) -> list[dict[str, Any]]:
    return list(json.loads(text)["decisions"])
