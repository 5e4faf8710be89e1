"""A worker stands still in the middle of a cycle: another one takes over soon, and what it was about to do is not done
when it goes on."""

import os
import secrets
import signal
from pathlib import Path

import pytest

from scheduler.adapters.simulator.state import What
from tests.faults.house import House, house
from tests.faults.tally import Row, note
from tests.plugins.migrated import create_migrated_database
from tests.plugins.servers import PostgresServer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PATIENT_S = 600
"""However long a command may take, a lease that is not prolonged lasts some seconds. Not where something was claimed:
for so long that is left alone."""


def cycles_of(built: House) -> int:
    return int(built.ask("SELECT cycle FROM cluster_cluster")[0][0])


def stops_at(built: House, name: str, point: str) -> None:
    """A low job runs, an urgent one waits; the only worker stands still at the point, in a cycle of its own."""
    built.start(name, "steer", fault=f"{point}:STOP")
    low = built.submit("low", "ann", 8)
    built.until(built.has(What.STARTED, low), "the low job starts")
    built.submit("urgent", "cy", 8, run_time_s=2)
    points = built.home / f"{name}.points"
    built.until(lambda: points.exists() and "struck" in points.read_text(), "it stands still")


def taken_over(built: House, point: str) -> None:
    """The whole story: nobody is stopped twice, nothing is lost."""
    stops_at(built, "first", point)
    before = cycles_of(built)
    built.start("second", "steer")
    built.until(lambda: cycles_of(built) > before, "the other worker's cycle")
    os.kill(built.running["first"].pid, signal.SIGCONT)
    low, urgent = "1", "2"
    built.until(built.has(What.STARTED, urgent), "the urgent job starts")
    built.until(built.has(What.STARTED, low, 2), "the low job runs again")
    double, lost, stuck = built.judge([low])
    note(Row("worker stood still, taken over, then continued", 1, len(double), len(lost), len(stuck)))
    assert (double, lost, stuck) == ([], [], [])
    told = (built.home / "first.points").read_text().splitlines()
    next_one = next(line for line in told[told.index(f"{point.partition(':')[0]} struck") + 1 :])
    assert next_one == "lease.released", "it gave its cycle up, and did nothing"
    assert built.deaths.total() == 0


@pytest.mark.parametrize(
    ("point", "timeout_s"), [("cycle.observed:4", PATIENT_S), ("act.requeue_hold.claimed:1", 2)]
)
def test_another_worker_takes_over_from_one_that_stands_still(
    tmp_path: Path, point: str, timeout_s: int
) -> None:
    with house(tmp_path / "home", GIVEWAY_SLURM_TIMEOUT_S=str(timeout_s)) as built:
        taken_over(built, point)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("point", "timeout_s"), [("cycle.recording:4", PATIENT_S), ("act.prioritise.claimed:1", 2)]
)
def test_also_where_it_keeps_the_row_of_the_lease_locked(
    postgres_server: PostgresServer, tmp_path: Path, point: str, timeout_s: int
) -> None:
    env = {
        "DATABASE_URL": create_migrated_database(postgres_server, f"still_{secrets.token_hex(4)}"),
        "GIVEWAY_SLURM_TIMEOUT_S": str(timeout_s),
    }
    with house(tmp_path / "home", **env) as built:
        taken_over(built, point)
