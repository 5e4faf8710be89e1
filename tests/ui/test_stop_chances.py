"""The chance of being stopped, on a running job's page."""

import pytest
from django.test import Client

from console.core import clock
from console.starts.models import StopChance
from console.starts.selectors import STALE_S, forecast_and_risk
from tests import factories
from tests.ui.conftest import House


def now() -> int:
    return int(clock.now().timestamp())


def chance_of(house: House, chance: float) -> StopChance:
    job = factories.make_running_job(house.cluster, "900")
    factories.make_forecast(house.cluster, "900")
    return StopChance.objects.create(
        cluster=house.cluster, partition="x", job_id="900", start=job.start, made_at=now(), chance=chance,
        drawn=chance, asked_at=now(), asked_drawn=chance, asked_chance=chance,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("chance", "said"), [(0.124, "within the next hour: 12 %"), (0.004, "hour: &lt; 1 %")]
)
def test_the_job_s_page_says_it(house: House, ada: Client, chance: float, said: str) -> None:
    chance_of(house, chance)
    assert said in ada.get("/jobs/900/").content.decode()


def test_not_what_was_said_long_ago_or_of_another_run(house: House, ada: Client) -> None:
    row = chance_of(house, 0.5)
    job = factories.make_running_job(house.cluster, "901")
    assert forecast_and_risk(house.cluster, job) == (None, None)
    StopChance.objects.filter(pk=row.pk).update(made_at=now() - STALE_S - 1)
    assert "within the next hour" not in ada.get("/jobs/900/").content.decode()
    StopChance.objects.filter(pk=row.pk).update(made_at=now(), start=row.start - 5)
    assert "within the next hour" not in ada.get("/jobs/900/").content.decode()
