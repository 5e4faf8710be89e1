"""Patience on a real Slurm with a slurmdbd: whether anybody is stopped depends on what jobs have taken so far."""

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.forecasts.models import FinishedSource, JobForecast, KeptRun
from console.forecasts.recording import keep_accounted
from console.steering.models import PlannedAction
from deploy.private_slurm import Accounting, PrivateSlurm
from deploy.private_slurm.config import Partition
from scheduler.model.actions import ActionKind
from tests.e2e.foretold import Foretold, started_at
from tests.e2e.slurm_driver import Driver, attached
from tests.plugins.private_slurm import need_accounting, new_root

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.e2e,
]

RUNS_S = 40
LATE_S = 60
"""So much later a busy machine may see the end of a job."""
JOBS = 50
PATIENT_S, HURRIED_S = 200, 5
URGENT = ("-n", "1", "-c", "60", "--mem=1M")
SHORT = f"#!/bin/bash\nsleep {RUNS_S}\n"
POLICY = {
    "mode": "user",
    "levels": [{"name": "P0"}, {"name": "P1"}],
    "user_overrides": {"ann": "P1", "cy": "P0"},
}


@pytest.fixture
def driver(db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """One node of 100 CPUs."""
    need_accounting()
    with (
        PrivateSlurm(
            new_root(), nodes=1, cpus=100, gpus=0, accounts=Accounting(),
            partitions=(Partition("x", (1,), {"Default": "YES"}),), remove_root=True,
        ) as slurm,
        attached(slurm, settings, monkeypatch) as driver,
    ):  # fmt: skip
        yield driver


def fill(driver: Driver, wave: str) -> set[str]:
    """Fifty jobs that fill the node, and run: released together, as the first must not end before the last is there."""
    jobs = {
        driver.submit("ann", f"{wave}{n}", "--hold", "-n", "1", "-c", "2", "--mem=1M", script=SHORT)
        for n in range(JOBS)
    }
    driver.slurm.run(["scontrol", "release", ",".join(jobs)])
    driver.steer_until(lambda: driver.slurm.states() == dict.fromkeys(jobs, "RUNNING"), f"{wave} runs")
    return jobs


def stops() -> int:
    return PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).count()


def accounted(driver: Driver) -> int:
    keep_accounted(driver.cluster)
    return KeptRun.objects.filter(source=FinishedSource.ACCOUNTING).count()


def test_an_urgent_job_waits_for_short_ones_or_stops_them_as_patience_says(driver: Driver) -> None:
    driver.policy("x", **POLICY, patience_s=PATIENT_S)
    told = Foretold(driver.cluster)
    fill(driver, "past")
    driver.steer_until(lambda: accounted(driver) == JOBS, "slurmdbd tells that the first fifty have ended")
    assert all(RUNS_S <= run.end - run.start <= RUNS_S + LATE_S for run in KeptRun.objects.all())

    fill(driver, "first")
    driver.steer()
    told.say()
    assert JobForecast.objects.filter(end_p80__isnull=False, ended_at=None).count() == JOBS
    urgent = driver.submit("cy", "urgent", *URGENT)
    submitted = time.time()
    driver.steer()
    assert driver.reason("urgent") == "starts_soon"
    driver.steer_until_running("urgent")
    assert stops() == 0
    assert started_at(driver.slurm, urgent) - submitted <= PATIENT_S
    driver.cancel("urgent")
    driver.steer_until(lambda: not driver.slurm.states(), "the urgent one has ended")

    driver.policy("x", **POLICY, patience_s=HURRIED_S)
    fill(driver, "second")
    driver.steer()
    told.say()
    driver.submit("cy", "hurried", *URGENT, script=SHORT)
    driver.steer_until_running("hurried")
    assert stops() > 0
