"""When a waiting job is expected to start: on its page, in My jobs, in lists, and over the API."""

import json
import re

import pytest
from django.http import HttpResponse
from django.test import Client

from console.accounts.services import set_language
from console.cluster.models import Job
from console.core import clock
from console.overview.starting import between_words, calm, starts_words
from console.starts.expecting import MOST_OPEN
from console.starts.models import StartQuestion
from console.starts.queue_replay import MOST_WAITING
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House


def words(page: str) -> str:
    return flat(re.sub(r"<[^>]+>", " ", page))


@pytest.fixture
def waits(house: House) -> Job:
    return Job.objects.get(cluster=house.cluster, job_id="101")


def show(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_the_job_s_page_says_when_how_sure_and_why(waits: Job, ada: Client) -> None:
    factories.make_expected_start(waits, after=["88"])

    page = show(ada, "/jobs/101/")

    assert "Expected start in about 40 min 90 % sure: in 15 min to 2 h" in words(page)
    assert re.search(r'It waits for the end of\s+<a\s+href="/jobs/88/">88</a>\.', page)


def test_the_page_says_what_would_make_it_sooner(waits: Job, ada: Client) -> None:
    now = int(clock.now().timestamp())
    factories.make_expected_start(
        waits, sooner=[{"nodes": 1, "p50": now + 20}, {"limit_s": 5400, "p50": now + 1203}]
    )
    page = words(show(ada, "/jobs/101/"))
    assert "With 1 node: soon. With a time limit of 1 h 30 min: in about 20 min." in page


def test_nothing_stands_there_where_nothing_is_expected(waits: Job, ada: Client) -> None:
    assert "Expected start" not in show(ada, "/jobs/101/")
    factories.make_expected_start(waits, gone_at=waits.cluster.observed_at)
    assert "Expected start" not in show(ada, "/jobs/101/")


def test_beyond_the_jobs_that_are_forecast_the_page_says_so(waits: Job, ada: Client) -> None:
    Job.objects.filter(pk=waits.pk).update(place=MOST_WAITING + 204)
    assert "not forecast: it is number 1204 in line, and starts of the first 1000" in words(
        show(ada, "/jobs/101/")
    )
    Job.objects.filter(pk=waits.pk).update(place=MOST_WAITING)
    assert "not forecast" not in show(ada, "/jobs/101/")


def test_no_start_in_sight_says_why(waits: Job, ada: Client) -> None:
    factories.make_expected_start(waits, p50=None, low=None, high=None)

    assert "Expected start not in sight Too few of the nodes that it may use" in words(
        show(ada, "/jobs/101/")
    )


def test_my_jobs_say_it_in_a_column(house: House, ada: Client) -> None:
    factories.make_expected_start(factories.make_job(house.cluster, "900", user="ada"))

    assert "in about 40 min" in show(ada, "/my-jobs/")


def test_a_list_has_the_column_where_it_is_asked_for(waits: Job, ada: Client) -> None:
    factories.make_expected_start(waits)

    assert "in about 40 min" not in show(ada, "/partitions/x/")
    assert "in about 40 min" in show(ada, "/partitions/x/?w_col=starts&w_col=name")


def test_in_chinese(waits: Job, ada: Client, house: House) -> None:
    factories.make_expected_start(waits)
    set_language(house.people["ada"], "zh-hans")

    assert "预计开始" in show(ada, "/jobs/101/")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(20, 60), (95, 120), (2430, 2400), (5000, 5100), (30_000, 30_600), (100_000, 100_800), (1e6, 1_002_240)],
)
def test_words_are_as_rough_as_what_they_speak_of_is_far(seconds: float, said: int) -> None:
    assert calm(seconds) == said


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0, 30, "90 % sure: within a minute"),
        (0, 1800, "90 % sure: within 30 min"),
        (600, 1800, "90 % sure: in 10 min to 30 min"),
        (600, None, "90 % sure: not before 10 min from now"),
    ],
)
def test_an_interval_is_said_shortly(waits: Job, low: int, high: int | None, said: str) -> None:
    row = factories.make_expected_start(waits, 5)
    now = row.made_at
    row.low, row.high = now + low + 1, None if high is None else now + high + 1

    assert starts_words(row) == "soon"
    assert between_words(row) == said


def test_the_api_says_the_same(waits: Job, ada: Client) -> None:
    factories.make_expected_start(waits, nodes=["n1"], after=["88"])

    told = ada.get("/api/v1/jobs/101/start/").json()

    assert (told["job_id"], told["nodes"], told["after"]) == ("101", ["n1"], ["88"])
    assert told["low"] < told["p50"] < told["high"]
    assert ada.get("/api/v1/jobs/88/start/").status_code == 404


def test_the_list_of_starts_has_the_soonest_first(house: House, ada: Client) -> None:
    now = int(clock.now().timestamp())
    for number, in_s in (("900", 500), ("901", None), ("902", 100)):
        job = factories.make_job(house.cluster, number)
        factories.make_expected_start(
            job, p50=None if in_s is None else now + in_s, sooner=[{"nodes": 2, "p50": now}]
        )
    factories.make_expected_start(factories.make_job(house.cluster, "903"), gone_at=house.cluster.observed_at)

    rows = ada.get("/api/v1/starts/?partition=x").json()["results"]

    assert [row["job_id"] for row in rows] == ["902", "900", "901"]
    assert rows[0]["sooner"][0]["nodes"] == 2
    assert ada.get("/api/v1/starts/?partition=wide").json()["results"] == []


def question(**keys: object) -> dict[str, object]:
    return {"partition": "x", "request": {"nodes": 2, "per_node": {"cpu": 4}}, "time_limit_s": 3600, **keys}


def post(client: Client, body: dict[str, object]) -> HttpResponse:
    return client.post("/api/v1/start-questions/", json.dumps(body), content_type="application/json")  # type: ignore[return-value]


def test_a_question_is_asked_as_oneself_and_answered_to_oneself(house: House, ada: Client) -> None:
    made = post(ada, question())
    assert made.status_code == 201, made.content
    told = json.loads(made.content)
    assert (told["user"], told["answered_at"], told["p50"]) == ("ada", None, None)
    StartQuestion.objects.update(answered_at=clock.now(), p50=1_700_000_000, nodes=["n1"], level="P0")
    address = f"/api/v1/start-questions/{told['id']}/"
    again = ada.get(address).json()
    assert (again["nodes"], again["level"], again["p50"] is not None) == (["n1"], "P0", True)
    other = Client()
    other.force_login(house.people["vera"])
    assert other.get(address).status_code == 404


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ({"partition": "none"}, "partition"),
        ({"time_limit_s": 5}, "time_limit_s"),
        ({"request": {"nodes": 0, "per_node": {}}}, "request"),
        ({"request": {}}, "request"),
        ({"other": 1}, "other"),
    ],
)
def test_a_question_that_makes_no_sense_names_the_field(
    house: House, ada: Client, keys: dict[str, object], field: str
) -> None:
    answer = post(ada, question(**keys))
    assert answer.status_code == 400
    assert any(name.startswith(field) for name in json.loads(answer.content)["error"]["fields"])
    assert not StartQuestion.objects.exists()


def test_one_account_asks_only_so_much(house: House, ada: Client) -> None:
    for _ in range(MOST_OPEN):
        assert post(ada, question()).status_code == 201
    assert post(ada, question()).status_code == 409
