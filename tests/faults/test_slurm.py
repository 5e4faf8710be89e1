"""The real slurmctld is restarted, hangs, refuses or answers with half a table, just when somebody is to be stopped."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.cluster import connect
from console.steering.models import Plan, PlannedAction
from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster
from scheduler.model.actions import ActionKind
from tests.e2e.slurm_driver import Driver, at
from tests.faults.conftest import LONG
from tests.faults.tally import Row, note

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
ONE_NODE = ("-p", "x", "-N", "1", "-n", "1", "-c", "8")
HUNG_S = 4.0
IMPATIENT_S, PATIENT_S = 2.0, 60.0


def some(*points: str) -> tuple[str, ...]:
    """The first of them in the short form."""
    return points if LONG else points[:1]


@pytest.fixture
def driver(
    db: None, clean_slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """A console attached to the private Slurm."""
    settings.GIVEWAY_CLUSTER = "slurm"
    for name, value in clean_slurm.env.items():
        monkeypatch.setenv(name, value)
    connect.forget_adapters()
    yield Driver(clean_slurm)
    connect.forget_adapters()


def patience(driver: Driver, seconds: float) -> None:
    """How long it waits for an answer from now on: not long for one that does not come, as long as a busy machine needs
    for the others."""
    adapter = connect.connect(driver.cluster)
    assert isinstance(adapter, SlurmCluster)
    adapter._runner.timeout_s = seconds


def begun(driver: Driver) -> None:
    """A low job runs, an urgent one waits for its place."""
    driver.policy("x", mode="user", levels=LEVELS, user_overrides={"ann": "P3", "cy": "P0"})
    driver.running("ann", "low", *ONE_NODE)
    driver.submit("cy", "urgent", *ONE_NODE)


def comes_right(driver: Driver, fault: str) -> None:
    """The urgent job runs, the low one was stopped once, and runs again when it may."""
    driver.steer_until_running("urgent")
    driver.steer_until_settled()
    restarts = driver.restarts()["low"]
    states = sorted(Plan.objects.values_list("state", flat=True))
    note(Row(fault, 1, restarts - 1, len(set(states) - {"verified", "undone"}), len(held(driver))))
    assert (restarts, held(driver)) == (1, [])
    assert set(states) <= {"verified", "undone"}
    driver.cancel("urgent")
    driver.steer_until_running("low")


@pytest.mark.parametrize("point", some("act.requeue_hold.applied", "act.requeue_hold.claimed"))
def test_slurmctld_is_restarted(driver: Driver, point: str) -> None:
    begun(driver)

    def restart() -> None:
        driver.slurm.stop_daemon("slurmctld")
        driver.slurm.start_daemon("slurmctld")

    with at(point, restart) as struck:
        driver.steer_until(struck, point)
        comes_right(driver, "slurmctld restarted")


@pytest.mark.parametrize("point", some("act.requeue_hold.claimed", "act.requeue_hold.due"))
def test_slurmctld_refuses(driver: Driver, point: str) -> None:
    """While it is away nobody is stopped, and it is said."""
    begun(driver)

    def stop() -> None:
        driver.slurm.stop_daemon("slurmctld")
        patience(driver, IMPATIENT_S)

    with at(point, stop) as struck:
        driver.steer_until(struck, point)
        reports = [driver.steer() for _ in range(2)]
    assert all(report.fault for report in reports)
    driver.cluster.refresh_from_db()
    assert driver.cluster.fault
    driver.slurm.start_daemon("slurmctld")
    patience(driver, PATIENT_S)
    assert driver.restarts()["low"] == 0

    comes_right_somehow(driver, "slurmctld down", 1)


@pytest.mark.parametrize("point", some("act.requeue_hold.claimed", "act.prioritise.applied"))
def test_slurmctld_hangs(driver: Driver, point: str) -> None:
    begun(driver)
    pid = driver.slurm.daemons()["slurmctld"]

    def hang() -> None:
        os.kill(pid, signal.SIGSTOP)
        patience(driver, IMPATIENT_S)

    try:
        with at(point, hang) as struck:
            driver.steer_until(struck, point)
            assert driver.steer().fault
        time.sleep(HUNG_S)
    finally:
        os.kill(pid, signal.SIGCONT)
    patience(driver, PATIENT_S)

    comes_right(driver, "slurmctld hanging")


@pytest.mark.parametrize("how", ["in the middle of a row", "between two rows"])
def test_half_a_table(driver: Driver, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """squeue's answer is cut: seen where it can be seen, and survived where it cannot."""
    switch = _cut_squeue(tmp_path, monkeypatch, rows=how == "between two rows")
    begun(driver)
    with at("act.requeue_hold.settled", switch.touch) as struck:
        driver.steer_until(struck, "the cut")
    reports = [driver.steer() for _ in range(4)]
    if how == "in the middle of a row":
        assert all("cut off" in report.fault for report in reports)
    switch.unlink()

    comes_right_somehow(driver, "half a table from squeue", 1)


def comes_right_somehow(driver: Driver, fault: str, most_stops: int) -> None:
    """The plan may have been undone, with a reason; still nobody is stopped twice, or held for ever.

    A victim of an undone plan keeps its place at the head of the line for a minute; that is not waited for.
    """
    driver.steer_until(
        lambda: not held(driver) and not _unfinished(), "nobody is held, nothing is left to do"
    )
    restarts = driver.restarts()["low"]
    without_reason = [plan for plan in driver.open_plans() if not plan.undo_reason]
    note(Row(fault, 1, max(0, restarts - 1), len(without_reason), len(held(driver))))
    assert restarts <= most_stops
    assert not without_reason
    driver.cancel("urgent")
    driver.steer_until_running("low")
    assert driver.restarts()["low"] == restarts


def held(driver: Driver) -> list[str]:
    """The jobs that are held, as Slurm says."""
    return [line for line in driver.slurm.squeue("%i %r") if "held" in line.lower()]


def _unfinished() -> bool:
    left = PlannedAction.objects.exclude(kind=ActionKind.RESTORE_PRIORITY)
    return left.filter(state__in=("planned", "executing", "issued")).exists()


def _cut_squeue(folder: Path, monkeypatch: pytest.MonkeyPatch, *, rows: bool) -> Path:
    """A squeue first on PATH that gives only half of its answer while the returned file is there."""
    switch = folder / "cut"
    cut, squeue = "head -n 0" if rows else "head -c 300", shutil.which("squeue")
    wrapper = folder / "bin" / "squeue"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\nif [ -e {switch} ]; then {squeue} "$@" | {cut}; else exec {squeue} "$@"; fi\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    connect.forget_adapters()
    return switch
