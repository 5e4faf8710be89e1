"""When would a job start that nobody has submitted: asked on a page, answered by the next look at the queue."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.starts.expecting import MOST_OPEN
from console.starts.models import StartQuestion
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part

JOB = {"partition": "x", "nodes": "2", "cpu": "4", "gpu": "1", "mem_gb": "", "minutes": "90"}


def ask(browser: Client, **changes: str) -> Any:
    return browser.post("/when/", {**JOB, **changes})


def test_what_is_asked_is_kept_for_who_asks(house: House, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    assert ask(dave).headers["Location"] == "/when/"
    question = StartQuestion.objects.get()
    assert (question.partition, question.time_limit_s, question.asked_by) == ("x", 5400, house.people["dave"])
    assert question.request == {"nodes": 2, "per_node": {"cpu": 4, "gpu": 1}}
    page = flat(dave.get("/when/"))
    assert "2 × (1 gpu, 4 cpu)" in page and "1 h 30 min" in page
    assert "in about ten seconds" in page
    assert "2 × (1 gpu, 4 cpu)" not in flat(signed_in("ada").get("/when/")), "nobody else's"


def test_the_answer_stands_there_and_the_page_stops_asking(house: House, ada: Client) -> None:
    ask(ada)
    poll = 'hx-trigger="load delay:3s"'
    assert poll in ada.get("/when/", headers=part("when-answers")).content.decode()
    now = int(timezone.now().timestamp())
    StartQuestion.objects.update(
        answered_at=timezone.now(), p50=now + 1800, low=now + 600, high=now + 3600, level="P1"
    )
    answer = ada.get("/when/", headers=part("when-answers")).content.decode()
    assert "<html" not in answer and poll not in answer
    assert "in about 30 min" in answer and "(P1)" in answer


def test_where_no_start_is_in_sight_it_says_so(house: House, ada: Client) -> None:
    ask(ada)
    StartQuestion.objects.update(answered_at=timezone.now())
    assert "not in sight" in flat(ada.get("/when/"))


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": "0"},
        {"cpu": "-1"},
        {"minutes": ""},
        {"partition": "nowhere"},
        {"gpu": "many"},
        {"minutes": "9" * 30},
    ],
)
def test_what_makes_no_sense_is_refused_and_kept_in_the_form(
    house: House, ada: Client, changes: dict[str, str]
) -> None:
    answer = ask(ada, **changes)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert 'aria-invalid="true"' in page
    assert not StartQuestion.objects.exists()


def test_too_many_at_a_time_are_refused_with_words(house: House, ada: Client) -> None:
    for _ in range(MOST_OPEN):
        ask(ada)
    assert f"{MOST_OPEN} of your questions wait for an answer." in flat(ask(ada))
    assert StartQuestion.objects.count() == MOST_OPEN


def test_my_jobs_lead_there(house: House, ada: Client) -> None:
    assert 'href="/when/"' in ada.get("/my-jobs/").content.decode()
