"""Nodes kept on a real Slurm: a large job under a stream of small ones, and a Giveway that dies meanwhile."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.forecasts.forecaster import Forecaster
from console.forecasts.recording import keep_seen
from console.steering.models import STOP_KINDS, KeptPlace, PlannedAction
from deploy.private_slurm import PrivateSlurm
from tests.e2e.processes import clean_environment, manage, process, wait_until
from tests.e2e.slurm_driver import Driver

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
    pytest.mark.xdist_group("slurm"),
]

WHOLE = ("-p", "wide", "-n1", "-N1", "-c8", "--mem=100M", "--output=/dev/null")
THREE = ("-p", "wide", "-N3", "--ntasks-per-node=1", "-c8", "--mem=100M")
RUNS_S = 10
SHORT = f"#!/bin/bash\nsleep {RUNS_S}\n"
LATE_S = 20
"""So much later than was said at first the job may start: forecasts are renewed, and Slurm needs a moment."""
GONE_S = 120
POLICY = {
    "mode": "user",
    "levels": [{"name": "P0"}, {"name": "P1"}],
    "user_overrides": {"bob": "P1", "cy": "P0"},
    "protected_users": ["*"],
    "dispatch": "managed",
}


class Stream:
    """One-node jobs without end: there are always four that wait."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.known, self.number = driver, Forecaster(driver.cluster), 0

    def flow(self) -> None:
        """A second of it, with a cycle, and with what the timer does for forecasts."""
        waiting = [line for line in self.driver.slurm.squeue("%i", "-t", "PENDING", "-u", "bob") if line]
        for _ in range(4 - len(waiting)):
            self.number += 1
            self.driver.submit("bob", f"small{self.number}", *WHOLE, script=SHORT)
        self.driver.steer()
        keep_seen(self.driver.cluster)
        self.known.refresh()
        self.known.forecast_jobs()
        time.sleep(0.5)


@pytest.fixture
def stream(driver: Driver) -> Iterator[Stream]:
    driver.policy("wide", **POLICY)
    yield Stream(driver)
    driver.slurm.clear()


def test_a_job_of_three_nodes_starts_within_its_bound_under_a_stream_of_small_ones(
    driver: Driver, stream: Stream
) -> None:
    until = time.monotonic() + 3 * RUNS_S
    while time.monotonic() < until:
        stream.flow()
    large = driver.submit("cy", "large", *THREE)
    began, bound = time.time(), 0
    while driver.slurm.states()[large] != "RUNNING":
        stream.flow()
        place = KeptPlace.objects.filter(job_id=large).first()
        if place is not None and not bound:
            assert len(place.nodes) == 3
            bound = place.at + LATE_S
        assert not bound or time.time() < bound, f"kept since {place}, bound {bound - began:.0f} s"
        assert time.time() < began + 120, "never kept"
    stops = PlannedAction.objects.filter(
        kind__in=STOP_KINDS
    )  # it may have been put first, where room was free just then
    assert not stops.exists(), f"nobody was stopped for it: {driver.story()}"
    for _ in range(3):
        stream.flow()
    assert f"giveway_{large}" not in reservations(driver.slurm)


def test_nothing_is_reserved_or_pinned_two_minutes_after_all_of_giveway_was_killed(
    clean_slurm: PrivateSlurm, tmp_path: Path
) -> None:
    env = clean_environment(**clean_slurm.env, GIVEWAY_CLUSTER="slurm", GIVEWAY_HOME=str(tmp_path / "home"))
    assert manage("migrate", "-v0", env=env).returncode == 0
    put = (
        "from console.cluster.connect import configured_cluster as c\n"
        "from console.partitions.services import activate_policy, ensure_partition\n"
        "p = ensure_partition(cluster=c(), name='wide')\n"
        f"activate_policy(actor='dave', partition=p, reason='t', based_on=None, document={{'name': 'wide', "
        f"'enforcement': 'enforce', **{POLICY!r}}})\n"
    )
    done = manage("shell", "-v0", "-c", put, env=env)
    assert done.returncode == 0, done.stderr
    fillers = [str(clean_slurm.submit("bob", *WHOLE, "-t5", f"-wn{n}")) for n in range(1, 5)]
    for job in fillers:
        clean_slurm.wait_for_state(job, "RUNNING")
    large = str(clean_slurm.submit("cy", *THREE))
    log = tmp_path / "worker.log"
    with process("manage.py", "worker", env=env, log=log) as worker:
        wait_until(lambda: f"giveway_{large}" in reservations(clean_slurm), "nodes are kept", 90, log)
        small = str(clean_slurm.submit("bob", *WHOLE, "-wn1"))
        # It dies right after a renewal at the worst; the processes that it has started die with it.
        worker.kill()
        worker.wait()
    wait_until(lambda: "giveway_" not in reservations(clean_slurm), "nothing is reserved", GONE_S)
    shown = clean_slurm.run(["scontrol", "-o", "show", "job", large]).stdout
    assert "Reservation=giveway" not in shown
    assert "ReqNodeList=(null) ExcNodeList=(null)" in shown
    assert "Priority=0 " not in shown
    # Both the job and others start as ever.
    clean_slurm.run(["scancel", *fillers])
    clean_slurm.wait_for_state(large, "RUNNING")
    clean_slurm.run(["scancel", large])
    clean_slurm.wait_for_state(small, "RUNNING")


def reservations(slurm: PrivateSlurm) -> str:
    return slurm.run(["scontrol", "-o", "show", "reservations"]).stdout
