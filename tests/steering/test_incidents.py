"""A victim that did not come back opens an incident; two within an hour pause the partition until a person resumes."""

from datetime import timedelta

import pytest

from console.audit.models import AuditEntry
from console.core import clock
from console.partitions.models import Partition
from console.steering import pausing
from console.steering.models import Incident, Pause
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def lose(sim: Sim, partition: str = "q") -> str:
    """Have a plan stop a job that its signal ends and that cannot be put back; one P0 job each time."""
    low = sim.running("ann", 8, partition, on_signal=OnSignal.DIE)
    sim.submit("cy", 8, partition, run_time_s=20)
    sim.cycle()
    sim.port.advance(1)
    sim.port.state.killed.clear()
    sim.cycles(12)
    return low


@pytest.fixture
def lossy(sim: Sim) -> Sim:
    """Partition x of one node, whose jobs do not survive the signal."""
    sim.policy("x", grace_s=3, checkpoint_signal="USR1")
    return sim


def resume(sim: Sim) -> None:
    """dave lifts the pause."""
    assert pausing.resume(actor="dave", cluster=sim.cluster, partition=Partition.objects.get(name="x"))


def test_a_lost_job_opens_one_incident_and_an_audit_row(lossy: Sim) -> None:
    low = lose(lossy, "x")

    incident = Incident.objects.get()
    assert (incident.job_id, incident.partition, incident.kind) == (low, "x", "failed")
    assert incident.plan == lossy.plan().pk
    row = AuditEntry.objects.get(action="incident.opened")
    assert (row.job_id, row.plan, row.actor) == (low, incident.plan, "giveway")
    assert row.reason == incident.words
    assert not Pause.objects.exists()


def test_two_within_an_hour_pause_the_partition_and_nobody_is_stopped(lossy: Sim) -> None:
    first = lose(lossy, "x")
    lossy.cycles(20)
    second = lose(lossy, "x")

    pause = Pause.objects.get()
    assert (pause.partition, pause.by) == ("x", "giveway")
    assert pause.reason == f"2 stopped jobs did not come back within an hour: {first} and {second}"
    assert AuditEntry.objects.get(action="pause.set").actor == "giveway"
    lossy.cycles(15, every_s=2)
    low = lossy.running("ann", 8, "x", on_signal=OnSignal.DIE)
    lossy.submit("cy", 8, "x")
    lossy.cycles(10)
    assert lossy.state(low) is JobState.RUNNING


def test_after_a_resume_only_later_incidents_count(lossy: Sim) -> None:
    lose(lossy, "x")
    lossy.cycles(20)
    lose(lossy, "x")
    resume(lossy)
    lossy.cycles(20)

    lose(lossy, "x")
    assert not Pause.objects.exists(), "this is the first since"
    lossy.cycles(20)
    lose(lossy, "x")
    assert Pause.objects.count() == 1


def test_two_that_are_more_than_an_hour_apart_do_not_pause(
    lossy: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(lossy, "x")
    lossy.cycles(20)
    honest = clock.now
    monkeypatch.setattr(clock, "now", lambda: honest() + timedelta(minutes=61))

    lose(lossy, "x")

    assert Incident.objects.count() == 2
    assert not Pause.objects.exists()
