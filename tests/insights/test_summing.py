"""Adding up: what happened is in the sums once, by day, cause and project, however often and late the task runs."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from console.core import clock
from console.history.models import PartitionMinute
from console.insights import summing
from console.insights.models import PartitionDay, RoomOfDay, StopsOfDay, SummedUntil
from console.insights.summing import Stretch, _add, sum_up
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.scenarios import SCENARIOS
from tests import factories
from tests.plugins.shared_rows import made_once
from tests.steering.conftest import START, Sim, attached

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest) -> Iterator[SimulatedCluster]:
    """An hour and a half of cycles, played once for all tests of this module."""
    with made_once(request, "stopped", _play) as port:
        yield port


@pytest.fixture
def stopped(played: SimulatedCluster, db: None, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """The console and the cluster as they are after that."""
    sim = attached(deepcopy(played), monkeypatch)
    sim.cluster.refresh_from_db()
    return sim


def _play() -> SimulatedCluster:
    """`ann` of beta has run for an hour on 8 CPUs; `cy` of alpha comes, has ann stopped, runs 20 min and ends."""
    with pytest.MonkeyPatch.context() as patch:
        sim = attached(SCENARIOS["empty"].build(START), patch)
        alpha, beta = (factories.make_project(sim.cluster, code) for code in ("alpha", "beta"))
        factories.make_member(alpha, "cy")
        factories.make_member(beta, "ann")
        sim.policy()
        sim.running("ann", 8)
        sim.cycles(60, every_s=60)
        sim.submit("cy", 8, run_time_s=1200)
        sim.cycles(10, every_s=3)
        sim.cycles(30, every_s=60)
    return sim.port


def all_sums() -> tuple[list[object], ...]:
    return tuple(
        list(model.objects.order_by("pk").values())
        for model in (PartitionDay, StopsOfDay, RoomOfDay, SummedUntil)
    )


def test_a_stop_is_in_the_sums_with_who_gained_and_who_paid(stopped: Sim) -> None:
    assert sum_up(stopped.cluster) == 1
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


def test_minutes_starts_and_the_hours_that_jobs_ran_are_added_up(stopped: Sim) -> None:
    sum_up(stopped.cluster)
    day = PartitionDay.objects.get(partition="x")
    until = SummedUntil.objects.get().until
    rows = PartitionMinute.objects.filter(partition="x", at__lt=until)
    assert day.minutes == rows.count() > 80
    assert day.job_minutes == sum(sum(row.running.values()) for row in rows)
    assert sum(day.waits["0"]) == 1, "cy, once"
    assert sum(day.waits["3"]) == 1, "ann, after the stop: the mirror knows the last start only"


def test_what_is_added_up_is_not_added_again(stopped: Sim) -> None:
    sum_up(stopped.cluster)
    once = all_sums()
    assert sum_up(stopped.cluster) == 0
    assert all_sums() == once


def test_in_steps_it_comes_to_the_same_as_at_once(stopped: Sim) -> None:
    """The task runs every five minutes; a worker that slept runs it for all of it."""
    sum_up(stopped.cluster)
    at_once = all_sums()[:3]
    last = SummedUntil.objects.get().until
    for model in (PartitionDay, StopsOfDay, RoomOfDay):
        model.objects.all().delete()
    begin = PartitionMinute.objects.order_by("at")[0].at
    SummedUntil.objects.update(until=begin)
    while begin < last:
        end = min(last, begin + timedelta(minutes=7))
        _add(stopped.cluster, Stretch(begin, end), clock.now())
        begin = end
    without_keys = [[{**row, "id": 0} for row in rows] for rows in all_sums()[:3]]  # type: ignore[dict-item]
    assert without_keys == [[{**row, "id": 0} for row in rows] for rows in at_once]  # type: ignore[dict-item]


def test_of_two_workers_the_later_one_adds_nothing(stopped: Sim) -> None:
    begin = PartitionMinute.objects.order_by("at")[0].at
    sum_up(stopped.cluster)
    once = all_sums()
    _add(stopped.cluster, Stretch(begin, SummedUntil.objects.get().until), clock.now())
    assert all_sums() == once


def test_what_is_not_seen_yet_waits(stopped: Sim) -> None:
    """Slurm was away: what started meanwhile is seen when it is back, and is counted then."""
    seen = stopped.cluster.observed_at
    assert seen is not None
    stopped.port.advance(3 * 3600)
    sum_up(stopped.cluster)
    assert SummedUntil.objects.get().until <= seen


def test_a_run_of_the_task_asks_a_bounded_number_of_questions(
    stopped: Sim, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    sum_up(stopped.cluster)
    stopped.cycles(6, every_s=60)
    stopped.cluster.refresh_from_db()
    with django_assert_max_num_queries(18):
        assert sum_up(stopped.cluster) == 1


def test_days_for_which_there_is_no_time_are_added_the_next_time(
    stopped: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summing, "BUDGET_S", 0.0)
    SummedUntil.objects.create(cluster=stopped.cluster, until=clock.now() - timedelta(days=2))
    done = []
    while sum_up(stopped.cluster):
        done.append(SummedUntil.objects.get().until)
    assert len(done) == 3 and done == sorted(set(done))
