"""Adding up: what happened is in the sums once, by day, cause and project, however often and late the task runs."""

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from console.core import clock
from console.history.models import PartitionMinute
from console.insights.counting import Stretch
from console.insights.models import PartitionDay, RoomOfDay, StopsOfDay, SummedUntil
from console.insights.summing import KEPT, _add, forget_old_sums, sum_up
from console.insights.waits import step_of
from tests import factories
from tests.steering.conftest import Sim

pytestmark = pytest.mark.django_db


def stopped_once(sim: Sim) -> None:
    """`ann` of beta has run for an hour on 8 CPUs; `cy` of alpha comes, has ann stopped, runs 20 min and ends."""
    alpha, beta = (factories.make_project(sim.cluster, code) for code in ("alpha", "beta"))
    factories.make_member(alpha, "cy")
    factories.make_member(beta, "ann")
    sim.policy()
    sim.running("ann", 8)
    sim.cycles(60, every_s=60)
    sim.submit("cy", 8, run_time_s=1200)
    sim.cycles(10, every_s=3)
    sim.cycles(30, every_s=60)


def all_sums() -> tuple[list[object], ...]:
    return tuple(
        list(model.objects.order_by("pk").values())
        for model in (PartitionDay, StopsOfDay, RoomOfDay, SummedUntil)
    )


def test_a_stop_is_in_the_sums_with_who_gained_and_who_paid(sim: Sim) -> None:
    stopped_once(sim)
    sim.cluster.refresh_from_db()
    assert sum_up(sim.cluster) == 1
    stop = StopsOfDay.objects.get()
    assert (stop.partition, stop.cause, stop.gained, stop.paid, stop.stops) == (
        "x",
        "room",
        "alpha",
        "beta",
        1,
    )
    assert stop.cpu_lost == pytest.approx(8 * 3600, rel=0.05)
    assert stop.cpu_saved == stop.gpu_lost == 0
    room = RoomOfDay.objects.get()
    assert (room.project, room.jobs) == ("alpha", 1)
    assert room.cpu == pytest.approx(8 * 1200, rel=0.15)


def test_minutes_starts_and_the_hours_that_jobs_ran_are_added_up(sim: Sim) -> None:
    stopped_once(sim)
    sim.cluster.refresh_from_db()
    sum_up(sim.cluster)
    day = PartitionDay.objects.get(partition="x")
    until = SummedUntil.objects.get().until
    rows = PartitionMinute.objects.filter(partition="x", at__lt=until)
    assert day.minutes == rows.count() > 80
    assert day.job_minutes == sum(sum(row.running.values()) for row in rows)
    assert sum(day.waits["0"]) == 1, "cy, once"
    assert sum(day.waits["3"]) == 1, "ann, after the stop: the mirror knows the last start only"


def test_what_is_added_up_is_not_added_again(sim: Sim) -> None:
    stopped_once(sim)
    sim.cluster.refresh_from_db()
    sum_up(sim.cluster)
    once = all_sums()
    assert sum_up(sim.cluster) == 0
    assert all_sums() == once


def test_in_steps_it_comes_to_the_same_as_at_once(sim: Sim) -> None:
    """The task runs every five minutes; a worker that slept runs it for all of it."""
    stopped_once(sim)
    sim.cluster.refresh_from_db()
    sum_up(sim.cluster)
    at_once = all_sums()[:3]
    last = SummedUntil.objects.get().until
    for model in (PartitionDay, StopsOfDay, RoomOfDay):
        model.objects.all().delete()
    begin = PartitionMinute.objects.order_by("at")[0].at
    SummedUntil.objects.update(until=begin)
    while begin < last:
        end = min(last, begin + timedelta(minutes=7))
        _add(sim.cluster, Stretch(begin, end), clock.now())
        begin = end
    without_keys = [[{**row, "id": 0} for row in rows] for rows in all_sums()[:3]]  # type: ignore[dict-item]
    assert without_keys == [[{**row, "id": 0} for row in rows] for rows in at_once]  # type: ignore[dict-item]


def test_of_two_workers_the_later_one_adds_nothing(sim: Sim) -> None:
    stopped_once(sim)
    sim.cluster.refresh_from_db()
    begin = PartitionMinute.objects.order_by("at")[0].at
    sum_up(sim.cluster)
    once = all_sums()
    _add(sim.cluster, Stretch(begin, SummedUntil.objects.get().until), clock.now())
    assert all_sums() == once


def test_what_is_not_seen_yet_waits(sim: Sim) -> None:
    """Slurm was away: what started meanwhile is seen when it is back, and is counted then."""
    stopped_once(sim)
    sim.cluster.refresh_from_db()
    seen = sim.cluster.observed_at
    assert seen is not None
    sim.port.advance(3 * 3600)
    sum_up(sim.cluster)
    assert SummedUntil.objects.get().until <= seen


def test_a_past_that_was_never_summed_is_caught_up_day_by_day(sim: Sim) -> None:
    """Of jobs that the mirror has forgotten, waits come from the record of minutes."""
    sim.policy()
    sim.cycle()
    sim.cluster.refresh_from_db()
    now = clock.now().replace(second=0, microsecond=0)
    for days in (20, 19, 2):
        PartitionMinute.objects.create(
            cluster=sim.cluster, partition="x", at=now - timedelta(days=days), axis="user",
            running={"0": 3, "none": 1}, started={"0": [2, 240]},
        )  # fmt: skip
    sum_up(sim.cluster)
    old, older, young = PartitionDay.objects.filter(job_minutes__gt=0).order_by("day")
    assert [row.job_minutes for row in (old, older, young)] == [4, 4, 4]
    assert old.waits == older.waits == {"0": [0] * step_of(120) + [2]}
    assert young.waits == {}, "the mirror would know that job"


def test_a_run_of_the_task_asks_a_bounded_number_of_questions(
    sim: Sim, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    stopped_once(sim)
    sim.cluster.refresh_from_db()
    sum_up(sim.cluster)
    sim.cycles(6, every_s=60)
    sim.cluster.refresh_from_db()
    with django_assert_max_num_queries(18):
        assert sum_up(sim.cluster) == 1


def test_sums_are_forgotten_when_they_are_old(sim: Sim) -> None:
    today = clock.today()
    for days in (1, KEPT.days + 1):
        PartitionDay.objects.create(cluster=sim.cluster, partition="x", day=today - timedelta(days=days))
    assert forget_old_sums() == 1
    assert [row.day for row in PartitionDay.objects.all()] == [today - timedelta(days=1)]
