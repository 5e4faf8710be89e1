"""Task types held against the jobs of the last week, from the policy's form, before anything is saved."""

from typing import Any

import pytest
from django.test import Client

from console.core import clock
from console.forecasts.models import FinishedSource, KeptRun
from tests.markup import words_of as flat
from tests.ui.conftest import House, SignedIn, part

ADDRESS = "/partitions/x/task-types-trial/"
DAY = 86_400
ROWS = {
    "types-TOTAL_FORMS": "2", "types-INITIAL_FORMS": "0",
    "types-0-pattern": "train_*", "types-0-minutes": "60", "types-0-gpus": "2",
    "types-1-pattern": "eval_*", "types-1-cpus": "4",
}  # fmt: skip


def ended(house: House, number: int, name: str, **facts: Any) -> None:
    end = int(clock.now().timestamp()) - facts.pop("ago", 60)
    took = facts.pop("took", 600)
    values = {
        "partition": "x", "user": "ann", "nodes": 1, "cpus": 4, "gpus": 0, "limit_s": 7200,
        "source": FinishedSource.choices[0][0], "submit": end - took, "start": end - took, "end": end,
    }  # fmt: skip
    KeptRun.objects.create(cluster=house.cluster, job_id=str(number), name=name, **{**values, **facts})


@pytest.fixture
def past(house: House) -> House:
    ended(house, 1, "train_a", took=7200, gpus=4, nodes=2)
    ended(house, 2, "train_a", user="bob", gpus=1)
    ended(house, 3, "other")
    ended(house, 4, "train_a", partition="y")
    ended(house, 5, "train_a", ago=8 * DAY)
    return house


def test_each_row_tells_what_it_would_have_met(past: House, ada: Client) -> None:
    page = flat(ada.post(ADDRESS, ROWS, headers=part("type-trial")).content.decode())
    assert "On 3 jobs that ended here within 7 days; no row fits 1 of them." in page
    assert "train_* 2 2 1 1 train_a" in page
    assert "eval_* 0 0 – – fits no job" in page


def test_the_first_row_that_fits_counts(past: House, ada: Client) -> None:
    rows = {**ROWS, "types-0-pattern": "*", "types-1-pattern": "train_*"}
    page = flat(ada.post(ADDRESS, rows, headers=part("type-trial")).content.decode())
    assert "no row fits 0 of them" in page and "train_* 0 0" in page


def test_what_is_wrong_is_said_and_nothing_is_tried(past: House, ada: Client) -> None:
    wrong = {**ROWS, "types-0-minutes": "soon"}
    page = flat(ada.post(ADDRESS, wrong, headers=part("type-trial")).content.decode())
    assert "Row 1: Minutes: Enter a whole number." in page and "On 3 jobs" not in page
    contrary = {**ROWS, "types-1-elastic_wish": "3"}
    page = flat(ada.post(ADDRESS, contrary, headers=part("type-trial")).content.decode())
    assert "elastic_min" in page and "On 3 jobs" not in page


def test_without_a_past_it_says_so(house: House, ada: Client) -> None:
    page = flat(ada.post(ADDRESS, ROWS, headers=part("type-trial")).content.decode())
    assert "No job that is remembered has ended here within 7 days." in page


def test_without_script_it_is_a_page_that_leads_back_to_what_was_typed(past: House, ada: Client) -> None:
    page = ada.post(ADDRESS, {**ROWS, "name": "x"}).content.decode()
    assert "Nothing was saved." in page and 'value="types:keep"' in page
    assert 'name="types-0-pattern"' in page


def test_only_who_may_change_the_policy_may_ask(past: House, signed_in: SignedIn) -> None:
    assert signed_in("vera").post(ADDRESS, ROWS).status_code in {403, 404}
