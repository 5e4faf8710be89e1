"""Who gives a worker or some nodes up goes on: nothing that is said of a plan calls or counts that a stop."""

import re

import pytest
from django.test import Client

from console.steering.requests import request_of
from console.steering.selectors import consequence
from console.steering.templatetags.plan_rows import whose
from tests import factories
from tests.markup import flat
from tests.ui import test_approvals as approvals
from tests.ui.conftest import House, SignedIn

pytestmark = pytest.mark.django_db
ask = approvals.ask
"""Makes a plan of x wait for dave."""
WORKERS = [approvals.victim(job, worker_of="41", least=2) for job in ("41_3", "41_4")]
MIXED = [approvals.victim(), *WORKERS, approvals.victim("90", how="nodes", nodes=["n1"], by="restart")]


def without_tags(page: str) -> str:
    return re.sub(r"<[^>]*>", "", page)


def test_a_list_of_plans_says_who_only_gives_something_up(house: House, ada: Client) -> None:
    factories.make_plan(
        factories.make_cycle(house.cluster),
        job_id="4712",
        victims=[
            {"job": "41_3", "how": "requeue", "worker_of": "41", "least": 2},
            {"job": "88", "how": "requeue"},
            {"job": "41_4", "how": "requeue", "worker_of": "41", "least": 2},
            {"job": "90", "how": "nodes", "nodes": ["n1"]},
            {"job": "91", "how": "swap", "nodes": ["n1"], "gets": ["n2"]},
        ],
    )
    page = without_tags(ada.get("/plans/").content.decode())
    assert whose({"job": "88", "user": "bob"}) == "bob"
    assert whose({"job": "41_3", "user": "eve", "worker_of": "41"}) == "eve, given up"
    assert "88, 41_3, 41_4 (given up), 90 (a part given up) of 5" in page


def test_in_chinese_too(house: House, ada: Client) -> None:
    victims = [{"job": "91", "how": "swap"}, {"job": "41_3", "how": "requeue", "worker_of": "41"}]
    factories.make_plan(factories.make_cycle(house.cluster), job_id="4712", victims=victims)
    ada.cookies["language"] = "zh-hans"
    page = without_tags(ada.get("/plans/").content.decode())
    assert "91（交换节点）、41_3（让出）" in page


def test_a_request_counts_who_is_stopped_and_who_is_not(ask: approvals.Ask, signed_in: SignedIn) -> None:
    plan, dave = ask(victims=MIXED), signed_in("dave")
    said = (
        "Stops 1 job of bob, takes 2 workers of bob, restarts 1 job of bob on fewer nodes, loses 8 GPU-hours"
    )
    assert said in dave.get("/approvals/").content.decode()
    page = dave.get(f"/plans/{plan.pk}/").content.decode()
    assert said in page
    assert "Approve: stop 1 job, take 2 workers, restart 1 job on fewer nodes, lose 8 GPU-h" in page
    partition = flat(dave.get("/partitions/x/").content.decode())
    assert "proposed: 1 stop, 2 workers taken, 1 restart on fewer nodes" in partition


def test_where_only_workers_are_taken_nothing_speaks_of_a_stop(
    ask: approvals.Ask, signed_in: SignedIn
) -> None:
    plan, dave = ask(victims=WORKERS), signed_in("dave")
    page = dave.get(f"/plans/{plan.pk}/").content.decode()
    assert "Takes 2 workers of bob, loses 4 GPU-hours" in page and "Approve: take 2 workers, lose" in page
    assert "Stops" not in consequence(request_of(plan))
    job = flat(without_tags(dave.get("/jobs/101/").content.decode()))
    assert f"has to approve plan {plan.pk}: 41_3 (bob) and 41_4 (bob) would make room" in job


def test_the_request_in_chinese(ask: approvals.Ask, signed_in: SignedIn) -> None:
    plan, dave = ask(victims=MIXED[:2]), signed_in("dave")
    dave.cookies["language"] = "zh-hans"
    page = dave.get(f"/plans/{plan.pk}/").content.decode()
    assert "停止 1 个作业（bob）、收回 1 个工作实例（bob），损失" in page
    assert "批准：停止 1 个作业、收回 1 个工作实例，损失" in page


def test_what_has_changed_is_no_stop_either(ask: approvals.Ask, signed_in: SignedIn) -> None:
    plan = ask(victims=WORKERS[:1])
    factories.renew_plan(plan, WORKERS)
    page = signed_in("dave").get(f"/plans/{plan.pk}/").content.decode()
    assert "41_4 (bob) makes room as well." in page


def test_the_folded_row_of_workers_says_that_they_are_given_up(house: House, ada: Client) -> None:
    many = [approvals.victim(f"41_{n}", worker_of="41", least=2) for n in range(9)]
    plan = factories.make_plan(factories.make_cycle(house.cluster), job_id="4712", victims=many)
    page = flat(without_tags(ada.get(f"/plans/{plan.pk}/").content.decode()))
    assert "requeued given up" in page.partition("9 tasks")[2]
