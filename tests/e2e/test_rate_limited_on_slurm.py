"""A slurmctld that lets Giveway's account ask only so often (`rl_enable`): plans are carried out whole, only slower."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.steering.models import Incident, Plan, PlanState, SteeringMinute
from console.steering.pace import steer_for
from deploy.private_slurm import PrivateSlurm
from tests.e2e.slurm_driver import Driver, attached
from tests.plugins.private_slurm import LIMITS, OPERATOR, new_root, operated_slurm

pytestmark = [
    pytest.mark.slurm, pytest.mark.e2e, pytest.mark.django_db, pytest.mark.timeout(3000),
]  # fmt: skip

VICTIMS = 20
PATIENCE_S = 2400.0
SLOW = "40, 4 a minute"
LONG = os.environ.get("GIVEWAY_FAULTS_LONG") == "1"
"""Twelve minutes a release: with the long form of the faults (`make test-faults`)."""
CASES = [
    ("24.11", "30, 2 a second"),
    ("26.05", "30, 2 a second"),
    *([("24.11", SLOW), ("26.05", SLOW)] if LONG else []),
]


@pytest.fixture(params=CASES, ids=[f"{release}: {limit}" for release, limit in CASES])
def limited(request: pytest.FixtureRequest) -> Iterator[PrivateSlurm]:
    """One node full of small jobs, whose slurmctld limits the Operator account."""
    release, limit = request.param
    root = new_root()
    try:
        with operated_slurm(root, release, LIMITS[limit], nodes=1, cpus=VICTIMS) as slurm:
            yield slurm
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def driver(
    limited: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Driver]:
    """A console whose commands are sent by that account."""
    uid = int(limited.run(["id", "-u", OPERATOR]).stdout)
    monkeypatch.setattr("scheduler.adapters.slurm.requests.os.geteuid", lambda: uid)
    env = limited.make_commands(limited.root / "as-operator", OPERATOR)
    with attached(limited, settings, monkeypatch) as driver:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield driver


def test_a_plan_of_twenty_victims_is_carried_out_whole(driver: Driver) -> None:
    levels = [{"name": f"P{n}"} for n in range(2)]
    overrides = {"ann": "P1", "cy": "P0"}
    driver.policy("x", mode="user", levels=levels, user_overrides=overrides, start_deadline_s=1800)
    victims = [f"low{number}" for number in range(VICTIMS)]
    for name in victims:
        driver.submit("ann", name, "-p", "x", "-n1", "-c1", "--mem=10")
    driver.slurm.wait_until(
        lambda: all(driver.states()[name] == "RUNNING" for name in victims), "the low jobs run"
    )
    driver.submit("cy", "urgent", "-p", "x", "-n1", f"-c{VICTIMS}", "--mem=10")

    until = time.monotonic() + PATIENCE_S
    while driver.states()["urgent"] != "RUNNING":
        assert time.monotonic() < until, driver.story()
        steer_for(driver.cluster, 0.9)
    plan = Plan.objects.get()
    assert len(plan.victims) == VICTIMS
    while plan.state in {PlanState.APPROVED, PlanState.EXECUTING}:
        assert time.monotonic() < until, driver.story()
        steer_for(driver.cluster, 0.9)
        plan.refresh_from_db()
    assert plan.state == PlanState.VERIFIED, driver.story()
    assert plan.actions.filter(kind="requeue_hold", state="verified").count() == VICTIMS
    assert all(driver.states()[name] == "PENDING" for name in victims), "nobody is lost"
    assert not Incident.objects.exists()
    driver.cluster.refresh_from_db()
    assert driver.cluster.slowed_at is not None, "and the pages say why it took so long"
    asked = SteeringMinute.objects.filter(source="steering")
    assert sum(row.limited for row in asked) > 0
