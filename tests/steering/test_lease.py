"""The lease: whoever lost it, or stood still too long, does nothing to the cluster any more."""

import os
import time
from datetime import timedelta

import pytest
from django.db.models import F

from console.core import clock, failpoints
from console.steering.actions import lease
from console.steering.cycle import run_cycle
from console.steering.models import Cycle, CycleLease
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def rival(sim: Sim) -> None:
    """The lease runs out and somebody else takes it."""
    CycleLease.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
    assert lease.take(sim.cluster)


def at(monkeypatch: pytest.MonkeyPatch, point: str, do: object) -> None:
    monkeypatch.setattr(failpoints, "at_point", lambda name: do() if name == point else None)  # type: ignore[operator]


@pytest.mark.parametrize("point", ["act.requeue_hold.due", "act.requeue_hold.claimed"])
def test_nobody_is_stopped_by_a_process_that_lost_its_lease(
    sim: Sim, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    at(monkeypatch, point, lambda: rival(sim))

    assert run_cycle(sim.cluster) is None

    assert (sim.state(low), sim.port.job(low).restarts) == (JobState.RUNNING, 0)


def test_nobody_is_stopped_by_a_process_that_stood_still(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody has taken its lease yet; the next cycle looks again, and then does it."""
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    honest = time.monotonic
    asleep = [lambda: monkeypatch.setattr(time, "monotonic", lambda: honest() + 3600)]
    at(monkeypatch, "act.requeue_hold.claimed", lambda: asleep.pop()() if asleep else None)

    assert run_cycle(sim.cluster) is None
    assert sim.port.job(low).restarts == 0
    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].state == "executing"
    sim.cycles(5)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1


def test_a_cycle_that_could_not_give_its_lease_back_does_not_lock_its_own_process_out(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            lease.Lease, "_row", lambda self: (_ for _ in ()).throw(ConnectionError("database away"))
        )
        held = lease.take(sim.cluster)
        assert held
        with pytest.raises(ConnectionError):
            held.release()
    assert CycleLease.objects.get().holder

    assert lease.take(sim.cluster)


def test_another_process_with_the_number_of_a_dead_one_is_not_its_lease_holder(sim: Sim) -> None:
    held = lease.take(sim.cluster)
    assert held
    host, pid, _ = held.holder.split(":")
    assert not lease._is_dead(f"{host}:{os.getppid()}:{lease._born(os.getppid())}.x")
    assert lease._is_dead(f"{host}:{os.getppid()}:1.x")
    assert lease._is_dead(f"{host}:{pid}:{lease._born(int(pid))}.of-a-cycle-given-up")
    assert not lease._is_dead(held.holder)
    assert not lease._is_dead(f"elsewhere:{pid}:1.x")


def test_a_dead_child_that_nobody_has_buried_holds_no_lease(sim: Sim) -> None:
    pid = os.fork()
    if not pid:
        os._exit(0)
    until = time.monotonic() + 60
    while lease._born(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert lease._born(pid) == ""
    os.waitpid(pid, 0)


def test_a_cycle_that_died_is_closed_when_the_next_one_is_kept(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    Cycle.objects.create(cluster=sim.cluster, number=10**6, started_at=clock.now())
    sim.submit("cy", 6)

    sim.cycle()

    assert {cycle.number: cycle.outcome for cycle in Cycle.objects.all()}[10**6] == "failed"
    assert not Cycle.objects.filter(outcome="running").exists()
