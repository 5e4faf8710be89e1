"""A node is exchanged with a young running job: both sets are kept, it is stopped, and both start on even sets."""

from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.notices import texts
from console.partitions.services import ensure_partition
from console.steering.approvals import approve
from console.steering.explanations import why
from console.steering.models import KeptPlace, Plan, PlanState
from console.steering.pausing import pause
from console.steering.requests import mark_of
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, Request
from tests.steering.conftest import Sim

POWER = {"n1": 1.0, "n2": 1.02, "n3": 1.03, "n4": 1.0}
YOUNG_S = 600
RULE = {"resource": "cpu", "max_distance": 0.05, "else": "wait", "swap_below_s": YOUNG_S}
ITS_SET, THEIR_SET = {"n2", "n4"}, {"n1", "n3"}
"""R runs on n1 and n2 and gives up n1 for n4, which K does not take; K gets n1 beside n3."""


def two(sim: Sim, user: str, **spec: Any) -> str:
    request = Request(nodes=2, per_node={"cpu": 8}, not_nodes=spec.pop("not_nodes", frozenset()))
    return sim.port.submit(JobSpec(f"{user}_even", user, request, partitions=("wide",), **spec))


@pytest.fixture
def jobs(sim: Sim) -> tuple[str, str]:
    """R, which runs, and K, which waits beside two free nodes."""
    for name, power in POWER.items():
        node = sim.port.state.nodes[name]
        node.power, node.features = {"cpu": power}, frozenset()
    sim.policy("wide", balance=RULE)
    return made(sim)


def made(sim: Sim, **spec: Any) -> tuple[str, str]:
    runner = two(sim, "cy", **spec)
    sim.port.advance(2)
    assert set(sim.port.job(runner).alloc) == {"n1", "n2"}
    waits = two(sim, "cy", not_nodes=frozenset({"n4"}))
    return runner, waits


def nodes_of(sim: Sim, job: str) -> set[str]:
    return set(sim.port.job(job).alloc)


def audited(plan_id: int) -> list[str]:
    return list(AuditEntry.objects.filter(plan=plan_id).order_by("id").values_list("action", flat=True))


def test_both_run_on_even_sets_and_it_was_stopped_once(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, waits = jobs
    sim.cycle()
    plan = sim.plan()
    assert (plan.reason, plan.state) == ("swaps_a_node", PlanState.EXECUTING)
    assert sim.state(runner) is JobState.RUNNING, "nobody is touched before both sets are kept"
    kept = {each.job_id: (set(each.nodes), each.inside) for each in sim.port.observe().kept}
    assert kept == {runner: (ITS_SET, False), waits: (THEIR_SET, True)}
    sim.cycles(12)
    assert (nodes_of(sim, runner), nodes_of(sim, waits)) == (ITS_SET, THEIR_SET)
    assert sim.port.job(runner).restarts == 1
    plan = sim.plan()
    assert plan.state == PlanState.VERIFIED
    assert f"{runner} runs on n2 and n4 as planned." in plan.outcome
    assert f"{waits} runs on n1 and n3 as planned." in plan.outcome
    assert not sim.port.observe().kept and not KeptPlace.objects.exists()
    assert len(sim.actions(ActionKind.REQUEUE_HOLD)) == 1
    steps = audited(plan.pk)
    assert steps[0] == "plan.proposed" and steps[-1] == "plan.verified" and "action.verified" in steps
    assert AuditEntry.objects.filter(action="nodes.kept").count() == 2
    assert sim.plan() == plan, "and there is no second plan"


def test_one_that_was_kept_from_starting_begins_on_its_set(sim: Sim, jobs: tuple[str, str]) -> None:
    """The job_submit script had put it off, as any that is to be placed."""
    runner, waits = jobs
    job = sim.port.job(waits)
    job.begin = job.put_off = sim.port.now + 20
    sim.cycles(14)
    assert (nodes_of(sim, runner), nodes_of(sim, waits)) == (ITS_SET, THEIR_SET)
    assert sim.plan().state == PlanState.VERIFIED
    assert sim.port.job(runner).restarts == 1


def test_the_job_that_is_stopped_is_never_held(sim: Sim, jobs: tuple[str, str]) -> None:
    """A Giveway that dies after the requeue leaves it to Slurm, which starts it after its own delay."""
    runner, _waits = jobs
    while sim.state(runner) is JobState.RUNNING:
        sim.cycles(1)
    sim.port.advance(300)
    assert sim.state(runner) is JobState.RUNNING
    assert sim.port.job(runner).restarts == 1


def test_where_plans_are_approved_nothing_happens_before(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, waits = jobs
    sim.policy("wide", balance=RULE, enforcement="approve")
    sim.cycles(5)
    plan = sim.plan()
    assert (plan.state, plan.victims[0]["how"]) == (PlanState.PROPOSED, "swap")
    assert (plan.victims[0]["nodes"], plan.victims[0]["gets"]) == (["n1"], ["n4"])
    assert not sim.port.observe().kept and sim.state(runner) is JobState.RUNNING
    approve(plan=plan, actor="dave", reason="Even sets.", seen=mark_of(plan))
    sim.cycles(12)
    assert (nodes_of(sim, runner), nodes_of(sim, waits)) == (ITS_SET, THEIR_SET)


def test_in_shadow_nothing_happens(sim: Sim, jobs: tuple[str, str]) -> None:
    sim.policy("wide", balance=RULE, enforcement="shadow")
    sim.cycles(5)
    assert sim.plan().state == PlanState.PROPOSED
    assert not sim.port.observe().kept and not sim.actions(ActionKind.REQUEUE_HOLD)


def test_a_job_that_saves_its_state_gets_its_grace_time_which_makes_it_no_older(
    sim: Sim, jobs: tuple[str, str]
) -> None:
    runner, waits = jobs
    rule = {**RULE, "swap_below_s": 12}
    sim.policy("wide", balance=rule, grace_s=20, checkpoint_signal="USR1")
    sim.cycles(15)
    assert sim.state(runner) is JobState.RUNNING
    sim.cycles(25)
    assert (nodes_of(sim, runner), nodes_of(sim, waits)) == (ITS_SET, THEIR_SET)
    (signal,) = sim.actions(ActionKind.SIGNAL)
    (stop,) = sim.actions(ActionKind.REQUEUE_HOLD)
    assert signal.issued_at and stop.issued_at and (stop.issued_at - signal.issued_at).total_seconds() >= 20


def undone(sim: Sim, runner: str, why: str, *, stopped: bool) -> None:
    """The exchange is over, for a reason; nobody is held, and nothing is kept for anybody."""
    sim.cycles(15)
    plan = sim.plan()
    assert plan.state == PlanState.UNDONE
    assert why in plan.outcome
    assert not sim.port.observe().kept
    assert sim.state(runner) is JobState.RUNNING
    assert sim.port.job(runner).restarts == int(stopped)


def test_one_that_has_become_too_old_is_left_alone(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, _waits = jobs
    sim.cycle()
    sim.port.advance(50)
    sim.policy("wide", balance={**RULE, "swap_below_s": 40})
    undone(sim, runner, "has run for", stopped=False)


def test_sets_that_are_measured_anew_must_be_even_still(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, _waits = jobs
    sim.cycle()
    sim.port.state.nodes["n4"].power = {"cpu": 2.0}
    undone(sim, runner, "are no even set any more", stopped=False)


def test_without_the_rule_there_is_no_exchange_any_more(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, _waits = jobs
    sim.cycle()
    sim.policy("wide")
    undone(sim, runner, "do not exchange nodes any more", stopped=False)


def test_a_pause_comes_in_time_before_the_stop(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, _waits = jobs
    sim.cycle()
    pause(
        cluster=sim.cluster,
        actor="dave",
        partition=ensure_partition(cluster=sim.cluster, name="wide"),
        reason="Wait.",
    )
    undone(sim, runner, "paused", stopped=False)


def until_stopped(sim: Sim, runner: str) -> None:
    for _ in range(10):
        sim.cycle()
        if sim.port.job(runner).restarts:
            return
        sim.port.advance(1)
    raise AssertionError("it was not stopped")


def test_if_the_one_that_waits_is_cancelled_after_the_stop_the_other_goes_on(
    sim: Sim, jobs: tuple[str, str]
) -> None:
    runner, waits = jobs
    until_stopped(sim, runner)
    sim.port.cancel(waits)
    undone(sim, runner, "left the queue", stopped=True)


def test_if_a_node_fails_after_the_stop_nobody_is_held(sim: Sim, jobs: tuple[str, str]) -> None:
    """Of the three nodes that are left one of both gets two; the other is next."""
    runner, waits = jobs
    until_stopped(sim, runner)
    sim.port.set_node_state("n3", SimNodeState.DOWN)
    sim.cycles(12)
    assert "n3" in sim.plan().undo_reason
    assert not sim.port.observe().kept
    sim.port.cancel(waits)
    sim.cycles(5)
    assert sim.state(runner) is JobState.RUNNING
    assert sim.port.job(runner).restarts == 1


def test_what_cannot_be_kept_disturbs_nobody(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, _waits = jobs
    sim.port.state.faults.actions.append(ActionFault(FaultEffect.REFUSE, kind=ActionKind.KEEP))
    sim.cycles(10)
    assert not sim.actions(ActionKind.REQUEUE_HOLD)[0].attempts
    assert sim.state(runner) is JobState.RUNNING
    sim.cycles(20, every_s=10)
    first = Plan.objects.order_by("id").first()
    assert first is not None and first.state == PlanState.UNDONE
    assert sim.port.job(runner).restarts == 0


def test_the_limit_of_an_hour_counts_it_like_a_stop(sim: Sim, jobs: tuple[str, str]) -> None:
    sim.policy("wide", balance=RULE, max_stops_per_hour=0)
    sim.cycles(4)
    assert not Plan.objects.exists()


def test_one_that_may_not_start_elsewhere_is_left_alone(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, waits = jobs
    for job in (waits, runner):
        sim.port.cancel(job)
    sim.port.advance(3)
    made(sim, not_nodes=frozenset({"n4"}))
    sim.cycles(3)
    assert not Plan.objects.exists()


def test_people_are_told_what_was_exchanged(sim: Sim, jobs: tuple[str, str]) -> None:
    runner, waits = jobs
    sim.cycles(12)
    (stop,) = sim.actions(ActionKind.REQUEUE_HOLD)
    assert (
        f"to exchange n1 for n4, so that it and {waits} (cy) have even sets"
        in sim.port.job(runner).admin_comment
    )
    told = texts.stopped(stop, None)
    assert "starts again at once, on n4 instead of n1" in told
    answer = why(sim.cluster, runner)
    assert answer is not None
    said = [part.headline for part in answer.parts]
    assert any("stopped to exchange n1 for n4" in line for line in said)
