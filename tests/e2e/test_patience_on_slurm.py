"""Patience on a real Slurm: what jobs of a user have taken so far decides whether anybody is stopped for another."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.forecasts.forecaster import Forecaster
from console.forecasts.models import JobForecast, KeptRun
from console.forecasts.recording import keep_seen
from console.steering.models import PlannedAction
from deploy.private_slurm import PrivateSlurm
from deploy.private_slurm.config import Partition
from scheduler.model.actions import ActionKind
from tests.e2e.slurm_driver import Driver, attached
from tests.plugins.private_slurm import new_root

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.e2e,
    pytest.mark.xdist_group("slurm"),
]

RUNS_S = 15
JOBS = 50
SHORT = f"#!/bin/bash\nsleep {RUNS_S}\n"
POLICY = {
    "mode": "user",
    "levels": [{"name": "P0"}, {"name": "P1"}],
    "user_overrides": {"ann": "P1", "cy": "P0"},
}


@pytest.fixture
def driver(db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """One node of 100 CPUs."""
    with (
        PrivateSlurm(
            new_root(), nodes=1, cpus=100, gpus=0,
            partitions=(Partition("x", (1,), {"Default": "YES"}),), remove_root=True,
        ) as slurm,
        attached(slurm, settings, monkeypatch) as driver,
    ):  # fmt: skip
        yield driver


def fill(driver: Driver, wave: str) -> set[str]:
    """Fifty jobs that fill the node, and run."""
    jobs = {
        driver.submit("ann", f"{wave}{n}", "-n", "1", "-c", "2", "--mem=1M", script=SHORT)
        for n in range(JOBS)
    }
    driver.steer_until(lambda: driver.slurm.states() == dict.fromkeys(jobs, "RUNNING"), f"{wave} runs")
    return jobs


def forecast(driver: Driver) -> None:
    driver.steer()
    known = Forecaster(driver.cluster)
    known.refresh()
    known.forecast_jobs()


def stops() -> int:
    return PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).count()


def test_an_urgent_job_waits_for_short_ones_or_stops_them_as_patience_says(driver: Driver) -> None:
    driver.policy("x", **POLICY, patience_s=60)
    fill(driver, "past")
    driver.steer_until(lambda: not driver.slurm.states(), "the first fifty have ended")
    driver.steer()
    keep_seen(driver.cluster)
    assert KeptRun.objects.count() == JOBS
    assert all(RUNS_S <= run.end - run.start <= RUNS_S + 8 for run in KeptRun.objects.all())

    fill(driver, "first")
    forecast(driver)
    assert JobForecast.objects.filter(end_p80__isnull=False).count() == JOBS
    driver.submit("cy", "urgent", "-n", "1", "-c", "60", "--mem=1M", script=SHORT)
    driver.steer()
    assert driver.reason("urgent") == "starts_soon"
    driver.steer_until_running("urgent")
    assert stops() == 0
    driver.steer_until(lambda: not driver.slurm.states(), "the urgent one has ended")

    driver.policy("x", **POLICY, patience_s=2)
    fill(driver, "second")
    forecast(driver)
    driver.submit("cy", "hurried", "-n", "1", "-c", "60", "--mem=1M", script=SHORT)
    driver.steer_until_running("hurried")
    assert stops() > 0
