"""Slurm reservations, licences, tiers of partitions, a slow epilog. A Slurm of its own, for its settings."""

import shutil
from collections.abc import Iterator

import pytest

from console.steering.models import Plan
from deploy.private_slurm import Partition, PrivateSlurm
from scheduler.model.reasons import Reason
from tests.e2e.slurm_driver import Driver
from tests.e2e.test_slurm_as_it_is.conftest import MARKS, Scene
from tests.plugins.private_slurm import new_root

pytestmark = MARKS

ONE = ("-p", "x", "-n", "1", "-c", "8", "--mem=10")
EPILOG_MOST_S = 240


@pytest.fixture(scope="module")
def private_slurm(slurm_release: str) -> Iterator[PrivateSlurm]:
    """In place of the session's: two nodes in `x`, one of them in `high` too, two licences, and an epilog that waits
    after jobs of eve, as long as there is a file `slow` beside it."""
    root = new_root()
    epilog = root / "epilog"
    epilog.write_text(
        f'#!/bin/sh\n[ "$SLURM_JOB_USER" = eve ] || exit 0\nleft={EPILOG_MOST_S}\n'
        f'while [ -e {root}/slow ] && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done\n'
    )
    epilog.chmod(0o755)
    options = {"Licenses": "matlab:2", "Epilog": str(epilog)}
    with PrivateSlurm(
        root / "slurm",
        nodes=2,
        partitions=[Partition("x", (1, 2)), Partition("high", (1,), {"PriorityTier": "10"})],
        options=options,
        version=slurm_release,
    ) as slurm:
        yield slurm
    shutil.rmtree(root)


def _reserve(scene: Scene, name: str, *words: str) -> None:
    scene.scontrol("create", "reservation", f"ReservationName={name}", "Duration=60", "Users=bob", *words)


def _full(driver: Driver) -> None:
    """A low job on each node; the one on n1 would be the first to go."""
    driver.running("ann", "n2", *ONE, "-w", "n2")
    driver.running("ann", "n1", *ONE, "-w", "n1")


@pytest.mark.parametrize("flags", ["Flags=IGNORE_JOBS", "Flags=MAINT,IGNORE_JOBS"])
def test_a_node_that_is_reserved_from_soon_on_is_not_promised(
    scene: Scene, driver: Driver, flags: str
) -> None:
    scene.policy()
    _full(driver)
    _reserve(scene, "soon", "Nodes=n1", "StartTime=now+600", flags)
    driver.submit("cy", "urgent", *ONE)

    driver.steer_until_running("urgent")

    assert driver.stopped() == {"n2"}


def test_nobody_is_stopped_for_a_job_whose_nodes_are_all_reserved(scene: Scene, driver: Driver) -> None:
    """Of a job that stands behind another, Slurm says no more than "Priority"."""
    scene.policy()
    _full(driver)
    _reserve(scene, "soon", "Nodes=n1,n2", "StartTime=now+600", "Flags=IGNORE_JOBS")
    driver.submit("cy", "long", *ONE)
    driver.steer_quietly(4)
    driver.steer_until(lambda: driver.reason("long") == Reason.BLOCKED, "Slurm has said why it waits")
    assert driver.stopped() == set()

    driver.submit("cy", "short", *ONE, "--time=5")
    driver.steer_until_running("short")
    assert len(driver.stopped()) == 1


def test_jobs_inside_a_reservation_are_left_alone(scene: Scene, driver: Driver) -> None:
    scene.policy(user_overrides={"bob": "P3", "ann": "P2", "cy": "P0"})
    _reserve(scene, "now", "Nodes=n1", "StartTime=now")
    driver.running("bob", "inside", *ONE, "--reservation=now")
    driver.running("ann", "outside", *ONE)
    driver.submit("cy", "urgent", *ONE)

    driver.steer_until_running("urgent")

    assert driver.stopped() == {"outside"}


def test_nobody_is_stopped_for_a_job_that_waits_for_a_licence(scene: Scene, driver: Driver) -> None:
    scene.policy()
    driver.running("bob", "licensed", *ONE, "-w", "n1", "-L", "matlab:2")
    driver.running("ann", "low", *ONE, "-w", "n2")
    driver.submit("cy", "urgent", *ONE, "-L", "matlab:1")

    driver.steer_quietly(4)

    driver.steer_until(lambda: driver.reason("urgent") == Reason.BLOCKED, "Slurm has said why it waits")
    assert driver.stopped() == set()


def test_nobody_is_stopped_for_room_that_goes_to_a_job_of_a_higher_tier(scene: Scene, driver: Driver) -> None:
    scene.policy()
    _full(driver)
    driver.submit("bob", "first", "-p", "high", "-n", "1", "-c", "8", "--mem=10")
    driver.submit("cy", "urgent", *ONE, "-w", "n1")

    driver.steer_quietly()
    assert driver.stopped() == set()
    assert driver.reason("urgent") == Reason.BLOCKED

    driver.submit("cy", "elsewhere", *ONE)
    driver.steer_until_running("elsewhere")
    assert driver.stopped() == {"n2"}


def test_a_victim_that_is_completing_for_long(scene: Scene, driver: Driver) -> None:
    """Its epilog runs on: its room is coming, so nobody else is stopped, and it comes back afterwards."""
    slow = driver.slurm.root.with_name("slow")
    slow.touch()
    scene.policy(user_overrides={"eve": "P3", "ann": "P2", "cy": "P0"})
    driver.running("eve", "slow", *ONE)
    driver.running("ann", "low", *ONE)
    driver.submit("cy", "urgent", *ONE)

    driver.steer_until(lambda: driver.states()["slow"] == "COMPLETING", "the victim is completing")
    driver.steer_quietly(3)
    slow.unlink()
    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert driver.stopped() == {"slow"}
    assert Plan.objects.get().state == "verified"
    driver.cancel("low")
    driver.steer_until_running("slow")
    assert driver.restarts()["slow"] == 1
