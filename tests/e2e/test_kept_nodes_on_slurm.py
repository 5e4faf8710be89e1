"""Nodes kept on a real Slurm with a slurmdbd: a large job under a stream of small ones, and a Giveway that dies
meanwhile."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.forecasts.models import KeptRun
from console.forecasts.recording import keep_accounted
from console.steering.models import STOP_KINDS, KeptPlace, PlannedAction
from deploy.private_slurm import PrivateSlurm
from tests.e2e.foretold import Foretold, started_at
from tests.e2e.processes import clean_environment, manage, process, wait_until
from tests.e2e.slurm_driver import Driver, attached
from tests.plugins.migrated import copy_migrated_sqlite

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

WHOLE = ("-p", "wide", "-n1", "-N1", "-c8", "--mem=100M", "--output=/dev/null")
THREE = ("-p", "wide", "-N3", "--ntasks-per-node=1", "-c8", "--mem=100M")
RUNS_S = (7, 12, 9, 14, 8, 11, 13)
"""Never the same twice in a row, or all nodes would be free at the same moments."""
FLOWS_S = 20
WAITING = 6
MOMENT_S = 4
"""Forecasts are of whole seconds, and Slurm and a cycle need a moment to see that a job has ended."""
LATE_S = 20
"""So much later than was said at first the job may start: forecasts are renewed, and Slurm needs a moment."""
ROUNDS = 4
"""And so many of the slowest rounds of this machine, where each of the small ones waits for a cycle to be started."""
GONE_S, ENOUGH_S = 120, 240
POLICY = {
    "mode": "user",
    "levels": [{"name": "P0"}, {"name": "P1"}],
    "user_overrides": {"bob": "P1", "cy": "P0"},
    "protected_users": ["*"],
    "dispatch": "managed",
}


class Stream:
    """One-node jobs without end: there are always six that wait."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.told, self.number, self.slowest = driver, Foretold(driver.cluster), 0, 0.0

    def flow(self) -> None:
        """A second of it, with a cycle, and with what the timer does for forecasts."""
        began = time.monotonic()
        waiting = [line for line in self.driver.slurm.squeue("%i", "-t", "PENDING", "-u", "bob") if line]
        for _ in range(WAITING - len(waiting)):
            self.number += 1
            script = f"#!/bin/bash\nsleep {RUNS_S[self.number % len(RUNS_S)]}\n"
            self.driver.submit("bob", f"small{self.number}", *WHOLE, script=script)
        self.driver.steer()
        keep_accounted(self.driver.cluster)
        self.told.say()
        self.slowest = max(self.slowest, time.monotonic() - began)
        time.sleep(0.5)

    def until_running(self, job: str) -> tuple[tuple[float, float, float] | None, KeptPlace | None]:
        """Go on until a job runs: what was said of its start and kept for it at first, while it waited."""
        began, said, place = time.time(), None, None
        while self.driver.slurm.states()[job] != "RUNNING":
            self.flow()
            said = said or self.told.interval_of(job)
            place = place or KeptPlace.objects.filter(job_id=job).first()
            bound = began + GONE_S if place is None else place.at + LATE_S
            assert time.time() < bound + ROUNDS * self.slowest, (
                f"kept since {place}, said {said}, began {began:.0f}"
            )
        return said, place


@pytest.fixture
def driver(
    db: None, accounted_slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    with attached(accounted_slurm, settings, monkeypatch) as driver:
        yield driver


@pytest.fixture
def stream(driver: Driver) -> Iterator[Stream]:
    driver.policy("wide", **POLICY)
    yield Stream(driver)
    driver.slurm.clear()


def test_a_job_of_three_nodes_starts_within_its_interval_under_a_stream_of_small_ones(
    driver: Driver, stream: Stream
) -> None:
    until = time.monotonic() + FLOWS_S
    runs = KeptRun.objects.filter(user="bob", source="accounting")
    while time.monotonic() < until or runs.count() < 4:
        stream.flow()
        assert time.monotonic() < until + ENOUGH_S, "slurmdbd tells of none that have ended"
    large = driver.submit("cy", "large", *THREE)
    said, place = stream.until_running(large)
    assert place is not None, "it did not wait for nodes that were kept"
    assert len(place.nodes) == 3
    assert said is not None, "the API had no forecast while it waited"
    low, _, high = said
    late = MOMENT_S + ROUNDS * stream.slowest
    assert low - MOMENT_S <= started_at(driver.slurm, large) <= high + late
    # It may have been put first, where room was free just then; nobody was stopped for it.
    assert not PlannedAction.objects.filter(kind__in=STOP_KINDS).exists(), driver.story()
    driver.steer_until(
        lambda: f"giveway_{large}" not in reservations(driver.slurm), "they are kept no longer"
    )


def test_nothing_is_reserved_or_pinned_two_minutes_after_all_of_giveway_was_killed(
    accounted_slurm: PrivateSlurm, tmp_path: Path
) -> None:
    env = clean_environment(
        **accounted_slurm.env, GIVEWAY_CLUSTER="slurm", GIVEWAY_HOME=str(tmp_path / "home")
    )
    copy_migrated_sqlite(tmp_path / "home" / "giveway.sqlite3")
    put = (
        "from console.cluster.connect import configured_cluster as c\n"
        "from console.partitions.services import activate_policy, ensure_partition\n"
        "p = ensure_partition(cluster=c(), name='wide')\n"
        f"activate_policy(actor='dave', partition=p, reason='t', based_on=None, document={{'name': 'wide', "
        f"'enforcement': 'enforce', **{POLICY!r}}})\n"
    )
    done = manage("shell", "-v0", "-c", put, env=env)
    assert done.returncode == 0, done.stderr
    fillers = [str(accounted_slurm.submit("bob", *WHOLE, "-t5", f"-wn{n}")) for n in range(1, 5)]
    for job in fillers:
        accounted_slurm.wait_for_state(job, "RUNNING")
    large = str(accounted_slurm.submit("cy", *THREE))
    log = tmp_path / "worker.log"
    with process("manage.py", "worker", env=env, log=log) as worker:
        wait_until(lambda: f"giveway_{large}" in reservations(accounted_slurm), "nodes are kept", 90, log)
        small = str(accounted_slurm.submit("bob", *WHOLE, "-wn1"))
        # It dies right after a renewal at the worst; the processes that it has started die with it.
        worker.kill()
        worker.wait()
    wait_until(lambda: "giveway_" not in reservations(accounted_slurm), "nothing is reserved", GONE_S)
    shown = accounted_slurm.run(["scontrol", "-o", "show", "job", large]).stdout
    assert "Reservation=giveway" not in shown
    assert "ReqNodeList=(null) ExcNodeList=(null)" in shown
    assert "Priority=0 " not in shown
    # Both the job and others start as ever.
    accounted_slurm.run(["scancel", *fillers])
    accounted_slurm.wait_for_state(large, "RUNNING")
    accounted_slurm.run(["scancel", large])
    accounted_slurm.wait_for_state(small, "RUNNING")


def reservations(slurm: PrivateSlurm) -> str:
    return slurm.run(["scontrol", "-o", "show", "reservations"]).stdout
