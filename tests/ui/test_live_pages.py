"""Pages that poll: whole, in part, unchanged, and never more than somebody may see."""

import json
import re
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from console.cluster.models import Cluster
from console.steering.models import Plan, PlanState
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part


@dataclass(frozen=True)
class Live:
    """A live page: its name, the part that polls, and a text that is in that part."""

    page: str
    target: str
    text: str
    args: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return reverse(
            self.page, args=[arg if arg != "{plan}" else Plan.objects.get().pk for arg in self.args]
        )


LIVE = (
    Live("overview", "partition-cards", "Stopped today"),
    Live("partition", "partition-now", "101 needs 4 cpu; 88 gives them.", ("x",)),
    Live("jobs", "job-list", "p1_train"),
    Live("my-jobs", "my-jobs", "No job of ada waits or runs"),
    Live("job", "job-story", "alpha: 40 ÷ 1 × 3 = 120 → P0", ("101",)),
    Live("plan", "plan-progress", "Send checkpoint signal", ("{plan}",)),
    Live("approvals", "approval-list", "Nothing waits for you"),
)
each = pytest.mark.parametrize("live", LIVE, ids=lambda live: live.page)


@each
def test_the_whole_page_is_complete_without_scripts(live: Live, ada: Client) -> None:
    page = ada.get(live.address).content.decode()
    assert live.text in page
    assert "</html>" in page
    assert f'id="{live.target}"' in page


@each
def test_the_part_is_only_the_part(live: Live, ada: Client) -> None:
    answer = ada.get(live.address, headers=part(live.target))
    text = answer.content.decode()
    assert live.text in text
    assert "<html" not in text
    assert f'name="since" value="{Cluster.objects.get().version}"' in text
    assert "HX-Request" in answer.headers["Vary"]


@each
def test_nothing_new_is_nothing_sent(live: Live, house: House, ada: Client) -> None:
    unchanged = ada.get(live.address, {"since": house.cluster.version}, headers=part(live.target))
    assert unchanged.status_code == 204
    assert not unchanged.content
    told = json.loads(unchanged.headers["HX-Trigger"])["giveway:observed"]
    assert told["cycle"] == 7
    house.touch()
    changed = ada.get(live.address, {"since": house.cluster.version - 1}, headers=part(live.target))
    assert changed.status_code == 200
    assert live.text in changed.content.decode()


@each
def test_a_poll_of_nobody_gets_nothing(live: Live, house: House, signed_in: SignedIn) -> None:
    answer = signed_in("anonymous").get(live.address, {"since": "3"}, headers=part(live.target))
    assert answer.status_code == 302


@each
def test_since_means_something_only_to_a_poll(live: Live, house: House, ada: Client) -> None:
    """Somebody who keeps such an address as a bookmark gets a page."""
    answer = ada.get(live.address, {"since": house.cluster.version})
    assert answer.status_code == 200
    assert b"</html>" in answer.content


@each
@pytest.mark.parametrize("extra", [{"HX-Boosted": "true"}, {"HX-History-Restore-Request": "true"}])
def test_boosted_and_restored_pages_are_whole(live: Live, extra: dict[str, str], ada: Client) -> None:
    assert b"</html>" in ada.get(live.address, headers={**part(live.target), **extra}).content


@pytest.mark.parametrize(
    "target", ["", "nonsense", "_navigation.html", "content", "../../base.html", "plan-list"]
)
def test_nobody_names_a_part_freely(target: str, ada: Client) -> None:
    assert b"</html>" in ada.get("/partitions/x/", headers=part(target)).content


def test_a_finished_plan_polls_no_more(house: House, ada: Client) -> None:
    house.plan.state = PlanState.VERIFIED
    house.plan.outcome = "101 runs."
    house.plan.save()
    address = reverse("plan", args=[house.plan.pk])
    last = ada.get(address, {"since": "3"}, headers=part("plan-progress"))
    assert last.status_code == 286
    assert "101 runs." in last.content.decode()
    assert "data-poll" not in ada.get(address).content.decode()


def test_the_head_of_a_partition_changes_with_its_part(ada: Client) -> None:
    text = ada.get("/partitions/x/", headers=part("partition-now")).content.decode()
    assert 'id="partition-facts" hx-swap-oob="true"' in text
    assert "hx-swap-oob" not in ada.get("/partitions/x/").content.decode()


def test_a_fault_of_the_cluster_is_said_aloud(house: House, ada: Client) -> None:
    house.cluster.fault = "squeue: no answer within 30 s"
    house.cluster.save()
    for address in ("/", "/partitions/x/", "/jobs/101/"):
        page = ada.get(address).content.decode()
        assert "squeue: no answer within 30 s" in page
        assert 'role="alert"' in page


def test_an_old_look_is_called_stale(house: House, ada: Client) -> None:
    def banner() -> str:
        page = ada.get("/partitions/x/").content.decode()
        return page[page.index('id="stale"') :].partition(">")[0]

    assert banner().endswith("hidden")
    house.cluster.observed_at = factories.NOW
    house.cluster.save()
    assert not banner().endswith("hidden")


@pytest.mark.parametrize("address", ["/", "/partitions/x/", "/jobs/"])
def test_a_cluster_never_seen_is_no_fault_of_the_page(address: str, house: House, ada: Client) -> None:
    house.cluster.observed_at = None
    house.cluster.save()
    assert "The cluster has not been seen yet" in ada.get(address).content.decode()


def test_a_running_plan_counts_down_to_its_next_stop(house: House, ada: Client) -> None:
    moment = timezone.now() + timedelta(seconds=30)
    house.plan.actions.filter(kind="requeue_hold").update(not_before=moment, state="planned")
    figures = flat(ada.get("/partitions/x/"))
    assert "running: 1 stop, grace ends<time" in figures
    assert f'datetime="{moment.isoformat(timespec="seconds")}"' in figures


@pytest.mark.parametrize(
    "address",
    ["/", "/partitions/x/", "/partitions/x/policy/", "/jobs/101/", "/projects/alpha/", "/audit/", "/help/"],
)
def test_pages_keep_the_strict_policy_for_contents(address: str, house: House, ada: Client) -> None:
    answer = ada.get(address)
    directives = answer.headers["Content-Security-Policy"]
    assert "script-src 'self'" in directives
    assert "unsafe" not in directives
    page = answer.content.decode().replace("http://testserver/", "/")  # its own address, on paper
    assert not re.search(
        r"<style|<script(?![^>]* src=)|\sstyle=|\son\w+=|javascript:|https?://(?!www\.w3\.org)", page
    )


MANY = 120


@pytest.fixture
def crowd(house: House) -> House:
    """More of everything than a page shows."""
    for i in range(MANY):
        factories.make_job(house.cluster, str(1000 + i), place=i + 2)
        factories.make_running_job(house.cluster, str(3000 + i), plan=house.plan.pk)
        factories.make_node(house.cluster, f"m{i}")
        factories.make_project(house.cluster, f"p{i}")
    for i in range(MANY // 2):
        plan = factories.make_plan(house.plan.cycle, str(1000 + i), state="verified")
        factories.make_action(plan, job_id=str(5000 + i))
        factories.make_partition(house.cluster, f"part{i}")
    return house


PAGES = ("/", "/partitions/x/", "/partitions/x/timeline/", "/my-jobs/", "/jobs/", "/jobs/101/", "/plans/",
         "/projects/", "/projects/alpha/", "/audit/", "/partitions/x/policy/", "/partitions/x/revisions/",
         "/priority-file/", "/account/", "/help/")  # fmt: skip
MOST_QUERIES = 19


def test_no_page_asks_more_for_many_rows(crowd: House, signed_in: SignedIn) -> None:
    """One test, for it takes longer to make the rows than to ask for a page."""
    too_many = []
    for role in ("ada", "dave", "pam"):
        for address in PAGES:
            browser = signed_in(role)
            with CaptureQueriesContext(connection) as queries:
                assert browser.get(address).status_code in {200, 404}, (role, address)
            too_many += [f"{role} {address}: {len(queries)}"] if len(queries) > MOST_QUERIES else []
    assert too_many == []


def test_a_poll_asks_little(
    crowd: House, ada: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(5):
        ada.get("/partitions/x/", {"since": crowd.cluster.version}, headers=part("partition-now"))
    with django_assert_max_num_queries(16):
        ada.get("/partitions/x/", {"since": 0}, headers=part("partition-now"))
