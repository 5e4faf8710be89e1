"""What a cycle adds to its cluster's meter: its phases, starts, and work lost and kept, each once."""

from datetime import timedelta

import pytest

from console.core import clock
from console.steering import cycle, metrics
from console.steering.models import Checkpoint, CycleMeter, PlannedAction
from tests.steering.conftest import Sim


def meter() -> CycleMeter:
    return CycleMeter.objects.get()


def test_every_cycle_counts_its_phases(sim: Sim) -> None:
    sim.policy()
    sim.cycles(3)
    phases = meter().phases
    assert set(phases) == set(metrics.PHASES)
    assert {histogram["count"] for histogram in phases.values()} == {3}
    assert all(histogram["buckets"]["30"] == 3 for histogram in phases.values())
    assert all(histogram["seconds"] > 0 for histogram in phases.values())


def test_a_cycle_without_a_look_counts_as_degraded_and_only_its_look(sim: Sim) -> None:
    sim.policy()
    sim.cycles(1)
    sim.port.faults.break_down("Unable to contact slurm controller")
    sim.cycles(2)
    assert meter().degraded == 2
    assert {name: h["count"] for name, h in meter().phases.items()} == {
        **dict.fromkeys(metrics.PHASES, 1),
        "observe": 3,
    }


def test_a_histogram_is_cumulative() -> None:
    histogram = None
    for value in (0.5, 1.0, 3.0, 99.0):
        histogram = metrics.observe(histogram, value, (1.0, 5.0))
    assert histogram == {"count": 4, "seconds": 103.5, "buckets": {"1": 2, "5": 3}}


def test_a_start_is_counted_once_by_the_clusters_own_clock(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.port.advance(7)  # it waits before the first cycle sees it
    sim.cycles(12)
    row = sim.row(urgent)
    waited = (row.start or 0) - row.submit
    assert waited >= 7
    starts = meter().phases[metrics.SUBMIT_TO_START]
    assert {name: (h["count"], h["seconds"]) for name, h in starts.items()} == {"x": (1, waited)}


def test_all_that_a_job_ran_is_lost_without_a_checkpoint(sim: Sim) -> None:
    sim.policy()
    victim = sim.running("ann", 8)
    sim.port.advance(100)
    sim.submit("cy", 6)
    sim.cycles(12)
    stop = PlannedAction.objects.get(kind="requeue_hold", job_id=victim)
    assert stop.state == "verified" and stop.issued_at
    ran = int(stop.issued_at.timestamp()) - stop.run_start
    assert ran >= 100
    assert meter().phases[metrics.WORK] == {"x": {"lost": {"cpu": 8 * ran}, "saved": {"cpu": 0}}}


def test_an_acknowledged_checkpoint_keeps_what_was_done_before_it(sim: Sim) -> None:
    sim.policy(grace_s=30)
    victim = sim.running("ann", 8)
    sim.port.advance(100)
    sim.submit("cy", 6)
    sim.cycles(3)
    signal = PlannedAction.objects.get(kind="signal", job_id=victim)
    acknowledged = clock.now()
    Checkpoint.objects.update_or_create(
        cluster=sim.cluster,
        job_id=victim,
        run_start=signal.run_start,
        run_restarts=0,
        defaults={
            "plan": signal.plan,
            "user": "ann",
            "asked_at": acknowledged,
            "acknowledged_at": acknowledged,
        },
    )
    sim.port.advance(3)  # an acknowledgement ends the grace: the stop comes with the next cycle
    sim.cycles(20, every_s=3)
    stop = PlannedAction.objects.get(kind="requeue_hold", job_id=victim)
    assert stop.state == "verified" and stop.issued_at
    saved = int(acknowledged.timestamp()) - stop.run_start
    lost = int(stop.issued_at.timestamp()) - int(acknowledged.timestamp())
    assert saved >= 100 and lost > 0
    assert meter().phases[metrics.WORK] == {"x": {"lost": {"cpu": 8 * lost}, "saved": {"cpu": 8 * saved}}}


def test_clocks_an_hour_apart_do_not_change_what_was_lost(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(sim.port.now) + timedelta(hours=1))
    sim.policy()
    sim.running("ann", 8)
    sim.port.advance(100)
    sim.submit("cy", 6)
    sim.cycles(12)
    lost = meter().phases[metrics.WORK]["x"]["lost"]["cpu"]
    assert 800 <= lost <= 8 * 110


def test_a_cycle_that_died_is_counted_by_the_next_and_none_twice(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 6)
    with monkeypatch.context() as dying:
        dying.setattr(cycle, "count", lambda cluster, report: None)
        while not PlannedAction.objects.filter(kind="requeue_hold", state="verified").exists():
            sim.cycles(1)
    assert not CycleMeter.objects.filter(phases__has_key=metrics.WORK).exists()
    sim.cycles(1)
    lost = meter().phases[metrics.WORK]["x"]["lost"]
    sim.cycles(10)
    assert meter().phases[metrics.WORK]["x"]["lost"] == lost
    assert meter().phases[metrics.SUBMIT_TO_START]["x"]["count"] == 1
    assert metrics.COUNTED not in meter().phases
