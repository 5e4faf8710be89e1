"""What enforcing would have done: each job once, each run once, day by day, in a fixed number of queries."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from console.core import clock
from console.partitions.models import Partition
from console.reports import tally
from console.reports.tally import shadow_tally
from console.steering.models import Plan
from console.steering.selectors import work_lost, work_short, work_words
from tests import factories
from tests.factories import EPOCH, NOW
from tests.steering.conftest import Sim

pytestmark = pytest.mark.django_db


@pytest.fixture
def x(monkeypatch: pytest.MonkeyPatch) -> Partition:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    partition = factories.make_partition(factories.make_cluster())
    partition.revisions.update(created_at=NOW - timedelta(days=10))
    return partition


def victim(job: str, user: str = "bob", **facts: Any) -> dict[str, Any]:
    """A run of an hour on two GPUs and eight CPUs."""
    held = {"amounts": {"gpu": 2, "gpu:a100": 2, "cpu": 8, "mem": 100}, "ran_s": 3600}
    return {"job": job, "user": user, "how": "requeue", "start": EPOCH - 3600, "restarts": 0, **held, **facts}


def shadowed(here: Partition, job: str, *victims: dict[str, Any], days: int = 0, **fields: Any) -> Plan:
    cycle = here.cluster.cycles.first() or factories.make_cycle(here.cluster)
    at = {"created_at": NOW - timedelta(days=days), "state": "expired", "enforcement": "shadow"}
    return factories.make_plan(cycle, job, victims=list(victims), **{**at, **fields})


def test_work_is_amounts_times_time() -> None:
    lost = work_lost([victim("1"), victim("2", ran_s=1800, amounts={"cpu": 4})])
    assert lost == {"gpu": 7200.0, "cpu": 8 * 3600 + 4 * 1800.0}
    assert work_words(lost) == "2 GPU-hours and 10 CPU-hours"


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ({}, "no work"),
        ({"cpu": 3600.0}, "1 CPU-hour"),
        ({"cpu": 90.0}, "2 CPU-minutes"),
        ({"cpu": 1.0}, "1 CPU-minute"),
        ({"gpu": 5040.0}, "1.4 GPU-hours"),
        ({"gpu": 3600.0 * 12345}, "12,345 GPU-hours"),
        ({"cpu": 3600.0 * 2, "gpu": 3600.0 * 3, "npu": 3600.0}, "3 GPU-hours, 1 NPU-hour and 2 CPU-hours"),
    ],
)
def test_work_in_words(work: dict[str, float], words: str) -> None:
    assert work_words(work) == words


def test_work_in_a_tables_cell() -> None:
    assert work_short({"gpu": 5040.0, "cpu": 90.0}) == "1.4 GPU-h · 2 CPU-min"
    assert work_short({"cpu": 3600.0 * 12345}) == "12,345 CPU-h"
    assert work_short({}) == "–"


def test_work_by_now_grows_with_the_run() -> None:
    one = victim("1", amounts={"gpu:a100": 2})
    assert work_lost([one]) == {"gpu": 7200.0}
    assert work_lost([one], later_s=3600) == {"gpu": 14400.0}


def test_a_job_counts_once_with_its_last_plan(x: Partition) -> None:
    shadowed(x, "101", victim("1"), victim("2"), state="superseded")
    shadowed(x, "101", victim("3"))

    found = shadow_tally(x)

    assert (found.total.jobs, found.total.stops, found.total.words) == (1, 1, "2 GPU-hours and 8 CPU-hours")
    assert (found.total.gpu_hours, found.total.cpu_hours) == (2.0, 8.0)


def test_a_run_counts_once_however_many_would_have_stopped_it(x: Partition) -> None:
    shadowed(x, "101", victim("1"), days=1)
    shadowed(x, "102", victim("1"))
    shadowed(x, "103", victim("1", restarts=1, start=EPOCH))

    found = shadow_tally(x)

    assert (found.total.jobs, found.total.stops) == (3, 2)
    assert [(day.isoformat(), row.jobs, row.stops) for day, row in found.days] == [
        ("2026-03-02", 2, 1),
        ("2026-03-01", 1, 1),
    ]


def test_who_would_have_got_room_and_who_would_have_given_it(x: Partition) -> None:
    shadowed(x, "101", victim("1"), victim("2"), user="ann")
    shadowed(x, "102", victim("3", user="carol"), user="dee")

    found = shadow_tally(x)

    assert [(name, row.jobs, row.stops) for name, row in found.by_user] == [("ann", 1, 2), ("dee", 1, 1)]
    assert [(name, row.stops, row.gpu_hours) for name, row in found.by_victim] == [
        ("bob", 2, 4.0),
        ("carol", 1, 2.0),
    ]


def test_only_shadow_here_and_lately_counts(x: Partition) -> None:
    shadowed(x, "101", victim("1"), enforcement="enforce")
    shadowed(x, "102", victim("2"), partition="y")
    shadowed(x, "103", victim("3"), kind="quota")
    shadowed(x, "104", victim("4"), days=8)

    assert shadow_tally(x).total.jobs == 1
    assert shadow_tally(x, days=7).total.jobs == 0
    assert shadow_tally(x).since == NOW - timedelta(days=10)
    assert shadow_tally(x, days=7).since == NOW - timedelta(days=7)


def test_the_number_of_queries_and_plans_is_bounded(
    x: Partition, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    for job in range(20):
        shadowed(x, str(job), victim(f"v{job}"))
    with django_assert_num_queries(3):
        assert not shadow_tally(x).cut
    monkeypatch.setattr(tally, "MOST_PLANS", 5)
    found = shadow_tally(x)
    assert (found.total.jobs, found.cut) == (5, True)


def test_the_tally_of_a_partition_that_runs_in_shadow(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.port.advance(3598)
    sim.submit("cy", 6)
    sim.cycles(4)

    partition = sim.cluster.partitions.get(name="x")
    partition.revisions.update(created_at=clock.now() - timedelta(days=1))
    found = shadow_tally(partition)

    assert (found.total.jobs, found.total.stops, found.total.words) == (1, 1, "8 CPU-hours")
    assert [name for name, _ in found.by_user] == ["cy"]
    assert [name for name, _ in found.by_victim] == ["ann"]


def test_tasks_of_an_array_count_one_by_one_and_only_by_their_last_plan(x: Partition) -> None:
    def tasks(*numbers: int) -> list[dict[str, Any]]:
        return [{"job": f"9_{n}", "restarts": 0, "node": "n1", "seen": ""} for n in numbers]

    shadowed(x, "9_1", victim("1"), tasks=tasks(1, 2), state="superseded")
    shadowed(x, "9_0", victim("2"), tasks=tasks(0, 1, 2))
    total = shadow_tally(x).total
    assert (total.jobs, total.stops) == (3, 1)
