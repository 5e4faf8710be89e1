"""A partition's map and lists are made once for everybody who looks at the same, and anew after each change."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from console.cluster.models import Job
from console.cluster.services import note_cycle
from console.history.models import PartitionMinute
from console.insights.models import SummedUntil
from console.steering.pausing import pause, resume
from tests import factories
from tests.insights.conftest import make_stops
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn

IN_MEMORY = "django.core.cache.backends.locmem.LocMemCache"


@pytest.fixture(autouse=True)
def kept(settings: Settings) -> Any:
    """As in a real installation; the tests' own settings keep nothing."""
    settings.CACHES = {
        "default": {"BACKEND": IN_MEMORY},
        "template_fragments": {"BACKEND": IN_MEMORY, "LOCATION": "kept parts"},
    }
    caches["template_fragments"].clear()
    yield
    caches["template_fragments"].clear()


def asked(client: Client, address: str, **headers: str) -> tuple[str, int]:
    with CaptureQueriesContext(connection) as captured:
        page = client.get(address, headers=headers).content.decode()
    return page, len(captured)


def main_of(page: str) -> str:
    return page[page.index('id="nodes-head"') : page.index('id="plans-head"')]


def test_a_second_person_gets_the_same_for_fewer_queries(
    house: House, ada: Client, signed_in: SignedIn
) -> None:
    asked(signed_in("vera"), "/my-jobs/")  # what a first request of a process reads is not counted
    first, many = asked(ada, "/partitions/x/")
    second, few = asked(signed_in("vera"), "/partitions/x/")
    assert main_of(first) == main_of(second)
    assert few <= many - 3


def test_a_change_is_seen_at_once(house: House, ada: Client) -> None:
    before, _ = asked(ada, "/partitions/x/")
    job = Job.objects.filter(cluster=house.cluster, partition="x", phase="pending").first()
    assert job is not None
    Job.objects.filter(pk=job.pk).update(name="quite_new")
    assert "quite_new" not in asked(ada, "/partitions/x/")[0], "no cycle has told of it yet"
    note_cycle(house.cluster, fault="", changed=True)
    after, _ = asked(ada, "/partitions/x/")
    assert "quite_new" in after and "quite_new" not in before


def test_addresses_and_languages_are_kept_apart(house: House, ada: Client) -> None:
    page, _ = asked(ada, "/partitions/x/")
    table, _ = asked(ada, "/partitions/x/?map=table")
    chinese, _ = asked(ada, "/partitions/x/", **{"accept-language": "zh-hans"})
    assert len({main_of(page), main_of(table), main_of(chinese)}) == 3
    filtered, _ = asked(ada, "/partitions/x/?q=nobody-has-this")
    assert "No waiting job fits the filter." in filtered


def words(browser: Client, address: str) -> str:
    answer = browser.get(address)
    assert answer.status_code == 200
    return words_of(answer.content.decode())


def test_the_overview_shows_a_change_and_a_pause_at_once(house: House, ada: Client) -> None:
    before = card(ada)
    factories.make_job(house.cluster, "4711")
    note_cycle(house.cluster, fault="", changed=True)
    after = card(ada)
    assert after != before and "paused" not in after
    pause(actor="dave", cluster=house.cluster, partition=house.x, reason="Moving a node")
    assert "paused" in card(ada)
    resume(actor="dave", cluster=house.cluster, partition=house.x)
    assert "paused" not in card(ada)


def card(browser: Client) -> str:
    """The first card of the overview."""
    return words_of(
        browser.get("/").content.decode().partition('<div class="cards">')[2].partition("</dl>")[0]
    )


def test_a_new_revision_is_seen_at_once_where_no_cycle_has_told_of_it(house: House, ada: Client) -> None:
    pages = ("/", "/partitions/x/quotas/", "/partitions/x/timeline/")
    before = [words(ada, page) for page in pages]
    levels = [{"name": "Highest", "min_score": 5}, {"name": "P1", "min_score": 0}]
    plain: dict[str, Any] = {"user_overrides": {}, "task_overrides": {}}
    factories.put_in_force(house.x, levels=levels, mode="task", quotas={"Highest": 7}, **plain)
    after = [words(ada, page) for page in pages]
    assert all(new != old for new, old in zip(after, before, strict=True))
    assert "Highest" in after[1] and "Highest" in after[2]


def test_a_minute_that_is_added_is_seen_at_once(house: House, ada: Client) -> None:
    now = timezone.now().replace(second=0, microsecond=0)
    facts = {"axis": "user", "total": {"gpu": 8}, "used": {"gpu": 4}}
    for ago in (2, 1):
        PartitionMinute.objects.create(
            cluster=house.cluster, partition="x", at=now - timedelta(minutes=ago), stops=ago, **facts
        )
        shown = words(ada, "/partitions/x/timeline/")
        assert f"{3 if ago == 1 else 2} in all" in shown
    chinese = ada.get("/partitions/x/timeline/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "in all" not in words_of(chinese)


def test_who_uses_how_much_is_kept_by_what_is_sought(house: House, ada: Client) -> None:
    factories.put_in_force(house.x, quotas={"P1": 4})
    Job.objects.filter(job_id="88").update(task_level=1)
    note_cycle(house.cluster, fault="", changed=True)
    assert "1 / 4" in words(ada, "/partitions/x/quotas/")
    sought = words(ada, "/partitions/x/quotas/?user=nobody-of-that-name")
    assert "1 / 4" not in sought and "Nobody of that name" in sought
    factories.make_running_job(house.cluster, "89", user="bob", task_level=1)
    note_cycle(house.cluster, fault="", changed=True)
    assert "2 / 4" in words(ada, "/partitions/x/quotas/")


def test_insights_that_one_has_read_tell_nobody_of_projects_that_are_not_the_own(
    house: House, ada: Client, signed_in: SignedIn
) -> None:
    make_stops(house.cluster, 1, "alpha", "beta", stops=3)
    assert "beta" in words(ada, "/insights/")
    for role in ("pam", "vera"):
        assert "beta" not in words(signed_in(role), "/insights/")
    until = timezone.now()
    SummedUntil.objects.create(cluster=house.cluster, until=until)
    make_stops(house.cluster, 1, "gamma", "beta", stops=5)
    SummedUntil.objects.update(until=until + timedelta(minutes=5))
    assert "gamma" in words(ada, "/insights/")


def test_a_user_s_jobs_are_seen_as_they_are_now_and_levels_by_whom_they_are_for(
    house: House, ada: Client, signed_in: SignedIn
) -> None:
    full = words(ada, "/users/bob/")
    assert "88" in full
    assert len(words(signed_in("vera"), "/users/bob/")) < len(full)
    Job.objects.filter(job_id="88").update(name="quite_new")
    note_cycle(house.cluster, fault="", changed=True)
    assert "quite_new" in words(ada, "/users/bob/")
