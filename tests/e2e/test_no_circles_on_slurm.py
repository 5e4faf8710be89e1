"""On a real Slurm: who has come back rests, and for whom it is in vain again and again nobody is stopped."""

import time
from functools import partial
from typing import Any

import pytest
from django.db.models import QuerySet

from console.steering.models import FailedStart
from console.steering.past import past_of
from tests.e2e.slurm_driver import Driver

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
BY_TASK: dict[str, Any] = {"mode": "task", "levels": LEVELS, "max_preemptions_per_job": 100, "cool_down_s": 0}


def test_who_has_come_back_is_not_stopped_again_at_once(driver: Driver) -> None:
    driver.policy("x", **BY_TASK, rest_s=3600)
    low = driver.running("ann", "l3_low", "-p", "x", "-n1", "-c8")
    begun = time.monotonic()
    driver.steer_until(lambda: time.monotonic() > begun + 2, "it has run for two seconds of Slurm's clock")
    first = driver.submit("cy", "l0_first", "-p", "x", "-n1", "-c8")
    driver.steer_until_running("l0_first")
    driver.steer_until_settled()
    driver.slurm.run(["scancel", first])
    driver.steer_until_running("l3_low")

    driver.submit("cy", "l0_second", "-p", "x", "-n1", "-c8")
    driver.steer_quietly(10)

    assert driver.states()["l3_low"] == "RUNNING"
    assert (driver.restarts()["l3_low"], driver.reason("l0_second")) == (1, "not_enough_even_so")
    assert past_of(driver.cluster).runs[low][0].ran_s >= 1


def fail(driver: Driver, job: str) -> None:
    """Put the job back, as Slurm does it with one whose script ends with a code of RequeueExit."""
    driver.slurm.run(["scontrol", "requeue", job])
    over = time.monotonic() + 2
    # 22.05.8 loses a job that starts again in the clock second of its requeue.
    driver.steer_until(lambda: time.monotonic() > over, "Slurm has noted that it is over")


def _at_least(failed: QuerySet[FailedStart], starts: int) -> bool:
    return failed.count() >= starts


def test_nobody_is_stopped_for_a_job_that_ends_at_once_again_and_again(driver: Driver) -> None:
    driver.policy("x", **BY_TASK, max_crashes_per_hour=2)
    driver.running("ann", "l3_low", "-p", "x", "-n1", "-c8")
    urgent = driver.submit("cy", "l0_urgent", "-p", "x", "-n1", "-c8")
    for starts in (1, 2):
        driver.steer_until_running("l0_urgent")
        driver.steer_until_settled()
        fail(driver, urgent)
        driver.steer_until_running("l3_low")
        failed = FailedStart.objects.filter(cluster=driver.cluster)
        driver.steer_until(partial(_at_least, failed, starts), "it is counted as a failed start")
        assert failed.count() == starts
        # Slurm would have it wait for two minutes.
        driver.slurm.run(["scontrol", "update", f"JobId={urgent}", "StartTime=now"])

    driver.steer_until(lambda: driver.reason("l0_urgent") == "crashes", "it has lost the right")
    driver.steer_quietly(10)

    assert (driver.states()["l3_low"], driver.restarts()["l3_low"]) == ("RUNNING", 2)
