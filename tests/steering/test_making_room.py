"""The way of one job: decided, made room for, running, victims back, all of it written down."""

from datetime import timedelta

from console.audit.models import AuditEntry
from console.steering.models import Plan, PlannedAction
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, Request
from tests.steering.conftest import Sim


def test_an_urgent_job_gets_its_room_and_the_victim_comes_back(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6, run_time_s=30)

    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    plan = sim.plan()
    assert (plan.state, plan.job_id, [v["job"] for v in plan.victims]) == ("verified", urgent, [low])
    assert not sim.row(low).held

    sim.port.advance(40)
    assert sim.state(low) is JobState.RUNNING


def test_the_beneficiary_is_first_in_line_before_anybody_is_stopped(sim: Sim) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)

    sim.cycle()

    assert sim.port.job(urgent).priority > 4_294_901_760
    assert sim.state(low) is JobState.RUNNING
    stop = sim.actions(ActionKind.REQUEUE_HOLD)[0]
    assert (stop.state, stop.not_before) == ("planned", stop.plan.created_at + timedelta(seconds=5))


def test_small_jobs_that_would_take_any_hole_do_not_get_the_room(sim: Sim) -> None:
    sim.policy()
    for _ in range(8):
        sim.running("ann", 1)
    urgent = sim.submit("cy", 4)
    flood = [sim.submit("ann", 1, run_time_s=5) for _ in range(50)]

    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert len(sim.actions(ActionKind.REQUEUE_HOLD)) == 4
    assert all(sim.state(job) is JobState.PENDING for job in flood)


def test_in_shadow_a_plan_is_proposed_once_and_nobody_is_touched(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    low = sim.running("ann", 8)
    sim.submit("cy", 6)

    sim.cycles(5)

    assert Plan.objects.count() == 1
    assert sim.plan().state == "proposed"
    assert not PlannedAction.objects.exists()
    assert sim.state(low) is JobState.RUNNING
    assert AuditEntry.objects.filter(action="plan.proposed").count() == 1


def test_a_proposal_expires_when_its_job_finds_room_by_itself(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycles(2)
    sim.port.cancel(low)

    sim.cycles(3)

    assert sim.plan().state == "expired"


def test_a_proposal_is_superseded_when_others_would_be_stopped_now(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 4)
    sim.running("bob", 4)
    sim.submit("cy", 4)
    sim.cycle()
    sim.policy(enforcement="shadow", user_overrides={"ann": "P2", "bob": "P3", "cy": "P0"})

    sim.cycle()

    first, second = Plan.objects.order_by("id")
    assert (first.state, second.state) == ("superseded", "proposed")
    assert first.victims[0]["user"] == "ann"
    assert second.victims[0]["user"] == "bob"


def test_going_to_enforce_carries_out_what_was_proposed(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycles(2)
    sim.policy(enforcement="enforce")

    sim.cycles(3)

    assert sim.state(urgent) is JobState.RUNNING


def test_a_plan_in_shadow_takes_no_room_from_an_enforcing_partition_on_the_same_node(sim: Sim) -> None:
    sim.policy("wide", enforcement="shadow")
    sim.policy("x")
    on_n1 = Request(nodes=1, per_node={"cpu": 4}, only_nodes=frozenset({"n1"}))
    sim.port.submit(JobSpec("low", "ann", on_n1, partitions=("wide",)))
    low = sim.running("ann", 4)
    shadowed = sim.port.submit(JobSpec("urgent", "cy", on_n1, partitions=("wide",)))
    urgent = sim.submit("cy", 4)

    sim.cycles(4)

    assert sim.row(shadowed, "wide").verdict == "preempt"
    assert sim.state(shadowed) is JobState.PENDING
    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1


def test_partitions_that_are_new_start_in_shadow(sim: Sim) -> None:
    sim.running("ann", 8)
    sim.cycle()

    assert set(sim.cluster.partitions.values_list("revision__enforcement", flat=True)) == {"shadow"}
    assert set(sim.cluster.partitions.values_list("name", flat=True)) == {"wide", "x", "q"}


def test_a_job_is_stopped_only_as_often_as_the_policy_allows(sim: Sim) -> None:
    sim.policy(max_preemptions_per_job=1)
    low = sim.running("ann", 8)
    first = sim.submit("cy", 8, run_time_s=5)
    sim.cycles(12)
    assert sim.state(first) is None
    assert sim.state(low) is JobState.RUNNING
    second = sim.submit("cy", 8)

    sim.cycles(4)

    assert sim.state(low) is JobState.RUNNING
    assert sim.state(second) is JobState.PENDING
    assert sim.row(low).protected


def test_every_step_is_in_the_audit_log(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycles(4)

    told = list(
        AuditEntry.objects.filter(plan=sim.plan().pk).order_by("sequence").values_list("action", "job_id")
    )

    assert ("action.issued", low) in told
    assert [action for action, _ in told if action.startswith("plan.")] == [
        "plan.proposed",
        "plan.executing",
        "plan.verified",
    ]


def test_a_job_over_quota_is_held_and_let_go_when_a_place_is_free(sim: Sim) -> None:
    sim.policy(mode="task", quotas={"P0": 1}, over_quota="hold")
    first = sim.running("ann", 2, name="l0_a", run_time_s=10)
    second = sim.submit("ann", 7, name="l0_b")

    sim.cycles(3)
    assert sim.row(second).held
    assert sim.plan().kind == "quota"

    sim.port.advance(10)
    sim.cycles(4)
    assert sim.state(first) is None
    assert sim.state(second) is JobState.RUNNING
    assert sim.plan().state == "verified"
