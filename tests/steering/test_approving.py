"""Where the policy asks: a plan waits for a person, is carried out when approved, and never when it is out of date."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from console.audit.models import AuditEntry
from console.core import clock
from console.steering.approvals import OutOfDateError, approve, reject, what_changed
from console.steering.facts import HEEDED
from console.steering.models import Plan, PlannedAction
from console.steering.pausing import pause, resume
from console.steering.requests import mark_of
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


@pytest.fixture
def asking(sim: Sim) -> Sim:
    """`ann` runs on the whole node, `cy` waits for six CPUs of it, and a plan has been proposed."""
    sim.policy(enforcement="approve")
    sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=60)
    sim.cycles(2)
    return sim


def say_yes(plan: Plan, **changes: Any) -> Plan:
    said = {"actor": "dave", "reason": "The deadline is today.", "seen": mark_of(plan), **changes}
    return approve(plan=plan, **said)


def say_no(plan: Plan, **changes: Any) -> Plan:
    said = {"actor": "dave", "reason": "Ann is nearly done.", "seen": mark_of(plan), **changes}
    return reject(plan=plan, **said)


def test_a_plan_waits_for_a_person_and_nobody_is_touched(asking: Sim) -> None:
    asking.cycles(5)

    plan = asking.plan()
    assert (Plan.objects.count(), plan.state, plan.awaits_decision) == (1, "proposed", True)
    assert not PlannedAction.objects.exists()
    assert asking.state(plan.victims[0]["job"]) is JobState.RUNNING


def test_an_approved_plan_is_carried_out_as_one_of_an_enforcing_partition(asking: Sim) -> None:
    plan = say_yes(asking.plan())
    assert (plan.state, plan.deadline) == ("approved", clock.now() + timedelta(seconds=120))

    asking.cycles(4)

    plan.refresh_from_db()
    victim = plan.victims[0]["job"]
    assert (plan.state, plan.decided_by, plan.decision_reason) == (
        "verified",
        "dave",
        "The deadline is today.",
    )
    assert asking.state(plan.job_id) is JobState.RUNNING
    assert asking.port.job(victim).restarts == 1
    told = AuditEntry.objects.filter(plan=plan.pk, action__startswith="plan.").order_by("sequence")
    assert [(entry.action, entry.actor) for entry in told] == [
        ("plan.proposed", "giveway"),
        ("plan.approved", "dave"),
        ("plan.executing", "giveway"),
        ("plan.verified", "giveway"),
    ]

    asking.port.advance(70)
    asking.cycles(2)
    assert asking.state(victim) is JobState.RUNNING


def test_the_first_cycle_after_the_approval_stops_the_victim(asking: Sim) -> None:
    say_yes(asking.plan())

    asking.cycle()

    [stop] = asking.actions(ActionKind.REQUEUE_HOLD)
    assert stop.state == "issued"


def test_a_decision_needs_a_reason(asking: Sim) -> None:
    for decide in (say_yes, say_no):
        with pytest.raises(ValidationError, match="Say why"):
            decide(asking.plan(), reason="  ")
    assert asking.plan().state == "proposed"


def test_the_same_click_twice_counts_once(asking: Sim) -> None:
    plan = asking.plan()
    say_yes(plan)
    assert say_yes(plan).state == "approved"

    assert len(asking.actions(ActionKind.REQUEUE_HOLD)) == 1
    assert AuditEntry.objects.filter(action="plan.approved").count() == 1


def test_who_comes_second_is_told_who_was_first(asking: Sim) -> None:
    plan = asking.plan()
    say_yes(plan)
    with pytest.raises(OutOfDateError, match=r"dave approved it\."):
        say_yes(plan, actor="ada")
    with pytest.raises(OutOfDateError, match=r"dave approved it\."):
        say_no(plan, actor="ada")


def test_who_takes_back_a_yes_is_told_that_it_stands(asking: Sim) -> None:
    plan = asking.plan()
    say_yes(plan)
    with pytest.raises(OutOfDateError, match=r"dave approved it\."):
        say_no(plan)


# --- Out of date ---------------------------------------------------------------------------------------------


def _victim(sim: Sim) -> str:
    job: str = sim.plan().victims[0]["job"]
    return job


def _victim_ends(sim: Sim) -> None:
    sim.port.cancel(_victim(sim))
    sim.port.advance(1)


def _look(sim: Sim) -> None:
    """Only the mirror is told, as if the person had been quicker than the next decision."""
    sim.cluster.refresh_from_db()
    for row in sim.cluster.jobs.all():
        seen = sim.state(row.job_id)
        row.phase = seen.value if seen else "ended"
        job = sim.port.job(row.job_id) if seen else None
        row.held = bool(job and job.held)
        row.start, row.restarts = (job.start or 0, job.restarts) if job else (row.start, row.restarts)
        row.save()


def _beneficiary_leaves(sim: Sim) -> None:
    sim.port.cancel(sim.plan().job_id)
    sim.port.advance(1)
    _look(sim)


def _victim_has_ended(sim: Sim) -> None:
    _victim_ends(sim)
    _look(sim)


def _victim_runs_again(sim: Sim) -> None:
    row = sim.row(_victim(sim))
    row.restarts, row.start = 1, row.start + 100
    row.save()


def _beneficiary_is_held(sim: Sim) -> None:
    row = sim.row(sim.plan().job_id)
    row.held = True
    row.save()


def _is_paused(sim: Sim) -> None:
    pause(actor="ada", cluster=sim.cluster, reason="Maintenance")


def _other_policy(sim: Sim) -> None:
    sim.policy(enforcement="approve", grace_s=60)


def _other_enforcement(sim: Sim) -> None:
    sim.policy(enforcement="shadow")


def _nothing_seen_for_a_minute(sim: Sim) -> None:
    sim.port.advance(60)


def _unreadable(sim: Sim) -> None:
    sim.cluster.refresh_from_db()
    sim.cluster.fault = "squeue: no answer within 30 s"
    sim.cluster.save()


CHANGES: list[tuple[Callable[[Sim], None], str]] = [
    (_victim_has_ended, r"\(ann\) no longer runs\."),
    (_victim_runs_again, r"\(ann\) was started again meanwhile: that is another run\."),
    (_beneficiary_leaves, r"\(cy\) is no longer in the queue\."),
    (_beneficiary_is_held, r"\(cy\) is held\."),
    (_is_paused, r"Nobody may be stopped now: ada paused all partitions: Maintenance\."),
    (_other_policy, r"It was made by policy revision 2; revision 3 is in force\."),
    (_other_enforcement, r"It was made by policy revision 2; revision 3 is in force\."),
    (_nothing_seen_for_a_minute, r"The cluster was last seen 1 min ago\."),
    (_unreadable, r"The cluster cannot be read in full: squeue: no answer within 30 s"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=lambda each: getattr(each, "__name__", ""))
def test_an_out_of_date_plan_is_refused_with_what_changed(
    asking: Sim, change: Callable[[Sim], None], told: str
) -> None:
    plan = asking.plan()
    assert what_changed(plan) == []
    change(asking)

    with pytest.raises(OutOfDateError, match=told):
        say_yes(plan)

    plan.refresh_from_db()
    assert (plan.state, plan.decided_by) == ("proposed", "")
    assert not PlannedAction.objects.exists()


def test_a_plan_that_the_person_did_not_look_at_is_refused(asking: Sim) -> None:
    for decide in (say_yes, say_no):
        with pytest.raises(OutOfDateError, match="not the plan that you looked at"):
            decide(asking.plan(), seen="something else")


def test_a_request_that_costs_more_now_is_refused_with_the_difference(sim: Sim) -> None:
    low, other = _ann_then_bob(sim)
    plan = sim.plan()
    read = mark_of(plan)
    sim.policy(enforcement="approve", protected_jobs=["ann_job"])  # bob's ranks higher

    sim.cycle()

    with pytest.raises(OutOfDateError) as refused:
        say_yes(plan, seen=read)
    assert refused.value.costs_more
    assert str(refused.value).startswith(f"Plan {plan.pk} costs more now than what you have read.")
    assert refused.value.changes[0] == f"{other} (bob) is stopped instead of {low} (ann)."
    assert refused.value.changes[-1] == "Policy revision 4 is in force."
    assert say_yes(plan, seen=mark_of(plan)).state == "approved"


def _ann_then_bob(sim: Sim) -> tuple[str, str]:
    """A plan stops ann's job; from the next cycle on it would be bob's."""
    sim.policy(enforcement="approve")
    jobs = sim.running("ann", 4), sim.running("bob", 4)
    sim.submit("cy", 4)
    sim.cycle()
    assert [victim["job"] for victim in sim.plan().victims] == [jobs[0]]
    sim.policy(enforcement="approve", user_overrides={"ann": "P2", "bob": "P3", "cy": "P0"})
    return jobs


def test_a_plan_in_shadow_is_nobodys_to_approve(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycle()
    with pytest.raises(OutOfDateError, match="made in shadow"):
        say_yes(sim.plan())


def test_two_plans_never_stop_the_same_run(asking: Sim) -> None:
    plan = asking.plan()
    other = Plan.objects.get(pk=plan.pk)
    other.pk, other.job_id = None, "999"
    other.save()
    PlannedAction.objects.create(
        plan=other,
        cluster=plan.cluster,
        kind=ActionKind.REQUEUE_HOLD,
        order=3,
        job_id=plan.victims[0]["job"],
        run_start=plan.victims[0]["start"],
    )
    with pytest.raises(OutOfDateError, match=f"is being stopped by plan {other.pk}"):
        say_yes(plan)


# --- It expires when the facts change ------------------------------------------------------------------------


def test_a_proposal_expires_when_its_job_finds_room_by_itself(asking: Sim) -> None:
    plan = asking.plan()
    _victim_ends(asking)
    asking.cycles(2)
    with pytest.raises(OutOfDateError, match="out of date"):
        say_yes(plan)
    plan.refresh_from_db()
    assert (plan.state, plan.outcome) == ("expired", f"{plan.job_id} has started; nobody was stopped for it.")


def test_a_request_is_renewed_when_the_policy_changes(asking: Sim) -> None:
    plan = asking.plan()
    _other_policy(asking)
    asking.cycle()

    newer = asking.plan()
    assert (newer.pk, newer.state, newer.policy_revision, newer.version) == (plan.pk, "proposed", 3, 2)
    assert say_yes(newer, seen=mark_of(newer)).state == "approved"


def test_a_pause_leaves_the_requests_standing(asking: Sim) -> None:
    plan = asking.plan()
    _is_paused(asking)
    asking.cycle()
    plan.refresh_from_db()
    assert (plan.state, "ada paused all partitions: Maintenance" in plan.not_now) == ("proposed", True)
    assert "ada paused all partitions" in asking.row(plan.job_id).explain
    with pytest.raises(OutOfDateError, match=r"cannot be approved now.*Nobody may be stopped now"):
        say_yes(plan)

    resume(actor="ada", cluster=asking.cluster)
    asking.cycle()
    assert say_yes(asking.plan()).state == "approved"


# --- Approved, and then ... ----------------------------------------------------------------------------------


def test_an_approved_plan_does_not_begin_when_the_partition_is_paused(asking: Sim) -> None:
    plan = say_yes(asking.plan())
    _is_paused(asking)

    asking.cycles(3)

    plan.refresh_from_db()
    assert plan.state == "expired"
    assert "ada paused all partitions" in plan.outcome
    assert {action.state for action in plan.actions.all()} == {"expired"}
    assert asking.state(plan.victims[0]["job"]) is JobState.RUNNING


def test_an_approved_plan_does_not_begin_when_the_partition_goes_to_shadow(asking: Sim) -> None:
    plan = say_yes(asking.plan())
    _other_enforcement(asking)

    asking.cycles(3)

    plan.refresh_from_db()
    assert plan.state == "expired"
    assert asking.state(plan.victims[0]["job"]) is JobState.RUNNING


def test_an_approved_plan_does_not_begin_when_its_job_has_left(asking: Sim) -> None:
    plan = say_yes(asking.plan())
    asking.port.cancel(plan.job_id)

    asking.cycles(2)

    plan.refresh_from_db()
    assert (plan.state, plan.outcome) == ("expired", f"{plan.job_id} no longer waits.")
    assert asking.state(plan.victims[0]["job"]) is JobState.RUNNING


def test_a_plan_that_nobody_approved_is_taken_back_when_the_partition_starts_to_ask(sim: Sim) -> None:
    sim.policy(grace_s=30)
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycles(2)
    plan = sim.plan()
    assert plan.state == "executing"
    sim.policy(enforcement="approve", grace_s=30)

    sim.cycles(3)

    plan.refresh_from_db()
    assert plan.state == "undone"
    assert sim.state(low) is JobState.RUNNING


# --- No ------------------------------------------------------------------------------------------------------


def test_a_rejected_plan_is_not_proposed_again_for_a_while(asking: Sim) -> None:
    plan = say_no(asking.plan())
    assert (plan.state, plan.outcome) == ("rejected", "dave rejected it: Ann is nearly done.")

    asking.cycles(5)

    assert Plan.objects.count() == 1
    row = asking.row(plan.job_id)
    assert (row.reason, row.verdict) == ("plan_rejected", "queue")
    assert f"dave rejected plan {plan.pk}: Ann is nearly done. The same jobs are not asked for again" in (
        row.explain
    )

    asking.port.advance(int(HEEDED.total_seconds()))
    asking.cycle()
    assert Plan.objects.count() == 2
    assert asking.plan().awaits_decision


def test_after_a_no_other_victims_are_asked_for_at_once(sim: Sim) -> None:
    low, other = _ann_then_bob(sim)
    first = say_no(sim.plan())
    assert first.victims[0]["job"] == low

    sim.cycle()

    second = sim.plan()
    assert (second.state, [victim["job"] for victim in second.victims]) == ("proposed", [other])


def test_a_rejection_takes_no_regard_of_facts_that_changed(asking: Sim) -> None:
    _is_paused(asking)
    assert say_no(asking.plan()).state == "rejected"


# --- The alternatives ----------------------------------------------------------------------------------------


def test_the_plan_says_what_else_could_be_done(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    big = sim.running("ann", 6)
    sim.port.advance(100)
    small = sim.running("ann", 2)
    sim.submit("cy", 6)
    sim.cycle()

    plan = sim.plan()
    wait, order, spare = plan.alternatives
    assert [victim["job"] for victim in plan.victims] == [big]
    assert (wait["kind"], wait["victims"]) == ("wait", [])
    assert (order["kind"], order["order"], [v["job"] for v in order["victims"]]) == (
        "other_order",
        "least_lost_work",
        [big],
    )
    assert (spare["kind"], spare["possible"], spare["victims"]) == ("spare", False, [])
    assert small not in {victim["job"] for victim in plan.victims}


def test_an_alternative_names_its_victims_and_what_they_hold(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    first = sim.running("ann", 4)
    second = sim.running("ann", 4)
    sim.submit("cy", 4)
    sim.cycle()

    plan = sim.plan()
    spare = plan.alternatives[2]
    assert [victim["job"] for victim in plan.victims] == [second]
    assert (spare["possible"], [v["job"] for v in spare["victims"]]) == (True, [first])
    assert spare["victims"][0]["amounts"] == {"cpu": 4}
    assert spare["nodes"] == ["n1"]


def test_a_plan_in_shadow_has_no_alternatives(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycle()
    assert sim.plan().alternatives == []


def test_only_a_few_plans_get_theirs_in_one_cycle(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    for _ in range(8):
        sim.running("ann", 1)
    for _ in range(5):
        sim.submit("cy", 1)

    sim.cycle()
    assert sum(bool(plan.alternatives) for plan in Plan.objects.all()) == 3
    sim.cycle()
    assert [bool(plan.alternatives) for plan in Plan.objects.all()] == [True] * 5
