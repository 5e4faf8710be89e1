"""What real cycles leave behind: a line per partition and minute, the last look, and looks to keep."""

import itertools
import json
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from console.core import clock
from console.history.models import LatestObservation, PartitionMinute, RecordedObservation
from console.history.recording import forget_old_record, packed, record_look, unpacked
from console.steering.cycle import run_cycle
from console.steering.signals import observed
from scheduler.model.jobs import JobState
from tests.steering.conftest import START, Sim


def minutes(partition: str = "x") -> list[PartitionMinute]:
    return list(PartitionMinute.objects.filter(partition=partition))


def test_a_cycle_records_the_first_look_of_each_minute(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 3)
    sim.submit("cy", 8)
    for _ in range(3):
        sim.cycles(30, every_s=2)

    rows = minutes()
    assert len(rows) == 4  # the test begins 20 s into a minute
    assert [row.at.second for row in rows] == [0, 0, 0, 0]
    assert [(later.at - row.at).seconds for row, later in itertools.pairwise(rows)] == [60, 60, 60]
    assert {row.partition for row in PartitionMinute.objects.all()} == {"x", "q", "wide"}
    assert LatestObservation.objects.count() == 1
    assert RecordedObservation.objects.count() == 1


def test_a_line_says_what_was_used_who_ran_and_who_waited(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 3)
    sim.submit("cy", 8)
    sim.submit("stranger", 8)
    sim.cycle()

    [row] = minutes()
    assert (row.axis, row.total["cpu"], row.used["cpu"]) == ("user", 8, 3)
    assert (row.running, row.pending) == ({"3": 1}, {"0": 1, "none": 1})
    assert row.stops == 0


def test_the_axis_is_the_one_that_decides(sim: Sim) -> None:
    sim.policy(mode="task_then_user")
    sim.running("ann", 3, name="l1_train")
    sim.cycle()
    [row] = minutes()
    assert (row.axis, row.running) == ("task", {"1": 1})


def test_starts_stand_in_their_minute_with_how_long_the_jobs_had_waited(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("bob", 8, run_time_s=100)
    waits = sim.submit("ann", 8)
    sim.cycles(80, every_s=2)
    assert sim.state(waits) is JobState.RUNNING

    started = [row.started["3"] for row in minutes() if "3" in row.started]
    job = sim.port.job(waits)
    assert started == [[1, (job.start or 0) - job.submit]]


def test_a_stop_stands_in_its_minute_with_the_work_lost(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.port.advance(3600)
    sim.submit("cy", 8)
    sim.cycles(60, every_s=2)

    with_stops = [row for row in minutes() if row.stops]
    assert [row.stops for row in with_stops] == [1]
    assert with_stops[0].work_lost["cpu"] == pytest.approx(8 * 3600, rel=0.02)
    assert sum(row.stops for row in minutes("q")) == 0


def test_what_is_recorded_is_what_was_seen(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 3, name="<b>“hostile”\x1b")
    sim.submit("cy", 8)
    seen: list[object] = []

    def remember(observation: object, **_: object) -> None:
        seen.append(observation)

    observed.connect(remember)
    try:
        sim.cycle()
    finally:
        observed.disconnect(remember)
    latest = LatestObservation.objects.get()
    assert unpacked(bytes(latest.body)) == seen[0]
    assert latest.jobs == 2
    assert latest.at == clock.from_epoch(START + 2)
    assert bytes(RecordedObservation.objects.get().body) == bytes(latest.body)


def test_a_second_cycle_within_the_minute_asks_once_and_writes_nothing(
    sim: Sim, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    sim.policy()
    sim.cycle()
    look = sim.port.observe()
    with django_assert_num_queries(1):
        assert not record_look(sim.cluster, look)


def test_looks_are_kept_every_few_minutes(sim: Sim, settings: Any) -> None:
    settings.GIVEWAY_HISTORY_EVERY_S = 180
    sim.policy()
    sim.cycles(40, every_s=20)  # 800 s
    kept = [row.at for row in RecordedObservation.objects.all()]
    assert [(later - row).seconds for row, later in itertools.pairwise(kept)] == [160, 180, 180, 180]


def test_a_clock_that_was_set_back_does_not_silence_the_record(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy()
    sim.cycle()
    monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(sim.port.now - 7200))
    assert record_look(sim.cluster, sim.port.observe())
    assert LatestObservation.objects.get().at == clock.now()


def test_a_record_that_fails_stops_no_cycle(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise OSError("no room")

    monkeypatch.setattr("console.history.recording.packed", broken)
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(5)
    assert (sim.state(urgent), sim.state(low)) == (JobState.RUNNING, JobState.PENDING)
    assert not PartitionMinute.objects.exists()


def test_a_cluster_that_is_not_seen_is_not_recorded(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.policy()
    sim.cycle()
    sim.port.advance(120)
    seen = sim.port.observe()
    monkeypatch.setattr(
        sim.port, "observe", lambda **_: type(seen)(seen.cluster, seen.taken_at, faults=("half",))
    )
    report = run_cycle(sim.cluster)
    assert report is not None and report.fault
    assert len(minutes()) == 1


def test_what_is_old_or_too_much_is_forgotten(sim: Sim, settings: Any) -> None:
    settings.GIVEWAY_HISTORY_DAYS = 7
    sim.policy()
    sim.cycle()
    row, look = PartitionMinute.objects.filter(partition="x").get(), RecordedObservation.objects.get()
    for days in (6, 8, 29, 31):
        at = clock.now() - timedelta(days=days)
        RecordedObservation.objects.create(cluster=sim.cluster, at=at, body=look.body)
        PartitionMinute.objects.create(cluster=sim.cluster, partition="x", at=at, axis=row.axis)

    assert forget_old_record() == 1 + 3
    assert RecordedObservation.objects.count() == 2

    settings.GIVEWAY_HISTORY_MB = 1.5 * len(look.body) / 1024 / 1024
    assert forget_old_record() == 1
    assert RecordedObservation.objects.get() == look


def test_a_large_look_is_small_on_disk(sim: Sim) -> None:
    for n in range(200):
        sim.submit(f"user{n % 9}", 1 + n % 7)
    look = sim.port.observe()
    plain = len(json.dumps([str(job) for job in look.jobs]))
    assert len(packed(look)) < plain / 10
