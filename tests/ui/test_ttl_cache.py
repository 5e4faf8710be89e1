"""What is remembered of sums over weeks: for a minute, by its key, and never for somebody who may see less."""

from datetime import timedelta
from functools import partial

import pytest
from django.test import Client
from django.utils import timezone

from console.core import ttl_cache
from console.core.ttl_cache import OLDEST_S, clear_answers, recall_answer
from console.forecasts.quality import forecast_quality
from tests import factories
from tests.ui.conftest import House


class Time:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_the_same_is_made_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    turned, made = Time(), []
    monkeypatch.setattr(ttl_cache, "time", turned)

    def make() -> int:
        made.append(1)
        return len(made)

    assert [recall_answer("n", key, make) for key in "aab"] == [1, 1, 2]
    turned.now += OLDEST_S + 1
    assert recall_answer("n", "a", make) == 3


def test_only_the_last_few_are_kept_and_all_can_be_forgotten() -> None:
    for key in ("a", "b", "c"):
        recall_answer("n", key, partial(str, key), most=2)
    assert [recall_answer("n", key, lambda: "new", most=2) for key in ("b", "c", "a")] == ["b", "c", "new"]
    assert recall_answer("another", "b", lambda: "its own") == "its own"
    clear_answers()
    assert recall_answer("n", "c", lambda: "new") == "new"


@pytest.mark.django_db
def test_forecasts_are_told_of_the_partitions_that_are_asked_for_and_anew_when_one_has_ended(
    house: House,
) -> None:
    def ended(job_id: str, partition: str) -> None:
        at = timezone.now() - timedelta(minutes=5)
        factories.make_forecast(house.cluster, job_id, partition=partition, ran_s=3600, ended_at=at)

    ended("1", "x")
    ended("2", "y")
    found = [forecast_quality(house.cluster, names) for names in (["x", "y"], ["x"], [])]
    assert [each.total and each.total.jobs for each in found] == [2, 1, None]
    ended("3", "x")
    again = forecast_quality(house.cluster, ["x"])
    assert again.total is not None
    assert again.total.jobs == 2


@pytest.mark.django_db
def test_what_one_has_read_is_said_to_the_next_in_the_own_language(house: House) -> None:
    at = timezone.now() - timedelta(minutes=5)
    for number in range(40):
        factories.make_forecast(house.cluster, str(number), ran_s=3600, ended_at=at)
    for page in ("/forecasts/", "/insights/", "/partitions/x/timeline/?span=7d"):
        said: dict[str, list[str]] = {}
        for language in ("en", "zh-hans", "en"):
            browser = Client(HTTP_ACCEPT_LANGUAGE=language)
            browser.force_login(house.people["ada"])
            said.setdefault(language, []).append(browser.get(page).content.decode())
        assert "没有" not in "".join(said["en"])
        assert said["zh-hans"][0] != said["en"][0]
