"""Document 003 on a real Slurm: an elastic job of two nodes gives one by a restart, with GPUs, or in place."""

import os
import signal
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.steering.models import Checkpoint, Plan, PlanKind, PlannedAction, Victim
from deploy.private_slurm import PrivateSlurm, releases
from deploy.private_slurm.config import Partition
from scheduler.model.actions import ActionKind
from tests.e2e.slurm_driver import NAIVE, READY, SLEEP, Driver, at, attached
from tests.e2e.test_document_003_on_slurm import POLICY, asks
from tests.plugins.private_slurm import new_root

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]


@pytest.fixture(scope="module")
def machine(slurm_release: str) -> Iterator[PrivateSlurm]:
    """Two nodes of 8 GPUs and 80 CPUs."""
    with PrivateSlurm(
        new_root(), nodes=2, cpus=80, gpus=8, version=slurm_release,
        partitions=(Partition("x", (1, 2), {"Default": "YES"}),), remove_root=True,
    ) as slurm:  # fmt: skip
        yield slurm


@pytest.fixture
def driver(
    db: None, machine: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    machine.clear()
    with attached(machine, settings, monkeypatch) as driver:
        yield driver


def nodes_of(driver: Driver, name: str) -> int:
    """On how many nodes a job runs."""
    rows = driver.slurm.squeue("%A %D", "-t", "RUNNING")
    return sum(int(row.split()[1]) for row in rows if row.split()[0] == driver.ids[name])


def full_machine(driver: Driver, how: str, *gpus: str, script: str = SLEEP, grace_s: int = 2) -> None:
    """One GPU and 10 CPUs are left on each node: a rigid job of 5 and 50 on each, and 2 and 20 of the elastic one."""
    driver.policy("x", **{**POLICY, "grace_s": grace_s})
    for name in ("rigid1", "rigid2"):
        driver.submit("dee", name, *asks(5, 50), f"--nodelist=n{name[-1]}", script=SLEEP)
    driver.slurm.wait_until(lambda: nodes_of(driver, "rigid1") + nodes_of(driver, "rigid2") == 2, "both run")
    words = f"--comment=elastic:min=1,wish=2,how={how}"
    each = ("--ntasks-per-node=1", "-c", "20", "--mem=1M")
    driver.running("bob", "train", "-N", "2", *each, *gpus, words, script=script)
    assert nodes_of(driver, "train") == 2


def test_by_restart_with_gpus(driver: Driver) -> None:
    full_machine(driver, "restart", "--gres=gpu:2")

    driver.submit("cy", "urgent", *asks(3, 30))
    driver.steer_until_running("urgent")
    driver.steer_until(lambda: nodes_of(driver, "train") == 1, "the elastic job runs on one node")
    driver.steer_until_settled()

    plan = Plan.objects.get()
    assert (plan.state, plan.reason) == ("verified", "shrinks")
    (victim,) = plan.victims
    assert (victim["by"], len(victim["keeps"]), victim["least"]) == ("restart", 1, 1)
    assert driver.stopped() == {"train"}
    assert {driver.restarts()[name] for name in ("rigid1", "rigid2")} == {0}
    assert driver.restarts()["train"] == 1
    assert driver.held() == set()
    assert [action.state for action in PlannedAction.objects.filter(kind=ActionKind.RESIZE)] == ["verified"]
    driver.steer_until(lambda: Victim.objects.get().fate == "returned", "that is seen")


def test_in_place_without_gpus_nothing_is_stopped(driver: Driver) -> None:
    full_machine(driver, "inplace")

    driver.submit("cy", "urgent", "-N", "1", "-n", "1", "-c", "30", "--mem=1M")
    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    plan = Plan.objects.get()
    assert (plan.state, plan.reason, plan.victims[0]["by"]) == ("verified", "shrinks", "inplace")
    assert nodes_of(driver, "train") == 1
    assert set(driver.restarts().values()) == {0}
    assert driver.stopped() == set()
    assert driver.held() == set()


def test_by_restart_of_a_job_that_its_checkpoint_signal_ends(driver: Driver) -> None:
    """As of a script that does not catch it, or has not come to that yet: it is put back with one node all the same,
    also where the other starts while the last node is still cleaning up."""
    full_machine(driver, "restart", "--gres=gpu:2", script=NAIVE)
    slow = driver.slurm.daemons()["slurmd-n2"]

    with at("act.signal.due", lambda: os.kill(slow, signal.SIGSTOP)):
        try:
            driver.submit("cy", "urgent", *asks(3, 30))
            driver.steer_until_running("urgent")
            driver.steer_quietly()
        finally:
            os.kill(slow, signal.SIGCONT)
    driver.steer_until(lambda: nodes_of(driver, "train") == 1, "the elastic job runs on one node")
    driver.steer_until_settled()

    assert driver.stopped() == {"train"}
    assert [action.state for action in PlannedAction.objects.filter(kind=ActionKind.RESIZE)] == ["verified"]


SAVES = f"""#!/bin/bash
trap 'scontrol update JobId=$SLURM_JOB_ID Comment="$WORDS ckpt:run=${{SLURM_RESTART_COUNT:-0}}"' USR1
{READY}while true; do sleep 600 & wait $!; done
"""
"""Acknowledges each checkpoint that it is asked for, and goes on."""


@pytest.mark.parametrize("how", ["restart", "inplace"])
def test_it_is_back_at_its_wish_after_the_urgent_one_ended(
    driver: Driver, how: str, slurm_release: str
) -> None:
    """With GPUs by a restart; in place without. It has an hour left, so that a restart pays."""
    words = f"elastic:min=1,wish=2,how={how}"
    script = SAVES.replace("$WORDS", words)
    full_machine(
        driver, how, *(("--gres=gpu:2",) if how == "restart" else ()), "--time=60", script=script,
        # As long as a busy machine may need to say that it has saved; 22.05 never says so in place.
        grace_s=20 if how == "inplace" and slurm_release == releases.SYSTEM else 300,
    )  # fmt: skip
    urgent = asks(3, 30) if how == "restart" else ("-N", "1", "-n", "1", "-c", "30", "--mem=1M")
    driver.submit("cy", "urgent", *urgent)
    driver.steer_until_running("urgent")
    driver.steer_until(lambda: nodes_of(driver, "train") == 1, "the elastic job runs on one node")
    driver.steer_until_settled()
    before = driver.restarts()["train"]

    driver.cancel("urgent")
    if how == "inplace" and slurm_release == releases.SYSTEM:
        # 22.05 without slurmdbd takes no comment of a job that was made smaller while it runs.
        driver.steer_until(
            lambda: Plan.objects.filter(kind=PlanKind.GROW, state="undone").exists(), "given up"
        )
        assert "has not said in time" in str(Plan.objects.get(kind=PlanKind.GROW).undo_reason)
        assert (nodes_of(driver, "train"), driver.restarts()["train"]) == (1, before)
        return
    driver.steer_until(lambda: nodes_of(driver, "train") == 2, "it is back on two nodes")
    driver.steer_until_settled()

    plan = Plan.objects.get(kind=PlanKind.GROW)
    assert (plan.state, plan.job_id, plan.undo_reason) == ("verified", driver.ids["train"], "")
    asked, stop = Checkpoint.objects.get(plan=plan), plan.actions.get(kind=ActionKind.REQUEUE_HOLD)
    assert (asked.saved, stop.state) == (f"run={before}", "verified")
    assert asked.acknowledged_at is not None
    assert stop.issued_at is not None
    assert asked.acknowledged_at <= stop.issued_at
    assert driver.restarts()["train"] == before + 1
    assert {driver.restarts()[name] for name in ("rigid1", "rigid2")} == {0}
    assert driver.held() == set()
