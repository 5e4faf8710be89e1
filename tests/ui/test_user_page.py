"""A page for each user of the cluster: jobs and stops for all, levels and quotas for whom the policy is."""

from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.cluster.models import Job
from console.steering.models import PlannedAction
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part


def page_of(browser: Client, name: str = "bob") -> str:
    answer = browser.get(f"/users/{quote(name, safe='')}/")
    assert answer.status_code == 200
    return flat(answer.content.decode())


def test_it_shows_jobs_and_stops(house: House, ada: Client) -> None:
    PlannedAction.objects.filter(kind="requeue_hold").update(user="bob")
    page = page_of(ada)
    assert 'href="/jobs/88/"' in page.partition("Running</h2>")[2]
    assert "Stopped for another job" in page
    assert "Levels in x" in page and "My levels" not in page


@pytest.mark.parametrize("role", ["vera", "dave", "otto"])
def test_levels_are_for_whom_the_policy_is(house: House, signed_in: SignedIn, role: str) -> None:
    page = page_of(signed_in(role))
    assert "Running</h2>" in page
    assert ("Levels in x" in page) == (role != "vera")
    assert ("Levels in y" in page) == (role == "otto")


def test_everybody_sees_their_own(house: House, signed_in: SignedIn) -> None:
    factories.make_job(house.cluster, "300", user="vera")
    assert "Levels in x" in page_of(signed_in("vera"), "vera")


@pytest.mark.parametrize("name", ["a.b@c.d", "two words", "o'neil\"x", "李雷", "a/b", "100%", "<b>", "a?b#c"])
def test_odd_names_work_and_are_only_text(house: House, ada: Client, name: str) -> None:
    Job.objects.filter(job_id="88").update(user=name)
    page = page_of(ada, name)
    assert 'href="/jobs/88/"' in page and "<b>" not in page.partition("<main")[2]
    found = ada.get("/jobs/", {"q": name}).content.decode()
    assert "/users/" in found.partition('class="found"')[2].partition("</p>")[0]


def test_a_member_without_jobs_has_a_page(house: House, ada: Client) -> None:
    factories.make_member(house.beta, "zoe")
    assert "No job of zoe waits or runs." in page_of(ada, "zoe")


def test_a_poll_brings_nothing_when_nothing_is_new(house: House, ada: Client) -> None:
    body = ada.get("/users/bob/", headers=part("user-now")).content.decode()
    assert "<html" not in body and "88" in body
    assert ada.get(f"/users/bob/?since={house.cluster.version}", headers=part("user-now")).status_code == 204


def test_it_asks_few_queries_however_many_jobs(house: House, ada: Client) -> None:
    for number in range(30):
        factories.make_running_job(house.cluster, str(500 + number), user="bob")
    with CaptureQueriesContext(connection) as asked:
        page_of(ada)
    assert len(asked) <= 20
