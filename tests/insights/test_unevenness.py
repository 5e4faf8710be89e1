"""What unequal processors cost: added up by day and project, and told beside the other answers."""

from datetime import datetime, time, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from console.cluster.models import Cluster
from console.core import clock
from console.insights.models import UnevenOfDay
from console.insights.summing import KEPT, forget_old_sums
from console.insights.tasks import add_up
from console.insights.unevenness import STILL_TOLD, sum_unevenness
from console.power.models import RunLoss
from tests.insights.conftest import make_day
from tests.insights.test_page import page, rows_of, told
from tests.ui.conftest import House, SignedIn

pytestmark = pytest.mark.django_db


def lose(
    cluster: Cluster, ago: int, project: str, lost: float, hours: float = 10, at: time = time(12)
) -> RunLoss:
    """A run that ended so many days ago."""
    day = clock.today() - timedelta(days=ago)
    ended = int(datetime.combine(day, at, tzinfo=timezone.get_default_timezone()).timestamp())
    return RunLoss.objects.create(
        cluster=cluster, job_id=str(RunLoss.objects.count() + 1), start=ended - 3600, restarts=0, ended=ended,
        partition="x", project=project, user="ann", resource="gpu", processors=8, hours=hours, lost=lost, slowest="g01",
    )  # fmt: skip


def sums() -> list[tuple[int, str, int, float, float]]:
    today = clock.today()
    return [
        ((today - row.day).days, row.project, row.runs, row.hours, row.lost)
        for row in UnevenOfDay.objects.order_by("-day", "project")
    ]


def test_runs_are_added_up_on_the_day_that_they_ended_here(house: House) -> None:
    lose(house.cluster, 1, "alpha", 1, at=time(0))
    lose(house.cluster, 1, "alpha", 2, at=time(23, 59, 59))
    lose(house.cluster, 1, "beta", 0.5)
    lose(house.cluster, 2, "alpha", 4, at=time(23, 59, 59))
    add_up()
    assert sums() == [(1, "alpha", 2, 20, 3), (1, "beta", 1, 10, 0.5), (2, "alpha", 1, 10, 4)]


def test_the_first_time_takes_all_that_is_kept_and_later_ones_what_is_told_late(house: House) -> None:
    lose(house.cluster, 90, "alpha", 1)
    taken_back = lose(house.cluster, 1, "beta", 1)
    assert sum_unevenness(house.cluster) == 2
    late = STILL_TOLD.days - 1
    lose(house.cluster, late, "alpha", 2)
    taken_back.delete()
    RunLoss.objects.filter(project="alpha", lost=1).delete()
    for _ in range(2):
        sum_unevenness(house.cluster)
        assert sums() == [(late, "alpha", 1, 10, 2), (90, "alpha", 1, 10, 1)], (
            "the old day is not lost with its runs"
        )


def test_where_nothing_was_lost_nothing_is_added_up(house: House) -> None:
    assert sum_unevenness(house.cluster) == 0


def test_sums_are_forgotten_when_they_are_old(house: House) -> None:
    for days in (1, KEPT.days + 1):
        day = clock.today() - timedelta(days=days)
        UnevenOfDay.objects.create(cluster=house.cluster, partition="x", day=day, resource="gpu")
    assert forget_old_sums() == 1
    assert [ago for ago, *_ in sums()] == [1]


@pytest.fixture
def two_weeks(house: House) -> House:
    for ago in range(14):
        make_day(house.cluster, ago, {"0": [60.0]})
    lose(house.cluster, 1, "alpha", 1, hours=20)
    lose(house.cluster, 2, "beta", 5, hours=40)
    lose(house.cluster, 9, "beta", 10, hours=100)
    sum_unevenness(house.cluster)
    return house


def test_it_is_told_by_project_against_the_time_before(two_weeks: House, ada: Client) -> None:
    answer = told(ada, "?days=7")
    assert [
        (row["project"], row["hours_lost"], row["hours_lost_before"]) for row in answer["unevenness"]
    ] == [
        ("beta", 5, 10),
        ("alpha", 1, 0),
    ]
    sentence = (
        "Jobs on several processors held 60 GPU-hours and waited 6 GPU-hours of it for their slowest one (10 %)."
        " Before: 10 %. beta lost the most: 5 GPU-hours."
    )
    assert answer["sentences"]["unevenness"] == sentence
    assert sentence in page(ada, "?days=7")
    rows = rows_of(ada, "unevenness", "?days=7")
    assert [(row["project"], row["resource"], row["hours_held"]) for row in rows] == [
        ("beta", "gpu", "40.0"),
        ("alpha", "gpu", "20.0"),
    ]


@pytest.mark.parametrize(("who", "codes"), [("dave", ["beta", "alpha"]), ("pam", ["alpha"]), ("vera", [])])
def test_projects_are_told_to_those_who_may_see_them(
    two_weeks: House, signed_in: SignedIn, who: str, codes: list[str]
) -> None:
    browser = signed_in(who)
    answer = told(browser, "?days=7")
    assert [row["project"] for row in answer["unevenness"]] == codes
    if "beta" not in codes:
        assert "beta" not in answer["sentences"]["unevenness"]
        assert "60 GPU-hours" not in answer["sentences"]["unevenness"]


def test_of_nothing_it_says_so(house: House, ada: Client) -> None:
    assert told(ada)["sentences"]["unevenness"] == "No job on several measured processors has ended."
