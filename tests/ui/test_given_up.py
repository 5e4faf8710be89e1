"""Who gives a worker or some nodes up goes on: lists of plans and alternatives do not call that a stop."""

import re

import pytest
from django.test import Client

from console.steering.templatetags.plan_rows import whose
from tests import factories
from tests.ui.conftest import House

pytestmark = pytest.mark.django_db


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
