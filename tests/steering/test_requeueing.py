"""Jobs that are not requeued: who was requeueable before is made so again, and the others are shown, or cancelled."""

from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.core import failpoints
from console.steering.models import NotRequeued
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.model.actions import FIRST_ALLOW, ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim

PENDING, RUNNING = JobState.PENDING, JobState.RUNNING


def changed(sim: Sim, cpus: int = 8, user: str = "ann", **policy: Any) -> str:
    """A job that a cycle has seen requeueable, and that its user has changed since."""
    sim.policy(**policy)
    job = sim.running(user, cpus)
    sim.cycle()
    sim.port.set_requeue(job, requeue=False)
    return job


def told(what: str) -> int:
    return AuditEntry.objects.filter(action=what).count()


def test_the_urgent_job_gets_its_room_from_who_made_himself_immune(sim: Sim) -> None:
    low = changed(sim)
    urgent = sim.submit("cy", 6, run_time_s=300)
    sim.cycles(6)
    assert (sim.state(urgent), sim.state(low)) == (RUNNING, PENDING)
    assert [stop.value for stop in sim.actions(ActionKind.REQUEUE_HOLD)] == [FIRST_ALLOW]
    assert AuditEntry.objects.filter(action="requeue.allowed", job_id=low).exists()


def test_it_is_made_requeueable_at_once_and_each_step_is_told_once(sim: Sim) -> None:
    low = changed(sim)
    sim.cycle()
    assert sim.port.job(low).spec.requeue
    sim.cycles(4)
    assert (told("requeue.lost"), told("requeue.allowed"), told("requeue.seen")) == (1, 1, 1)
    row = NotRequeued.objects.get(job_id=low)
    assert (row.attempts, row.outcome, row.restored_at is not None) == (1, "done", True)
    assert sim.port.job(low).admin_comment.startswith("giveway: this job was submitted requeueable")


def test_a_waiting_job_too(sim: Sim) -> None:
    sim.policy()
    sim.running("bob", 8)
    waiting = sim.submit("ann", 8)
    sim.cycle()
    sim.port.set_requeue(waiting, requeue=False)
    sim.cycle()
    assert sim.port.job(waiting).spec.requeue


@pytest.mark.parametrize(
    "policy",
    [
        {"enforcement": "shadow"},
        {"enforcement": "approve"},
        {"not_requeueable": "leave"},
        {"not_requeueable": "cancel"},
        {"no_requeue_users": ["an*"]},
        {"protected_users": ["ann"]},
    ],
    ids=str,
)
def test_nothing_is_touched_where_the_policy_does_not_want_it(sim: Sim, policy: dict[str, Any]) -> None:
    low = changed(sim, **policy)
    sim.cycles(3)
    assert not sim.port.job(low).spec.requeue
    assert told("requeue.allowed") == 0


def test_whoever_takes_turns_with_us_waits_longer_each_time_but_is_stopped_when_it_counts(sim: Sim) -> None:
    low = changed(sim)
    for _ in range(60):
        sim.cycle()
        sim.port.set_requeue(low, requeue=False)
        sim.port.advance(1)
    assert told("requeue.allowed") < 10
    urgent = sim.submit("cy", 6, run_time_s=300)
    for _ in range(6):
        sim.cycle()
        if sim.state(low) is RUNNING:
            sim.port.set_requeue(low, requeue=False)
        sim.port.advance(1)
    assert (sim.state(urgent), sim.state(low)) == (RUNNING, PENDING)


def test_a_change_between_the_plan_and_the_stop_gains_nothing(sim: Sim) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6, run_time_s=300)
    sim.cycle()
    sim.port.advance(6)

    def once_more(name: str) -> None:
        if name == "act.requeue_hold.claimed":
            sim.port.set_requeue(low, requeue=False)

    failpoints.at_point = once_more
    try:
        sim.cycles(5)
    finally:
        failpoints.at_point = None
    assert (sim.state(urgent), sim.state(low)) == (RUNNING, PENDING)


def test_a_stop_that_was_refused_for_that_is_tried_again_later(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    refusal = "Requested operation is presently disabled"
    sim.port.faults.add(ActionFault(FaultEffect.REFUSE, refusal, ActionKind.REQUEUE_HOLD, times=1))
    urgent = sim.submit("cy", 6, run_time_s=300)
    sim.cycles(5)
    assert (sim.state(urgent), sim.state(low)) == (PENDING, RUNNING)
    sim.port.advance(130)
    sim.cycles(5)
    assert (sim.state(urgent), sim.state(low)) == (RUNNING, PENDING)


def test_a_refusal_is_told_and_tried_again_more_and_more_seldom(sim: Sim) -> None:
    low = changed(sim)
    sim.port.faults.add(
        ActionFault(FaultEffect.REFUSE, "Access/permission denied", ActionKind.ALLOW_REQUEUE, times=3)
    )
    sim.cycles(20)
    assert told("requeue.refused") == 3
    assert sim.port.job(low).spec.requeue


def test_what_was_submitted_so_is_left_alone_and_shown_with_since_when(sim: Sim) -> None:
    sim.policy()
    stubborn = sim.running("ann", 4, requeue=False)
    interactive = sim.running("ann", 2, batch=False)
    plain = sim.running("ann", 2)
    sim.cycle()
    since = sim.port.now
    sim.cycles(3)
    shown = {job: (sim.row(job).immune, sim.row(job).immune_since) for job in (stubborn, interactive, plain)}
    assert shown == {stubborn: ("no_requeue", since), interactive: ("interactive", since), plain: ("", None)}
    assert not sim.port.job(stubborn).spec.requeue
    assert told("requeue.lost") == 0


def test_a_job_that_a_rule_protects_is_not_counted_as_immune(sim: Sim) -> None:
    sim.policy(protected_users=["ann"])
    stubborn = sim.running("ann", 4, requeue=False)
    sim.cycle()
    row = sim.row(stubborn)
    assert (row.immune, row.protected) == ("", "the partition protects the user ann")


def test_who_was_left_immune_and_is_named_no_more_is_made_requeueable(sim: Sim) -> None:
    low = changed(sim, no_requeue_users=["ann"])
    sim.cycle()
    assert sim.row(low).immune == "changed"
    sim.policy()
    sim.cycle()
    assert sim.port.job(low).spec.requeue


def test_cancelled_only_when_its_notice_is_over(sim: Sim) -> None:
    sim.policy(not_requeueable="cancel", cancel_notice_s=60)
    stubborn = sim.running("ann", 8, requeue=False)
    sim.cycle()
    urgent = sim.submit("cy", 6, run_time_s=300)
    sim.cycles(5)
    assert (sim.state(stubborn), sim.state(urgent)) == (RUNNING, PENDING)
    assert "may be cancelled 1 min after it was first seen so" in sim.row(stubborn).protected
    sim.port.advance(60)
    sim.cycles(4)
    assert (sim.state(stubborn), sim.state(urgent)) == (None, RUNNING)


def test_what_is_remembered_outlives_half_a_table_and_is_forgotten_in_the_end(sim: Sim) -> None:
    low = changed(sim, no_requeue_users=["ann"])
    sim.cycle()
    since = sim.row(low).immune_since
    sim.port.faults.hidden_jobs = frozenset({low})
    sim.cycles(3)
    sim.port.faults.hidden_jobs = frozenset()
    sim.cycle()
    assert (sim.row(low).immune, sim.row(low).immune_since) == ("changed", since)
    sim.port.cancel(low)
    sim.cycles(3)
    sim.port.advance(3700)
    sim.cycle()
    assert not NotRequeued.objects.exists()


def test_a_number_that_comes_again_is_another_job(sim: Sim) -> None:
    sim.policy()
    old = sim.running("ann", 8, run_time_s=3)
    sim.cycle()
    sim.port.advance(10)
    sim.cycle()
    sim.port.state.next_id = int(old)
    again = sim.running("bob", 8, requeue=False)
    assert again == old
    sim.cycles(2)
    assert (sim.row(again).immune, sim.port.job(again).spec.requeue) == ("no_requeue", False)


def test_who_made_his_job_requeueable_himself_cannot_take_that_back(sim: Sim) -> None:
    sim.policy()
    job = sim.running("ann", 8, requeue=False)
    sim.cycle()
    sim.port.set_requeue(job, requeue=True)
    sim.cycle()
    assert not NotRequeued.objects.exists()
    sim.port.set_requeue(job, requeue=False)
    sim.cycle()
    assert sim.port.job(job).spec.requeue
    assert told("requeue.lost") == 1


def test_hundreds_of_jobs_that_are_not_requeued_cost_no_query_each(
    sim: Sim, django_assert_max_num_queries: Any
) -> None:
    sim.policy()
    sim.submit("ann", 1, requeue=False)
    sim.cycle()
    sim.port.advance(2)
    with django_assert_max_num_queries(200) as few:
        sim.cycle()
    for _ in range(300):
        sim.submit("ann", 1, requeue=False, array_tasks=0)
    for node in sim.port.state.nodes.values():
        node.total = {**node.total, "cpu": 400}
    sim.port.advance(2)
    with django_assert_max_num_queries(len(few) + 30):
        sim.cycle()
    assert NotRequeued.objects.count() > 200
    with django_assert_max_num_queries(len(few) + 30):
        sim.cycle()
