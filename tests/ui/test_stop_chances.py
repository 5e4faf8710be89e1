"""The chance of being stopped, on a running job's page."""

import pytest
from django.test import Client

from console.cluster.models import Job
from console.core import clock
from console.starts.models import LEAST_JOBS, LEAST_STOPPED, StopChance, StopTally
from console.starts.selectors import STALE_S, forecast_and_risk
from tests import factories
from tests.ui.conftest import House


def now() -> int:
    return int(clock.now().timestamp())


def tally_of(house: House, **keys: float) -> StopTally:
    """By which chances in x are twice as good as the share that was stopped."""
    known = {"jobs": LEAST_JOBS, "stopped": LEAST_STOPPED, "squares": 4.0, "base_squares": 8.0, **keys}
    return StopTally.objects.create(cluster=house.cluster, partition="x", **known)


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
    tally_of(house)
    assert said in ada.get("/jobs/900/").content.decode()


def test_not_what_was_said_long_ago_or_of_another_run(house: House, ada: Client) -> None:
    row = chance_of(house, 0.5)
    tally_of(house)
    job = factories.make_running_job(house.cluster, "901")
    assert forecast_and_risk(house.cluster, job) == (None, None)
    StopChance.objects.filter(pk=row.pk).update(made_at=now() - STALE_S - 1)
    assert "within the next hour" not in ada.get("/jobs/900/").content.decode()
    StopChance.objects.filter(pk=row.pk).update(made_at=now(), start=row.start - 5)
    assert "within the next hour" not in ada.get("/jobs/900/").content.decode()


@pytest.mark.parametrize(
    "keys",
    [{"jobs": LEAST_JOBS - 1}, {"stopped": LEAST_STOPPED - 1}, {"squares": 8.0}, {"partition": "wide"}],
)
def test_none_is_shown_where_it_was_no_better_than_one_figure_for_all(
    house: House, ada: Client, keys: dict[str, float]
) -> None:
    chance_of(house, 0.5)
    partition = keys.pop("partition", "x")
    tally = tally_of(house, **keys)
    StopTally.objects.filter(pk=tally.pk).update(partition=partition)
    assert "within the next hour" not in ada.get("/jobs/900/").content.decode()


def test_how_good_chances_were(house: House, ada: Client) -> None:
    assert "It is not known yet of any job whether it was stopped" in ada.get("/forecasts/").content.decode()
    tally_of(house, squares=2.0)
    page = ada.get("/forecasts/").content.decode()
    assert ("0.0100" in page, "0.0400" in page, ">75\N{NO-BREAK SPACE}%<" in page, ">yes<" in page) == (
        True,
        True,
        True,
        True,
    )
    StopTally.objects.update(squares=9.0)
    assert "not yet" in ada.get("/forecasts/").content.decode()


def test_my_jobs_and_lists_have_it_in_a_column(house: House, ada: Client) -> None:
    row = chance_of(house, 0.124)
    tally_of(house)
    Job.objects.filter(job_id="900").update(user=house.people["ada"].slurm_user)
    assert ">12\N{NO-BREAK SPACE}%</td>" in ada.get("/my-jobs/").content.decode()
    assert ">12\N{NO-BREAK SPACE}%</td>" in ada.get("/partitions/x/?r_col=risk&r_col=name").content.decode()
    StopChance.objects.filter(pk=row.pk).update(start=row.start - 5)
    assert ">12\N{NO-BREAK SPACE}%</td>" not in ada.get("/my-jobs/").content.decode()


def test_the_api_tells_it_and_how_good_chances_were(house: House, ada: Client) -> None:
    row = chance_of(house, 0.124)
    assert ada.get("/api/v1/jobs/900/stop-chance/").status_code == 404
    assert ada.get("/api/v1/forecasts/").json()["stops"] == []
    tally_of(house)
    told = ada.get("/api/v1/jobs/900/stop-chance/").json()
    assert (told["job_id"], told["partition"], told["chance"]) == ("900", "x", 0.124)
    (stops,) = ada.get("/api/v1/forecasts/").json()["stops"]
    assert (stops["partition"], stops["below"], stops["shown"]) == ("x", 0.5, True)
    StopChance.objects.filter(pk=row.pk).update(start=row.start - 5)
    assert ada.get("/api/v1/jobs/900/stop-chance/").status_code == 404
