"""Lost answers, refusals, deaths, degraded looks: nobody is stopped twice, nobody stays held, nothing is lost."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction

from console.audit.models import AuditEntry
from console.core import clock
from console.steering import lease, ledger
from console.steering.cycle import run_cycle
from console.steering.models import CycleLease, Fate, Incident, Plan, PlannedAction, Victim
from scheduler.adapters.simulator import acting, lifecycle
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.jobs import OnSignal, SimJob
from scheduler.adapters.simulator.state import SimNodeState, SimState
from scheduler.model.actions import REQUEUED, Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def test_a_lost_answer_does_not_stop_a_job_twice(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.port.faults.actions.append(
        ActionFault(FaultEffect.LOSE_ANSWER, kind=ActionKind.REQUEUE_HOLD, times=1)
    )

    sim.cycles(6)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    assert sim.plan().state == "verified"


def test_a_lost_request_is_sent_again(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.port.faults.actions.append(
        ActionFault(FaultEffect.LOSE_REQUEST, kind=ActionKind.REQUEUE_HOLD, times=1)
    )

    sim.cycles(20)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].attempts == 2


def test_a_refused_stop_undoes_the_plan_and_that_run_is_left_alone(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 4)
    stubborn = sim.running("ann", 4)
    urgent = sim.submit("cy", 8)
    sim.port.faults.actions.append(
        ActionFault(FaultEffect.REFUSE, words="no", kind=ActionKind.REQUEUE_HOLD, job=stubborn)
    )

    sim.cycles(6)

    plan = sim.plan()
    assert plan.state == "undone"
    assert "refused" in plan.outcome
    assert sim.state(urgent) is JobState.PENDING
    assert sim.row(stubborn).protected == "Slurm refused to stop it"
    assert not any(job.held for job in sim.port.observe().jobs)
    assert sim.port.job(urgent).priority < 4_000_000_000


def test_a_refused_release_is_tried_again_until_the_victim_is_free(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=5)
    sim.port.faults.actions.append(
        ActionFault(FaultEffect.REFUSE, words="no", kind=ActionKind.RELEASE, times=2)
    )

    sim.cycles(20)
    assert sim.row(low).held
    assert sim.plan().state == "executing"

    sim.cycles(15, every_s=2)
    assert sim.state(low) is JobState.RUNNING
    assert sim.plan().state == "verified"


def test_after_an_undone_plan_there_is_no_second_one_at_once(sim: Sim) -> None:
    sim.policy(start_deadline_s=10)
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.port.hold_by_user(urgent)
    sim.cycles(20)
    assert [plan.state for plan in Plan.objects.all()] == ["undone"]
    sim.port.release_by_user(urgent)

    sim.cycles(20)

    assert Plan.objects.count() == 1
    assert "not tried again" in sim.row(urgent).explain


def test_a_beneficiary_that_does_not_start_by_the_deadline_has_its_plan_undone(sim: Sim) -> None:
    sim.policy(start_deadline_s=10)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.port.set_partition_state("x", "DOWN")

    sim.cycles(20)
    assert "deadline" in sim.plan().undo_reason
    sim.port.set_partition_state("x", "UP")
    sim.cycles(3)

    assert (sim.state(low), sim.state(urgent)) == (JobState.RUNNING, JobState.PENDING)
    assert sim.plan().state == "undone"


def test_a_cancelled_beneficiary_ends_the_plan_before_its_victims_are_stopped(sim: Sim) -> None:
    sim.policy(grace_s=10)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycles(2)
    sim.port.cancel(urgent)

    sim.cycles(15)

    assert sim.plan().state == "undone"
    assert sim.port.job(low).restarts == 0


def test_a_victim_that_ends_by_itself_in_its_grace_time_needs_no_stop(sim: Sim) -> None:
    sim.policy(grace_s=10)
    low = sim.running("ann", 8, run_time_s=7)
    urgent = sim.submit("cy", 6)

    sim.cycles(15)

    assert sim.state(low) is None
    assert sim.state(urgent) is JobState.RUNNING
    assert sim.plan().state == "verified"
    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].state in {"expired", "verified"}


def test_a_victim_that_its_checkpoint_signal_kills_goes_back_into_the_queue(sim: Sim) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    urgent = sim.submit("cy", 6, run_time_s=20)

    sim.cycles(12)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    assert sim.plan().state == "verified"
    sim.port.advance(30)
    assert sim.state(low) is JobState.RUNNING


def test_a_victim_killed_by_its_signal_comes_back_although_the_plan_is_undone(sim: Sim) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.port.cancel(urgent)

    sim.cycles(12)

    assert sim.plan().state == "undone"
    assert sim.state(low) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1


def test_a_node_that_drains_in_the_grace_time_saves_the_victim(sim: Sim) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycles(2)
    sim.port.set_node_state("n1", SimNodeState.DRAIN, "fan")

    sim.cycles(8)

    assert sim.state(low) is JobState.RUNNING
    assert sim.port.job(low).restarts == 0
    assert "n1" in sim.plan().outcome


def test_leaving_enforce_in_the_grace_time_saves_the_victim(sim: Sim) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycles(2)
    sim.policy(enforcement="shadow")

    sim.cycles(8)

    assert sim.port.job(low).restarts == 0
    assert Plan.objects.order_by("id")[0].state == "undone"


@pytest.mark.parametrize("partial", [True, False])
def test_while_the_cluster_cannot_be_observed_nobody_is_stopped_and_it_is_said(
    sim: Sim, partial: bool
) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.cycle()
    sim.submit("cy", 6)
    if partial:
        sim.port.faults.answer_partially("half a table", jobs=[low])
    else:
        sim.port.faults.break_down()

    reports = [sim.cycle() for _ in range(3)]

    sim.cluster.refresh_from_db()
    assert all(report.fault for report in reports)
    assert sim.cluster.fault == reports[0].fault
    assert sim.row(low).phase == "running"
    assert not PlannedAction.objects.exists()
    assert AuditEntry.objects.filter(action="cluster.degraded").count() == 1


def test_when_the_cluster_is_seen_again_the_work_goes_on(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.port.faults.break_down()
    sim.cycle()
    sim.port.faults.unavailable = ""

    sim.cycles(4)

    sim.cluster.refresh_from_db()
    assert sim.cluster.fault == ""
    assert sim.state(urgent) is JobState.RUNNING
    assert AuditEntry.objects.filter(action="cluster.recovered").count() == 1


def test_a_process_that_dies_between_claim_and_stop_is_made_good(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    honest = type(sim.port).apply

    def dies(port: SimulatedCluster, actions: Sequence[Action], *rest: Any) -> Sequence[ActionOutcome]:
        if any(action.kind is ActionKind.REQUEUE_HOLD for action in actions):
            raise KeyboardInterrupt
        return honest(port, actions, *rest)

    monkeypatch.setattr(type(sim.port), "apply", dies)
    with pytest.raises(KeyboardInterrupt):
        sim.cycle()
    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].state == "executing"
    monkeypatch.setattr(type(sim.port), "apply", honest)

    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1


def test_a_process_that_dies_between_stop_and_note_is_made_good(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    honest = ledger._settle

    def dies(outcomes: Sequence[tuple[PlannedAction, ActionOutcome]]) -> None:
        if any(action.kind == ActionKind.REQUEUE_HOLD for action, _ in outcomes):
            raise KeyboardInterrupt
        honest(outcomes)

    monkeypatch.setattr(ledger, "_settle", dies)
    with pytest.raises(KeyboardInterrupt):
        sim.cycle()
    monkeypatch.setattr(ledger, "_settle", honest)
    sim.port.advance(1)

    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    assert sim.plan().state == "verified"


def test_one_cycle_at_a_time(sim: Sim) -> None:
    held = lease.take(sim.cluster)
    assert held is not None

    assert run_cycle(sim.cluster) is None

    held.release()
    assert run_cycle(sim.cluster) is not None


def test_a_lease_of_a_process_that_is_gone_is_taken_over(sim: Sim) -> None:
    first = lease.take(sim.cluster)
    assert first is not None
    row = CycleLease.objects.get()
    host, _, rest = row.holder.split(":")
    gone = f"{host}:{2**22 + 1}:{rest}"  # above Linux's largest pid
    CycleLease.objects.update(holder=gone)

    second = lease.take(sim.cluster)

    assert second is not None
    with pytest.raises(lease.LeaseLostError), transaction.atomic():
        first.renew()
    first.release()  # harmless: it is not ours any more
    assert CycleLease.objects.get(expires_at__gt=clock.now()).epoch == second.epoch


def test_a_run_whose_stop_was_seen_to_work_by_mistake_is_left_alone_and_the_cycle_goes_on(sim: Sim) -> None:
    """Slurm's answer was garbled. Every later cycle failed: a run is stopped once, the database says."""
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=5)
    sim.cycles(15, every_s=2)
    assert sim.state(low) is JobState.RUNNING
    now = sim.port.job(low).run
    PlannedAction.objects.filter(job_id=low, kind=ActionKind.REQUEUE_HOLD, state="verified").update(
        run_start=now.start, run_restarts=now.restarts
    )
    sim.submit("cy", 6)

    sim.cycles(5)

    assert sim.port.job(low).run == now
    assert Plan.objects.count() == 1


def test_a_stop_that_finds_its_victim_ending_at_the_signal_does_not_lose_it(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm tells of a job whose last processes are still ending that it is stopping already."""
    told = acting._stopping

    def as_slurm(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
        ending = job.state is JobState.COMPLETING and job.run == action.run
        return ActionOutcome(OutcomeKind.ALREADY) if ending else told(state, job, action)

    monkeypatch.setattr(acting, "_stopping", as_slurm)
    sim.policy(grace_s=3)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE, completing_s=10)
    urgent = sim.submit("cy", 8, run_time_s=5)
    sim.cycles(15, every_s=2)
    assert sim.state(urgent) is None
    assert sim.port.job(low).restarts == 1
    assert [stop.outcome for stop in sim.actions(ActionKind.REQUEUE_HOLD)] == ["already"]
    assert sim.state(low) is JobState.RUNNING


@pytest.mark.parametrize("ok", [False, True])
def test_a_victim_whose_requeue_slurmctld_forgets_as_it_dies_is_put_back(
    sim: Sim, monkeypatch: pytest.MonkeyPatch, ok: bool
) -> None:
    """Seen on real ones: killed right after it had answered, it comes back without the requeue, hears of the node that
    the script was ended by a signal, or well, and counts the job as over."""
    told = acting._stopping
    died: list[str] = []

    def as_slurm(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
        if action.kind is not ActionKind.REQUEUE_HOLD or job.id in died:
            return told(state, job, action)
        died.append(job.id)
        lifecycle.end(state, job, ok=ok)
        job.killed = True
        return ActionOutcome(OutcomeKind.DONE)

    monkeypatch.setattr(acting, "_stopping", as_slurm)
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8, run_time_s=20)

    sim.cycles(10)

    assert (sim.state(urgent), sim.plan().state) == (JobState.RUNNING, "verified")
    assert sim.plan().outcome == f"{urgent} started. {low} went back to the queue."
    assert [action.value for action in sim.actions(ActionKind.RECOVER)] == [REQUEUED]
    assert not Incident.objects.exists()
    sim.cycles(20)
    assert (sim.state(low), sim.port.job(low).restarts) == (JobState.RUNNING, 1)


def test_a_stopped_victim_that_its_user_cancels_is_not_put_back(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 8, run_time_s=20)
    sim.cycle()
    sim.port.advance(5)
    sim.port.cancel(low)

    sim.cycles(5)

    assert (sim.state(low), sim.actions(ActionKind.RECOVER)) == (None, [])
    assert Victim.objects.get().fate == Fate.ENDED
