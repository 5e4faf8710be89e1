"""The lease: whoever lost it, or stood still too long, does nothing to the cluster any more."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError
from django.db.models import F
from structlog.testing import capture_logs

from console.cluster.connect import configured_cluster
from console.core import clock, failpoints
from console.steering import lease
from console.steering.cycle import run_cycle
from console.steering.models import Cycle, CycleLease
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def rival(sim: Sim) -> None:
    """The lease runs out and somebody else takes it."""
    CycleLease.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
    assert lease.take(sim.cluster)


def expiry() -> datetime:
    at = CycleLease.objects.get().expires_at
    assert at
    return at


def until(done: Callable[[], object]) -> None:
    """Wait for another thread."""
    end = time.monotonic() + 300
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    assert done()


@contextmanager
def prolonging(monkeypatch: pytest.MonkeyPatch) -> Iterator[lease.Lease]:
    """A lease whose thread is at work, often."""
    monkeypatch.setattr(lease, "PROLONGED_EVERY_S", 0.02)
    held = lease.take(configured_cluster())
    assert held
    with held.keep_alive():
        [thread] = threads()
        yield held
    until(lambda: not thread.is_alive())
    held.release()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lease"]


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


# --- The thread that prolongs it, and what it is not good for -------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_lease_lasts_as_long_as_its_process_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    with prolonging(monkeypatch) as held:
        first = expiry()
        until(lambda: expiry() > first)
        renewed, held.renewed = held.renewed, held.renewed - lease.FRESH_S
        until(lambda: held._alive > renewed)
        assert held.may_act()
        with pytest.raises(lease.LeaseLostError, match="stood still"):
            held.check()


@pytest.mark.django_db(transaction=True)
def test_a_process_that_stood_still_sends_nothing_more_though_its_thread_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread may be the first to wake up, and nobody else may have wanted the lease meanwhile."""
    with prolonging(monkeypatch) as held:
        held._alive -= lease.FRESH_S
        assert not held.may_act()
        since = held._alive
        until(lambda: held._alive > since)
        assert not held.may_act()
        held.renew()
        assert held.may_act()


@pytest.mark.django_db(transaction=True)
def test_nothing_more_is_sent_when_somebody_else_has_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "PROLONGED_EVERY_S", 3600)
    held = lease.take(configured_cluster())
    assert held
    CycleLease.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
    other = lease.take(configured_cluster())
    assert other
    assert other.may_act()
    assert not held.may_act()


@pytest.mark.django_db(transaction=True)
def test_the_thread_ends_when_somebody_else_has_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with prolonging(monkeypatch):
        CycleLease.objects.update(epoch=F("epoch") + 1, holder="elsewhere:1:1.x")
        until(lambda: not threads())


@pytest.mark.django_db(transaction=True)
def test_a_cycle_that_hangs_is_not_prolonged_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LONGEST_CYCLE_S", 0)
    with capture_logs() as logs, prolonging(monkeypatch):
        first = expiry()
        until(lambda: not threads())
        assert expiry() == first
    assert [(each["event"], each["log_level"]) for each in logs] == [
        ("this cycle hangs; whoever comes next takes over", "error")
    ]


@pytest.mark.django_db(transaction=True)
def test_the_thread_survives_a_database_that_is_away_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def away(_held: lease.Lease) -> None:
        asked.append(1)
        raise OperationalError("the database is away")

    with capture_logs() as logs, prolonging(monkeypatch) as held:
        with monkeypatch.context() as patch:
            patch.setattr(lease.Lease, "_row", away)
            until(lambda: len(asked) > 3)
            assert not held.may_act()
        first = expiry()
        until(lambda: expiry() > first)
        assert held.may_act()
    said = [each["event"] for each in logs]
    assert said.count("the lease of a cycle cannot be prolonged") == 1


# --- What an overtaken holder had claimed ---------------------------------------------------------------------------


def test_what_an_overtaken_holder_had_claimed_is_left_alone_as_long_as_a_command_may_take(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scontrol may be under way: a second one would hit the job's next run."""
    sim.policy(start_deadline_s=600)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)

    def overtaken() -> None:
        CycleLease.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
        other = lease.take(sim.cluster)
        assert other
        other.release()
        monkeypatch.setattr(failpoints, "at_point", None)

    at(monkeypatch, "act.requeue_hold.claimed", overtaken)
    assert run_cycle(sim.cluster) is None

    sim.cycles(60)
    [stop] = sim.actions(ActionKind.REQUEUE_HOLD)
    assert (stop.state, stop.attempts, sim.port.job(low).restarts) == ("executing", 1, 0)
    sim.cycles(30)
    [stop] = sim.actions(ActionKind.REQUEUE_HOLD)
    assert (stop.attempts, sim.port.job(low).restarts) == (2, 1)
    assert sim.state(urgent) is JobState.RUNNING


def test_what_an_overtaken_holder_had_sent_is_seen_at_once(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)

    def overtaken() -> None:
        rival(sim)
        monkeypatch.setattr(failpoints, "at_point", None)

    at(monkeypatch, "act.requeue_hold.applied", overtaken)
    assert run_cycle(sim.cluster) is None
    [stop] = sim.actions(ActionKind.REQUEUE_HOLD)
    assert (stop.state, stop.outcome) == ("executing", ""), (
        "what came of it is not written down by who was overtaken"
    )
    CycleLease.objects.update(holder="", expires_at=None)

    sim.cycles(4)

    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].state == "verified"
    assert (sim.state(urgent), sim.port.job(low).restarts) == (JobState.RUNNING, 1)
