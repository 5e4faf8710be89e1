"""My jobs: whose they are, why each waits or was stopped, my levels and where they come from, my quotas."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from console.cluster.models import Job
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from console.reports.mine import Mine, my_jobs
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, SignedIn


def found(house: House, user: str) -> Mine:
    partitions = list(visible_partitions(house.people["vera"]).filter(revision__isnull=False))
    return my_jobs(house.cluster, user, partitions)


def page_of(house: House, signed_in: SignedIn, user: str) -> str:
    """The page of vera, whose user name on the cluster is `user`."""
    house.people["vera"].cluster_user = user
    house.people["vera"].save()
    return signed_in("vera").get("/my-jobs/").content.decode()


def test_it_shows_my_jobs_and_nobody_elses(house: House, signed_in: SignedIn) -> None:
    page = page_of(house, signed_in, "ann")
    assert 'href="/jobs/101/" id="mw-' in page
    assert "101 needs 4 cpu; 88 gives them." in page, "why it waits"
    assert 'id="mr-' not in page
    page = page_of(house, signed_in, "bob")
    assert 'href="/jobs/88/" id="mr-' in page
    assert 'id="mw-' not in page


def test_nothing_in_the_address_makes_it_somebody_elses(house: House, signed_in: SignedIn) -> None:
    page = signed_in("vera").get("/my-jobs/?user=ann&q=ann").content.decode()
    assert "No job of vera waits or runs" in page
    assert 'id="mw-' not in page


def test_jobs_wait_in_the_order_of_their_places(house: House) -> None:
    for job_id, place in (("7", 0), ("5", 9), ("6", 3)):
        factories.make_job(house.cluster, job_id, user="ann", place=place)
    factories.make_job(house.cluster, "4", user="ann", phase="ended")
    factories.make_job(house.cluster, "3", user="ann", partition="elsewhere")
    assert [row.job_id for row in found(house, "ann").waiting] == ["101", "6", "5", "7"]


def test_a_stopped_job_says_for_whom_and_when_it_comes_back(house: House, signed_in: SignedIn) -> None:
    stop = house.plan.actions.get(kind="requeue_hold")
    stop.state, stop.issued_at = "verified", timezone.now() - timedelta(minutes=3)
    stop.save()
    Job.objects.filter(job_id="88").update(phase="pending", start=0, alloc={}, held=True, restarts=1)
    page = page_of(house, signed_in, "bob")
    row = page[page.index(f'data-row="s-{stop.pk}"') :].partition("</tr>")[0]
    assert 'href="/jobs/101/"' in row
    assert "It is held until 101 (ann) runs" in row
    assert f'href="/plans/{house.plan.pk}/"' in row
    Job.objects.filter(job_id="88").update(phase="running", start=factories.EPOCH, held=False)
    assert "It started again" in page_of(house, signed_in, "bob")


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, 1),
        ({"state": "verified", "issued_at": timedelta(days=3)}, 0),
        ({"state": "verified", "issued_at": timedelta()}, 1),
        ({"state": "expired"}, 0),
        ({"user": "ann"}, 0),
    ],
)
def test_old_stops_and_those_that_never_came_are_left_out(
    changes: dict[str, object], shown: int, house: House
) -> None:
    at = {key: timezone.now() - ago for key, ago in changes.items() if isinstance(ago, timedelta)}
    house.plan.actions.filter(kind="requeue_hold").update(**{**changes, **at})
    assert len(found(house, "bob").stopped) == shown


def test_levels_say_where_they_come_from_in_each_partition(house: House) -> None:
    [x, y] = found(house, "ann").partitions
    assert (x.name, x.mode, y.name, y.mode) == ("x", "user_then_task", "y", "task")
    [standing] = x.standings
    assert (standing.project, standing.level.name) == ("alpha", "P0")
    assert standing.origin == "alpha: 40 ÷ 1 × 3 = 120 → P0"
    assert [(pattern, level.name) for pattern, level in standing.tasks] == [("alpha_eval*", "P0")]
    [other] = found(house, "carol").partitions[0].standings
    assert (other.project, other.level.name) == ("", "P0")
    assert other.origin.startswith("override by the partition")
    [none] = found(house, "nobody").partitions[0].standings
    assert (none.level.index, none.origin) == (None, "nothing configured")


def test_a_member_of_two_projects_has_a_level_through_each(house: House) -> None:
    factories.make_member(house.beta, "ann")
    standings = found(house, "ann").partitions[0].standings
    assert [(each.project, each.level.name) for each in standings] == [
        ("alpha", "P0"),
        ("beta", "unconfigured"),
    ]


def test_a_quota_counts_my_running_jobs_of_its_level_there(house: House, signed_in: SignedIn) -> None:
    others: list[dict[str, Any]] = [
        {},
        {"partition": "y"},
        {"user": "bob"},
        {"phase": "completing"},
        {"task_level": 0},
    ]
    for i, fields in enumerate(others):
        factories.make_running_job(house.cluster, str(600 + i), **{"user": "ann", "task_level": 1, **fields})
    quotas = found(house, "ann").partitions[0].quotas
    assert [(each.limit.level, each.text, each.full) for each in quotas] == [
        ("P0", "1 / 1", True),
        ("P1", "1 / 3", False),
    ]
    page = page_of(house, signed_in, "ann")
    assert "1 / 1 jobs full" in flat(page)
    assert 'width="33.333%"' in page


def test_my_quota_has_what_my_jobs_hold_and_what_everybodys_do(house: House) -> None:
    for job_id, user, level, cpu in (("600", "ann", 0, 4), ("601", "bob", 0, 8), ("602", "ann", 1, 16)):
        factories.make_running_job(
            house.cluster, job_id, user=user, task_level=level, alloc={"n1": {"cpu": cpu, "mem": 2048}}
        )
    limits = {"quota_amounts": {"P0": {"cpu": 16, "mem": 4096}}, "quota_totals": {"P0": {"cpu": 12}}}
    house.x.revision = factories.make_revision(house.x, 2, quotas={}, **limits)
    house.x.save()
    quotas = found(house, "ann").partitions[0].quotas
    assert [(each.user, each.limit.resource, each.text, each.full) for each in quotas] == [
        ("ann", "cpu", "4 / 16 cpu", False),
        ("ann", "mem", "2 GB / 4 GB", False),
        ("", "cpu", "12 / 12 cpu", True),
    ]


def test_keywords_are_those_that_are_mine_to_use(house: House) -> None:
    levels = [
        {"name": "P0", "min_score": 60, "keyword": "p0", "keyword_users": ["bob", "c*"]},
        {"name": "P1", "min_score": 20, "keyword": "p1"},
    ]
    house.x.revision = factories.make_revision(house.x, 2, levels=levels)
    house.x.save()

    def words(user: str) -> list[str]:
        return [word for word, _ in found(house, user).partitions[0].keywords]

    assert (words("ann"), words("bob"), words("carol")) == (["p1"], ["p0", "p1"], ["p0", "p1"])


def test_many_jobs_and_stops_ask_no_more(
    house: House, ada: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    plan = house.plan
    for i in range(40):
        factories.make_job(house.cluster, str(1000 + i), user="ada", place=i + 2)
        factories.make_running_job(house.cluster, str(2000 + i), user="ada")
        factories.make_action(
            plan, job_id=str(3000 + i), user="ada", state="verified", issued_at=timezone.now()
        )
    assert Partition.objects.count() == 2
    with django_assert_max_num_queries(19):
        assert ada.get("/my-jobs/").status_code == 200
