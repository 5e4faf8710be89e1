"""The page of insights, its API and its files: a sentence for each question, and nothing said of too little."""

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from console.core import clock
from console.insights.answers import QUESTIONS
from console.starts.quality import start_quality
from tests import factories
from tests.insights.conftest import HOUR, make_day, make_room, make_stops
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn

pytestmark = pytest.mark.django_db
AT, API = "/insights/", "/api/v1/insights/"


@pytest.fixture
def two_weeks(house: House) -> House:
    """Seven days, in which level 0 waits 60 s and level 1 an hour, and seven before, in which 0 waited 120 s."""
    for ago in range(7):
        make_day(house.cluster, ago, {"0": [60.0] * 4, "1": [3600.0] * 4})
        make_day(house.cluster, ago + 7, {"0": [120.0] * 4, "none": [5.0]})
    make_stops(house.cluster, 1, "alpha", "beta", gpu_saved=HOUR)
    make_stops(house.cluster, 2, "alpha", "beta", stops=2)
    make_stops(house.cluster, 2, "beta", "", cause="cancel")
    make_stops(house.cluster, 8, "beta", "alpha", gpu_lost=HOUR)
    make_room(house.cluster, 1, "alpha")
    return house


def page(browser: Client, query: str = "") -> str:
    answer = browser.get(AT + query)
    assert answer.status_code == 200
    return words_of(answer.content.decode())


def told(browser: Client, query: str = "") -> dict[str, Any]:
    answer = browser.get(API + query)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def rows_of(browser: Client, question: str, query: str = "") -> list[dict[str, str]]:
    answer = browser.get(f"{API}{question}.csv{query}")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_of_nothing_nothing_is_said_or_drawn(house: House, ada: Client) -> None:
    shown = page(ada)
    assert "Nothing is known of this time: nothing was seen in it, or it is not added up yet." in shown
    assert "Too little is known to answer: 0 starts in one level, and 10 are needed." in shown
    assert "Nobody was stopped." in shown
    assert "<figure" not in ada.get(AT).content.decode()


def test_coverage_comes_first_and_says_what_can_be_compared(two_weeks: House, ada: Client) -> None:
    shown = page(ada, "?days=7")
    assert "Seen: 7 of 7 days with data, 168 h. The same time before: 7 of 7 days with data, 168 h." in shown
    assert shown.index("Seen:") < shown.index("How long did jobs wait?")
    month = page(ada, "?days=30")
    assert "Seen: 14 of 30 days with data, 336 h. Of the same time before nothing was seen." in month


def test_waits_are_told_by_level_against_the_time_before(two_weeks: House, ada: Client) -> None:
    answer = told(ada, "?days=7")
    top, second, unconfigured = answer["waits"]
    assert (top["partition"], top["rank"], top["level"], top["jobs"]) == ("x", 0, "P0", 28)
    assert top["median_s"] == pytest.approx(60, rel=0.1)
    assert top["median_before_s"] == pytest.approx(120, rel=0.1)
    assert second["median_s"] == pytest.approx(3600, rel=0.1)
    assert second["median_before_s"] is None
    assert (unconfigured["rank"], unconfigured["jobs"], unconfigured["jobs_before"]) == (None, 0, 7)
    assert unconfigured["median_before_s"] is None, "seven jobs are too few"
    assert "Half the jobs of P0 on x waited up to" in answer["sentences"]["waits"]
    assert "(before: " in answer["sentences"]["waits"]


@pytest.mark.parametrize(
    ("language", "title", "labels"),
    [
        ("en", "Median wait", {"60 s", "2 min", "55 min"}),
        ("zh-hans", "等待中位数", {"60 秒", "2 分钟", "55 分钟"}),
    ],
)
def test_bars_of_waits_are_told_as_durations(
    two_weeks: House, ada: Client, language: str, title: str, labels: set[str]
) -> None:
    """Not in minutes with three digits after the point."""
    ada.cookies["language"] = language
    shown = ada.get(f"{AT}?days=7").content.decode()
    figure = shown.split("<figure", 1)[1].split("</figure>", 1)[0]
    assert f">{title}</figcaption>" in figure
    written = {words_of(each).strip() for each in re.findall(r"<text[^>]*>(.*?)</text>", figure, re.DOTALL)}
    assert labels <= written, written


def test_work_lost_and_saved_by_cause(two_weeks: House, ada: Client) -> None:
    answer = told(ada, "?days=7")
    room, cancelled = answer["work"]
    assert (room["cause"], room["stops"], room["stops_before"]) == ("room", 3, 1)
    assert (room["lost"]["gpu_hours"], room["saved"]["gpu_hours"], room["lost_before"]["gpu_hours"]) == (
        4,
        1,
        1,
    )
    assert (cancelled["cause"], cancelled["stops"]) == ("cancel", 1)
    assert answer["sentences"]["work"] == (
        "4 stops lost 6 GPU-hours; checkpoints saved 1 GPU-hour. Before: 1 GPU-hour lost, no work saved."
    )
    assert "Before" not in told(ada, "?days=30")["sentences"]["work"], "nothing was seen before"


def test_who_gained_and_who_paid(two_weeks: House, ada: Client) -> None:
    answer = told(ada, "?days=7")
    rows = {row["project"]: row for row in answer["projects"]}
    assert list(rows) == ["beta", "alpha", ""]
    assert (rows["alpha"]["made"], rows["alpha"]["suffered"], rows["alpha"]["room"]["gpu_hours"]) == (3, 0, 5)
    assert (rows["beta"]["made"], rows["beta"]["suffered"], rows["beta"]["lost"]["gpu_hours"]) == (1, 3, 4)
    assert answer["sentences"]["projects"] == (
        "alpha gained the most: 3 stops made room for it, and its jobs that had got room ran 5 GPU-hours."
        " beta paid the most: 4 GPU-hours lost by 3 stops."
    )
    assert "no known project" in page(ada, "?days=7")


@pytest.mark.parametrize(
    ("who", "codes"),
    [
        ("ada", ["beta", "alpha", ""]),
        ("otto", ["beta", "alpha", ""]),
        ("dave", ["beta", "alpha", ""]),
        ("pam", ["alpha"]),
        ("vera", []),
    ],
)
def test_projects_are_told_to_those_who_may_see_them(
    two_weeks: House, signed_in: SignedIn, who: str, codes: list[str]
) -> None:
    browser = signed_in(who)
    answer = told(browser, "?days=7")
    assert [row["project"] for row in answer["projects"]] == codes
    assert [row["project"] for row in rows_of(browser, "projects", "?days=7")] == codes
    assert answer["work"][0]["stops"] == 3, "totals are everybody's"
    shown = page(browser, "?days=7")
    hidden = {"alpha", "beta"} - set(codes)
    section = shown[shown.index("Who gained, and who paid?") : shown.index("How often are jobs stopped?")]
    assert not [code for code in hidden if code in section]
    if not codes:
        assert "none is yours to see" in section


def test_stops_per_job_hour_against_the_limit_by_the_hour(
    two_weeks: House, ada: Client, signed_in: SignedIn
) -> None:
    factories.put_in_force(two_weeks.x, max_stops_per_hour=2)
    x, y = told(ada, "?days=7")["stops"]
    assert (x["stops"], x["job_hours"], x["rate"]) == (4, 336, 11.9)
    assert x["bound"] == 1000, "2 stops an hour, while 2 jobs run"
    assert (y["partition"], y["rate"], y["bound"]) == ("y", None, None)
    assert "11.9 stops per 1,000 hours that jobs ran (before: 2.98)." in page(ada, "?days=7")
    assert "The limits of x allow 1,000 there; it had 11.9." in page(ada, "?days=7")
    assert told(signed_in("vera"), "?days=7")["stops"][0]["bound"] is None, "the policy is not hers to see"


def test_forecasts_are_counted_as_their_own_page_counts(house: House, ada: Client) -> None:
    now = clock.now()
    for number in range(40):
        ran_s = 3600 * (1 + number % 5)
        factories.make_forecast(house.cluster, str(number), ran_s=ran_s, ended_at=now - timedelta(hours=1))
    theirs = ada.get("/api/v1/forecasts/").json()["total"]
    run_times, starts = told(ada)["forecasts"]
    assert run_times["near"] == pytest.approx(theirs["figure"])
    assert run_times["within"] == pytest.approx(theirs["within"])
    assert (run_times["jobs"], run_times["jobs_before"], run_times["near_before"]) == (40, 0, None)
    assert (starts["jobs"], starts["near"]) == (0, None)
    assert "Starts: Too little is known to answer: 0 jobs with a forecast, and 30 are needed." in page(ada)


def test_starts_are_counted_as_their_own_page_counts(house: House, ada: Client) -> None:
    epoch = int(clock.now().timestamp())
    for number in range(30):
        job = factories.make_job(house.cluster, f"9{number:03}")
        factories.make_expected_start(job, started=epoch + 100 * number, gone_at=clock.now())
    score = start_quality(house.cluster, ["x"]).total
    assert score is not None
    _run_times, starts = told(ada)["forecasts"]
    assert (starts["near"], starts["within"]) == pytest.approx((score.near, score.within))
    assert 0 < score.near < 1 and 0 < score.within < 1


def test_of_one_partition_alone(two_weeks: House, ada: Client) -> None:
    make_stops(two_weeks.cluster, 1, "alpha", "beta", partition="y", stops=9)
    assert sum(row["stops"] for row in told(ada, "?days=7&partition=x")["work"]) == 4
    assert sum(row["stops"] for row in told(ada, "?days=7")["work"]) == 13
    assert [row["partition"] for row in told(ada, "?days=7&partition=y")["stops"]] == ["y"]
    assert ada.get(f"{AT}?partition=nowhere").status_code == 404
    assert ada.get(f"{API}?partition=nowhere").status_code == 404


def test_a_month_is_compared_with_the_month_before(house: House, ada: Client) -> None:
    answer = told(ada, "?month=2026-03")
    assert (answer["first"], answer["last"]) == ("2026-03-01", "2026-03-31")
    assert (answer["seen"]["of_days"], answer["seen_before"]["of_days"]) == (31, 28)
    assert "March 2026" in page(ada, "?month=2026-03")


@pytest.mark.parametrize(
    "query", ["?days=8", "?month=2026-13", "?month=0", "?month=2026-01&days=7", "?dayz=7"]
)
def test_a_time_that_there_is_not_is_refused_by_the_api_and_the_usual_one_on_the_page(
    house: House, ada: Client, query: str
) -> None:
    assert ada.get(API + query).status_code == 400
    assert ada.get(f"{API}waits.csv{query}").status_code == 400
    if "days=7" not in query:
        assert "the last 30 days" in page(ada, query)


def test_each_answer_is_a_file_with_the_numbers_of_the_api(two_weeks: House, ada: Client) -> None:
    api = told(ada, "?days=7")
    work = rows_of(ada, "work", "?days=7")
    assert [float(row["lost_gpu_hours"]) for row in work] == [row["lost"]["gpu_hours"] for row in api["work"]]
    waits = rows_of(ada, "waits", "?days=7")
    assert [row["level"] for row in waits] == [row["level"] for row in api["waits"]]
    assert [float(row["rate"] or 0) for row in rows_of(ada, "stops", "?days=7")] == [11.9, 0]
    assert [row["of"] for row in rows_of(ada, "forecasts")] == ["run_times", "starts"]
    assert ada.get(f"{API}nothing.csv").status_code == 404
    for question in QUESTIONS:
        assert f"{API}{question}.csv?days=7" in ada.get(f"{AT}?days=7").content.decode()


def test_a_cell_is_no_formula(two_weeks: House, ada: Client) -> None:
    make_stops(two_weeks.cluster, 1, "=1+1", "beta")
    assert "'=1+1" in [row["project"] for row in rows_of(ada, "projects", "?days=7")]


def test_plots_are_drawn_from_three_days_on(house: House, ada: Client) -> None:
    for ago in range(2):
        make_day(house.cluster, ago, {"0": [60.0] * 20})
    assert "<figure" not in ada.get(AT).content.decode()
    make_day(house.cluster, 2, {"0": [60.0] * 20})
    assert "<figure" in ada.get(AT).content.decode()
