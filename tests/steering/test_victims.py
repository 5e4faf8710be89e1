"""Every victim of a plan is accounted for before the plan is over, and its end says what became of each."""

from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.steering.models import Fate, Incident, Plan, Victim
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim

SIGNAL: dict[str, Any] = {"grace_s": 5, "checkpoint_signal": "USR1"}


def fate(job: str) -> Victim:
    """What is known of the job's last victim row."""
    row = Victim.objects.filter(job_id=job).order_by("-id").first()
    assert row is not None
    return row


def killed_and_forgotten(sim: Sim, **policy: Any) -> tuple[str, str]:
    """A victim that the checkpoint signal ends, and that slurmctld has forgotten when it is to be put back."""
    sim.policy(**SIGNAL, **policy)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    urgent = sim.submit("cy", 6, run_time_s=300)
    sim.cycle()
    sim.port.advance(1)
    sim.port.state.killed.clear()
    return low, urgent


def test_a_plan_read_verified_and_its_release_never_stopped_while_the_job_was_lost(sim: Sim) -> None:
    """Seen on 24.11.5: the signal ended the job, it was not put back, and nobody was told."""
    low, urgent = killed_and_forgotten(sim)
    sim.cycles(20)

    plan = sim.plan()
    assert (plan.state, plan.outcome) == ("verified", f"{urgent} started. {low} was lost.")
    assert fate(low).fate == Fate.LOST
    assert fate(low).words == "It ended (FAILED, signal 10) and was not put back into the queue."
    releases = {release.detail for release in sim.actions(ActionKind.RELEASE)}
    assert releases == {"It ended in its grace time and was not put back into the queue."}
    row = AuditEntry.objects.get(action="plan.verified")
    assert row.after is not None and row.after["victims"] == {low: "lost"}
    assert f"{low} was lost" in row.reason
    assert Incident.objects.get().job_id == low


def test_a_victim_that_waits_and_one_that_came_back_are_told_apart(sim: Sim) -> None:
    sim.policy(partition="q")
    lows = [sim.running("ann", 4, "q") for _ in range(4)]
    urgent = sim.submit("cy", 6, "q", run_time_s=3)
    sim.cycles(12)

    plan = sim.plan()
    assert plan.state == "verified"
    told = {row.job_id: row.fate for row in Victim.objects.filter(plan=plan)}
    assert set(told.values()) <= {Fate.WAITING, Fate.RETURNED}
    assert told.keys() <= set(lows)
    assert plan.outcome.startswith(f"{urgent} started. ")


def test_the_end_of_a_plan_names_every_fate(sim: Sim) -> None:
    sim.policy()
    stopped = [sim.running("ann", 2) for _ in range(3)]
    urgent = sim.submit("cy", 8, run_time_s=600)
    sim.cycle()
    sim.port.cancel(stopped[0])
    sim.cycles(8)

    plan = sim.plan()
    assert plan.state == "verified"
    waiting = " and ".join(stopped[1:])
    assert (
        plan.outcome
        == f"{urgent} started. {waiting} went back to the queue. {stopped[0]} was ended by its owner."
    )
    assert fate(stopped[0]).words == "It was cancelled by ann."
    assert not Incident.objects.exists()


def test_a_job_that_completes_in_its_grace_time_was_ended_by_its_owner(sim: Sim) -> None:
    sim.policy(**SIGNAL)
    low = sim.running("ann", 8, run_time_s=6)
    sim.submit("cy", 6, run_time_s=300)
    sim.cycles(15)

    assert (fate(low).fate, fate(low).words) == (Fate.ENDED, "It completed.")
    assert sim.plan().state == "verified"
    assert not Incident.objects.exists()


def test_a_job_that_was_only_signalled_was_not_stopped(sim: Sim) -> None:
    sim.policy(**SIGNAL)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.port.cancel(urgent)
    sim.cycles(8)

    plan = sim.plan()
    assert (plan.state, sim.state(low)) == ("undone", JobState.RUNNING)
    assert plan.outcome.endswith(f" {low} was not stopped.")


def test_a_job_that_the_plan_cancels_is_told_as_cancelled(sim: Sim) -> None:
    sim.policy(cancel_if_not_requeueable=True)
    low = sim.running("ann", 8, requeue=False)
    sim.submit("cy", 6, run_time_s=300)
    sim.cycles(8)

    assert fate(low).fate == Fate.CANCELLED
    assert sim.plan().outcome.endswith(f"{low} was cancelled.")
    assert not Incident.objects.exists()


def test_what_became_of_a_victim_is_not_decided_while_slurm_does_not_answer(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scheduler.ports import ClusterUnavailableError

    def silent(jobs: object) -> object:
        raise ClusterUnavailableError("squeue did not answer within 20 s")

    low, _ = killed_and_forgotten(sim)
    monkeypatch.setattr(sim.port, "ended", silent)
    sim.cycles(20)
    assert (sim.plan().state, fate(low).fate) == ("executing", Fate.OPEN)

    monkeypatch.undo()


def test_a_recovery_that_is_lost_on_its_way_is_tried_again_before_slurm_forgets_the_job(sim: Sim) -> None:
    """Seen on a noisy line to 26.05: the sixth try came after more than five minutes, and the job was gone by then."""
    sim.policy(**SIGNAL)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    sim.port.faults.add(ActionFault(FaultEffect.LOSE_REQUEST, kind=ActionKind.RECOVER, times=6))
    sim.submit("cy", 6, run_time_s=300)

    sim.cycles(20, every_s=3)
    assert fate(low).fate == Fate.WAITING
    assert not Incident.objects.exists()


def test_a_recovery_of_which_nobody_knows_is_lost_after_a_minute_of_tries_and_found_again(sim: Sim) -> None:
    sim.policy(**SIGNAL)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    sim.port.faults.add(ActionFault(FaultEffect.LOSE_REQUEST, kind=ActionKind.RECOVER, times=18))
    sim.submit("cy", 6, run_time_s=300)

    sim.cycles(30, every_s=3)
    assert fate(low).fate == Fate.LOST
    assert Incident.objects.get().closed_at is None
    assert sim.plan().state == "executing", "it is tried on"
    sim.cycles(20, every_s=3)

    assert fate(low).fate == Fate.WAITING
    assert sim.plan().outcome.endswith(f"{low} went back to the queue.")
    incident = Incident.objects.get()
    assert (incident.closed_by, incident.close_reason) == ("giveway", "The job was seen again.")


def test_a_run_that_fails_within_a_minute_of_its_return_is_lost(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8, requeue=True)
    sim.submit("cy", 6, run_time_s=5)
    sim.cycles(10)
    assert fate(low).fate == Fate.RETURNED
    sim.port.job(low).spec = _failing(sim, low)
    sim.port.job(low).ends_at = sim.port.now + 5
    sim.cycles(12)

    assert (fate(low).fate, fate(low).words) == (
        Fate.LOST,
        "It came back and ended within a minute (FAILED, exit code 1).",
    )
    assert Incident.objects.get().kind == "at_once"


def _failing(sim: Sim, job: str) -> Any:
    from dataclasses import replace

    return replace(sim.port.job(job).spec, fails=True)


def test_a_run_that_completes_or_is_cancelled_within_a_minute_is_no_incident(sim: Sim) -> None:
    sim.policy()
    lows = [sim.running("ann", 4), sim.running("ann", 4)]
    sim.submit("cy", 8, run_time_s=5)
    sim.cycles(12)
    assert {fate(low).fate for low in lows} == {Fate.RETURNED}
    sim.port.job(lows[0]).ends_at = sim.port.now + 2
    sim.port.cancel(lows[1])
    sim.cycles(8)

    assert {fate(low).fate for low in lows} == {Fate.RETURNED}
    assert all(fate(low).settled_at for low in lows)
    assert not Incident.objects.exists()


def test_after_a_minute_a_returned_job_is_not_followed_any_more(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=5)
    sim.cycles(25, every_s=3)

    assert fate(low).settled_at is not None
    sim.port.job(low).spec = _failing(sim, low)
    sim.port.job(low).ends_at = sim.port.now + 2
    sim.cycles(6)
    assert fate(low).fate == Fate.RETURNED
    assert not Incident.objects.exists()


def test_a_node_that_breaks_down_under_a_returned_job_is_no_incident_when_slurm_requeues_it(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=5)
    sim.cycles(10)
    sim.port.set_node_state("n1", SimNodeState.DOWN, "fan")
    sim.cycles(5)

    assert fate(low).fate == Fate.WAITING
    assert not Incident.objects.exists()


@pytest.mark.parametrize(
    "reason",
    [
        "launch failed requeued held",
        "launch_failure_limit_exceeded_requeued_held",
        "user env retrieval failed requeued held",
        "BadConstraints",
        "JobHoldMaxRequeue",
        "License request for job is no longer valid",
    ],
)
def test_a_job_that_slurm_cannot_start_again_and_holds_is_an_incident(sim: Sim, reason: str) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=300)
    sim.cycles(6)
    assert fate(low).fate == Fate.WAITING
    sim.port.hold_by_user(low)
    sim.port.job(low).reason = reason
    sim.cycle()

    assert fate(low).words == f"Slurm could not start it again, and holds it ({reason})."
    assert Incident.objects.get().kind == "launch"
    assert Plan.objects.get().state == "verified"


def test_a_release_that_the_site_refuses_is_an_incident_until_it_is_allowed(sim: Sim) -> None:
    """A site's `slurm_job_modify` sees releases, too, and may refuse them, in its own words."""
    sim.policy()
    low = sim.running("ann", 8)
    refused = ActionFault(
        FaultEffect.REFUSE, kind=ActionKind.RELEASE, words="changes are closed today", times=4
    )
    sim.port.faults.actions.append(refused)
    sim.submit("cy", 6, run_time_s=300)

    sim.cycles(60)

    assert fate(low).fate == Fate.LOST
    assert fate(low).words == "It is held: Slurm does not let it go (changes are closed today)."
    (incident,) = Incident.objects.all()
    assert incident.closed_at is None
    sim.cycles(120)

    assert fate(low).fate == Fate.WAITING
    incident.refresh_from_db()
    assert incident.closed_at
    assert sim.plan().state == "verified"
