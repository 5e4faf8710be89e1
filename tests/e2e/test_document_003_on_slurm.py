"""Document 003's machine on a real Slurm: an elastic array gives one worker, and has it back afterwards."""

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.steering.models import Plan, PlannedAction, Victim
from deploy.private_slurm import PrivateSlurm
from deploy.private_slurm.config import Partition
from scheduler.model.actions import ActionKind
from tests.e2e.slurm_driver import SLEEP, Driver, attached
from tests.plugins.private_slurm import new_root

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
POLICY = {
    "mode": "user",
    "levels": LEVELS,
    "user_overrides": {"ann": "P0", "bob": "P3", "dee": "P3", "cy": "P1"},
    "grace_s": 2,
    "checkpoint_signal": "USR1",
}


@pytest.fixture(scope="module")
def machine(slurm_release: str) -> Iterator[PrivateSlurm]:
    """One node of 8 GPUs and 80 CPUs: two GPUs, 20 CPUs and 0 MB are one worker."""
    with PrivateSlurm(
        new_root(), nodes=1, cpus=80, gpus=8, version=slurm_release,
        partitions=(Partition("x", (1,), {"Default": "YES"}),), remove_root=True,
    ) as slurm:  # fmt: skip
        yield slurm


@pytest.fixture
def driver(
    db: None, machine: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    machine.clear()
    with attached(machine, settings, monkeypatch) as driver:
        yield driver


def asks(gpus: int, cpus: int) -> tuple[str, ...]:
    return ("-N", "1", "-n", "1", "-c", str(cpus), f"--gres=gpu:{gpus}", "--mem=1M")


def workers(driver: Driver, name: str) -> list[str]:
    """The running tasks of an array."""
    rows = driver.slurm.squeue("%F_%K", "-r", "-t", "RUNNING")
    return sorted(row.strip() for row in rows if row.split("_")[0] == driver.ids[name])


def test_one_worker_of_the_elastic_array_goes_and_comes_back(driver: Driver) -> None:
    driver.policy("x", **POLICY)
    driver.running("dee", "rigid", *asks(1, 10))
    words = "--comment=elastic:min=2,wish=3"
    driver.submit("bob", "train", *asks(2, 20), "--array=1-3", words, script=SLEEP)
    driver.slurm.wait_until(lambda: len(workers(driver, "train")) == 3, "three workers run")

    driver.submit("cy", "urgent", *asks(3, 30))
    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    plan = Plan.objects.get()
    assert (plan.state, plan.reason) == ("verified", "shrinks")
    (victim,) = plan.victims
    assert (victim["worker_of"], victim["amounts"]["gpu"]) == (driver.ids["train"], 2)
    assert len(workers(driver, "train")) == 2
    assert driver.states()["rigid"] == "RUNNING"
    assert driver.restarts()["rigid"] == 0
    assert driver.held() == set()

    driver.cancel("urgent")
    driver.steer_until(lambda: len(workers(driver, "train")) == 3, "the worker is back")
    driver.steer_until(lambda: Victim.objects.get().fate == "returned", "that is seen")
    assert PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).count() == 1
    assert Plan.objects.count() == 1


def test_at_its_minimum_it_gives_nothing_and_the_rigid_job_goes(driver: Driver) -> None:
    driver.policy("x", **POLICY)
    driver.submit("bob", "train", *asks(2, 20), "--array=1-3", "--comment=elastic:min=3", script=SLEEP)
    driver.slurm.wait_until(lambda: len(workers(driver, "train")) == 3, "three workers run")
    time.sleep(2)  # who has run for less goes first, and Slurm counts in seconds
    driver.running("dee", "rigid", *asks(1, 10))

    driver.submit("cy", "urgent", *asks(2, 20))
    driver.steer_until_running("urgent")

    assert driver.stopped() == {"rigid"}
    assert len(workers(driver, "train")) == 3
