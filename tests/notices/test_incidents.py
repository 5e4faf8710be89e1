"""A job that did not come back is told to its user and to who looks after the partition; so is a pause of our own."""

from console.notices.collecting import collect
from console.notices.models import Notice
from console.partitions.models import Partition
from console.steering import pausing
from console.steering.models import Incident, Pause
from scheduler.adapters.simulator.jobs import OnSignal
from tests import factories
from tests.steering.conftest import Sim


def told(kind: str) -> list[Notice]:
    return list(Notice.objects.filter(kind=kind))


def lose(sim: Sim) -> str:
    sim.policy(grace_s=3, checkpoint_signal="USR1")
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    sim.submit("cy", 6, run_time_s=300)
    sim.cycle()
    sim.port.advance(1)
    sim.port.state.killed.clear()
    sim.cycles(12)
    return low


def test_the_victims_user_and_the_administrators_are_told_once(sim: Sim) -> None:
    factories.make_administrator()
    low = lose(sim)
    collect()
    collect()

    (lost,), (incident,) = told("lost"), told("incident")
    assert (lost.user, lost.job_id) == ("ann", low)
    assert "did not come back after it was stopped for 2 in partition x" in lost.text
    assert "It ended (FAILED, signal 10) and was not put back into the queue." in lost.text
    assert "Submit it again." in lost.text
    assert incident.user == "ada"
    assert f"close incident {Incident.objects.get().pk}" in incident.text


def test_the_administrators_of_the_partition_are_told_before_those_of_the_console(sim: Sim) -> None:
    factories.make_administrator()
    sim.policy()
    factories.make_partition_admin(Partition.objects.get(name="x"), "dave")
    lose(sim)
    collect()

    assert [notice.user for notice in told("incident")] == ["dave"]


def test_a_pause_of_our_own_is_told_and_a_persons_is_not(sim: Sim) -> None:
    factories.make_administrator()
    sim.policy()
    partition = Partition.objects.get(name="x")
    pausing.pause(actor="ada", cluster=sim.cluster, partition=partition, reason="Maintenance")
    collect()
    assert told("paused") == []
    Pause.objects.all().delete()

    why = "2 stopped jobs did not come back within an hour: 12 and 13"
    pausing.pause(actor="giveway", cluster=sim.cluster, partition=partition, reason=why)
    collect()
    collect()
    (notice,) = told("paused")
    assert notice.user == "ada"
    assert "paused partition x by itself at 2023-11-14" in notice.text and why in notice.text
