"""The room goes to the beneficiary: under a flood of short jobs that would take any hole, run after run.

How many runs: GIVEWAY_FLOOD_RUNS (8 when not set). `-s` shows how many there were and the times to start.
"""

import itertools
import os
import time
from collections.abc import Iterator

import pytest

from console.steering.models import Plan
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.model.jobs import JobState
from scheduler.model.snapshot import Snapshot
from scheduler.reconcile.decide import decide
from tests.e2e.flood import Flood, flood
from tests.e2e.slurm_driver import SLEEP, Driver

RUNS = int(os.environ.get("GIVEWAY_FLOOD_RUNS", "8"))
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.e2e,
    pytest.mark.timeout(120 + 90 * RUNS),
]

VICTIMS = ("low1", "low2", "low3")
"""Two CPUs each, and the lowest of all; the flood has the other two CPUs of the node."""
STAMPED = f"#!/bin/bash\ndate +%s.%N > started.$SLURM_JOB_ID\n{SLEEP.partition(chr(10))[2]}"
"""Writes down when it began, more exactly than Slurm tells."""
ASKED = (4, 6, 3, 5)


@pytest.fixture
def under_flood(driver: Driver) -> Iterator[tuple[Driver, Flood]]:
    """Partition x: three long jobs, and a flood in all the rest of it, which comes through two partitions."""
    levels = {"cy": "P0", "dee": "P1", "eve": "P1", "ann": "P2", "bob": "P2"}
    driver.policy(
        "x",
        mode="user",
        levels=[{"name": f"P{n}"} for n in range(3)],
        user_overrides=levels,
        order="slurm",  # in the order of levels the flood stands before the victims, and they never come back
        # The flood's jobs are the last to be victims, and have nobody stopped for themselves.
        bands=[[0], [1, 2, None]],
        max_preemptions_per_job=100_000,
        cool_down_s=0,
    )
    for name, user in zip(VICTIMS, ("ann", "bob", "ann"), strict=True):
        driver.running(user, name, "-p", "x", "-n", "1", "-c", "2")
    with flood(driver.slurm, "--partition=x") as water:
        driver.slurm.wait_until(lambda: len(water.started()) > 3, "the flood fills the node")
        yield driver, water


def test_every_beneficiary_starts_and_just_the_planned_victims_are_stopped(
    under_flood: tuple[Driver, Flood],
) -> None:
    driver, water = under_flood
    waits = []
    for run, cpus in zip(range(RUNS), itertools.cycle(ASKED)):
        name, before = f"urgent{run}", driver.restarts()
        submitted = time.time()
        driver.submit("cy", name, "-p", "x", "-n", "1", "-c", str(cpus), script=STAMPED)

        driver.steer_until_running(name)

        waits.append(_started_at(driver, name) - submitted)
        after = driver.restarts()
        # An earlier one may have been undone before it stopped anybody: the hole that it counted on was taken.
        *earlier, plan = Plan.objects.filter(job_id=driver.ids[name]).order_by("id")
        assert {each.state for each in earlier} <= {"undone"}
        planned = {victim["name"] for victim in plan.victims}
        assert {name for name in VICTIMS if after[name] > before[name]} == planned
        assert all(after[name] - before[name] <= 1 for name in VICTIMS)
        assert len(planned) == _smallest_number(plan, cpus), _told(plan)
        driver.cancel(name)
        _bring_back_the_victims(driver)
    print(  # noqa: T201 - with -s: how long they waited
        f"{RUNS} runs under a flood of {len(water.started())} jobs; from submit to start: "
        f"median {sorted(waits)[RUNS // 2]:.2f} s, worst {max(waits):.2f} s"
    )
    # Nobody of the flood was stopped: who began and is gone has ended by itself.
    # One that began, or ended, while Slurm was asked has another word in its file afterwards.
    suspects = water.cut_short()
    there = set(driver.slurm.squeue("%A"))
    assert (suspects - there) & water.cut_short() == set()
    assert len(water.started()) > RUNS


def _bring_back_the_victims(driver: Driver) -> None:
    """Slurm puts a requeued job behind all equal ones, and the flood has dozens: an administrator helps."""
    driver.steer_until_settled()
    ids = ",".join(driver.ids[name] for name in VICTIMS)
    driver.slurm.run(["scontrol", "update", f"JobId={ids}", "Priority=4000000"], check=False)
    driver.steer_until_running(*VICTIMS)


def _started_at(driver: Driver, name: str) -> float:
    stamp = driver.slurm.work / "cy" / f"started.{driver.ids[name]}"
    driver.slurm.wait_until(lambda: stamp.exists() and bool(stamp.read_text()), f"{name} says when it began")
    return float(stamp.read_text())


def _smallest_number(plan: Plan, cpus: int) -> int:
    """The fewest of the long jobs that make this room, given what the plan was made on."""
    snapshot = _seen(plan)
    node = snapshot.nodes[0]
    held = sum(
        job.alloc.get("n1", {}).get("cpu", 0) for job in snapshot.jobs if job.state is JobState.RUNNING
    )
    # A job of the flood that began while Slurm was asked has no share in all of the answers yet: it counts as taken.
    held += node.held_elsewhere.get("cpu", 0)
    missing = cpus - (node.total["cpu"] - held)
    return -(-missing // 2)


def _told(plan: Plan) -> str:
    """What the plan was made on, for whoever reads why this failed: who held what, and what the plan promised."""
    snapshot = _seen(plan)
    there = [job for job in snapshot.jobs if job.state is not JobState.PENDING or job.promised]
    lines = [
        f"{job.id} {job.name} {job.state} {dict(job.alloc)} {dict(job.promised)} {job.protected}"
        for job in there
    ]
    again = [decision for decision in decide(snapshot).decisions if decision.job == plan.job_id]
    return "\n".join([str(snapshot.nodes), *lines, str(plan.victims), str(plan.placement), str(again)])


def _seen(plan: Plan) -> Snapshot:
    assert plan.stored_snapshot
    return decode_snapshot(plan.stored_snapshot.document)
