"""Forecasts over the API, and how good they were."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from console.forecasts.models import RunTimeModel
from tests import factories
from tests.api.conftest import House

HOUR = 3600


def test_a_job_s_forecast(house: House, ada: APIClient) -> None:
    factories.make_job(house.cluster, "700", user="ann")
    factories.make_forecast(house.cluster, "700", version="abc")
    answer = ada.get("/api/v1/jobs/700/forecast/").json()
    assert (answer["p50"], answer["low"], answer["high"], answer["end_p50"]) == (HOUR, 900, 4 * HOUR, None)
    assert answer["version"] == "abc"
    assert ada.get("/api/v1/jobs/88/forecast/").status_code == 404


def ended(house: House, count: int, ran_s: int, **fields: Any) -> None:
    for n in range(count):
        name = f"{fields.get('user', 'ann')}{ran_s}{n}{fields.get('partition', '')}"
        factories.make_forecast(house.cluster, name, ran_s=ran_s, ended_at=timezone.now(), **fields)


def test_how_good_they_were_by_user_partition_and_promise(house: House, ada: APIClient) -> None:
    ended(house, 12, HOUR)
    ended(house, 10, 10 * HOUR, user="bob", limit_s=20 * HOUR)
    ended(house, 3, HOUR, partition="elsewhere")
    factories.make_forecast(house.cluster, "old", ran_s=1, ended_at=timezone.now() - timedelta(days=40))
    RunTimeModel.objects.create(
        cluster=house.cluster, version="abcdef", made_at=timezone.now(), jobs=100, later_jobs=40, figure=0.61,
        figure_before=None, figure_medians=0.55, in_force=True,
    )  # fmt: skip
    answer = ada.get("/api/v1/forecasts/").json()
    total = answer["total"]
    assert (total["jobs"], total["within"], total["longer"]) == (
        22,
        pytest.approx(12 / 22),
        pytest.approx(10 / 22),
    )
    assert total["figure"] == pytest.approx((12 + 10 * 0.1) / 22)
    assert answer["limit"] == pytest.approx(0.5)
    assert [(row["name"], row["jobs"]) for row in answer["worst_users"]] == [("bob", 10), ("ann", 12)]
    assert [row["name"] for row in answer["partitions"]] == ["x"]
    kept = {row["name"]: row["was"] for row in answer["promises"]}
    assert kept == {
        "low": 0,
        "p10": 0,
        "p50": 0,
        "p90": pytest.approx(12 / 22),
        "high": pytest.approx(12 / 22),
    }
    assert answer["models"][0]["version"] == "abcdef"
