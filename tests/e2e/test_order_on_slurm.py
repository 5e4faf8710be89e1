"""On real Slurms: levels order the line, starts are carried out, and everybody keeps their place."""

import random
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.cluster import connect
from console.cluster.models import Job
from console.steering.models import Plan
from deploy.private_slurm import Partition, PrivateSlurm
from deploy.private_slurm.config import default_partitions
from tests.e2e.slurm_driver import Driver
from tests.plugins.private_slurm import new_root

pytestmark = [
    pytest.mark.slurm, pytest.mark.e2e, pytest.mark.every_release,
]  # fmt: skip

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
USERS = {"ann": "P3", "bob": "P2", "cy": "P0"}
LONG = "#!/bin/sh\nexec sleep 600\n"
PRIORITIES = ("priority/basic", "priority/multifactor")


@pytest.fixture(scope="session", params=PRIORITIES)
def basic_or_multifactor(request: pytest.FixtureRequest, slurm_release: str) -> Iterator[PrivateSlurm]:
    """A Slurm of its own for each way of giving priorities."""
    partitions = (
        *default_partitions(4),
        *(Partition(f"p{node}", (node,)) for node in range(1, AT_ONCE + 1)),
    )
    with PrivateSlurm(
        new_root(),
        nodes=AT_ONCE,
        version=slurm_release,
        options={"PriorityType": request.param},
        partitions=partitions,
        remove_root=True,
    ) as slurm:
        yield slurm


@pytest.fixture
def ordered(
    basic_or_multifactor: PrivateSlurm, db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    slurm = basic_or_multifactor
    slurm.clear()
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    settings.GIVEWAY_CLUSTER = "slurm"
    connect.forget_adapters()
    yield Driver(slurm)
    connect.forget_adapters()


def line(driver: Driver) -> list[str]:
    """Slurm's own order of who waits: by priority, then by number."""
    waiting = [row.split() for row in driver.slurm.squeue("%i %Q", "--states=PENDING")]
    return [job for job, _ in sorted(waiting, key=lambda row: (-int(row[1]), int(row[0])))]


def test_a_job_with_free_room_does_not_wait_for_a_lower_one_that_wants_all(ordered: Driver) -> None:
    """Four nodes 6/8 full, a P3 job that wants all of them, then a P0 job of 2 CPUs: it used to wait for an hour."""
    for order in ("levels", "slurm"):
        ordered.policy("wide", mode="user", levels=LEVELS, user_overrides=USERS, order=order)
        for number in range(4):
            ordered.running(
                "ann", f"low{number}", "-p", "wide", "-N1", "-c6", "-w", f"n{number + 1}", script=LONG
            )
        ordered.submit("ann", "all", "-p", "wide", "-N4", "-c8", script=LONG)
        ordered.slurm.wait_until(lambda: "PENDING" in ordered.states().values(), "the wide one waits")
        ordered.submit("cy", "urgent", "-p", "wide", "-n2", script=LONG)

        ordered.steer_until_running("urgent")

        assert ordered.states()["all"] == "PENDING"
        assert not [plan for plan in Plan.objects.all() if plan.victims]
        ordered.slurm.clear()
        ordered.steer_until_settled()


def test_a_victim_comes_back_before_those_who_came_later(ordered: Driver) -> None:
    """Who came later, or has no level, used to take its room when the beneficiary ended."""
    ordered.policy("x", mode="user", levels=LEVELS, user_overrides=USERS)
    victim = ordered.running("ann", "victim", "-p", "x", "-n8", script=LONG)
    ordered.submit("dee", "unconfigured", "-p", "x", "-n8", script=LONG)
    for number in range(8):
        ordered.submit("ann", f"later{number}", "-p", "x", "-n1", script=LONG)
    ordered.submit("cy", "urgent", "-p", "x", "-n8", script=LONG)
    ordered.steer_until_running("urgent")
    ordered.steer_until_settled()

    ordered.steer_until(lambda: line(ordered)[0] == victim, "the victim is the first in line")
    ordered.slurm.run(["scancel", ordered.ids["urgent"]])
    ordered.steer_until_running("victim")

    others = {name: state for name, state in ordered.states().items() if name not in {"victim", "urgent"}}
    assert set(others.values()) == {"PENDING"}


def test_a_line_of_levels_and_back_again(ordered: Driver) -> None:
    ordered.policy("x", mode="user", levels=LEVELS, user_overrides=USERS, protected_users=["eve"])
    ordered.running("eve", "full", "-p", "x", "-n8", script=LONG)
    ids = [
        ordered.submit(user, f"{user}{number}", "-p", "x", "-n8", f"--nice={nice}", script=LONG)
        for number, (user, nice) in enumerate((("ann", 0), ("dee", 0), ("cy", 100), ("cy", 0), ("bob", 0)))
    ]
    before = line(ordered)
    wished = [ids[3], ids[2], ids[4], ids[0], ids[1]]

    ordered.steer_until(lambda: line(ordered) == wished, "the line stands by level")
    ordered.steer_quietly(2)
    ordered.slurm.run(["scontrol", "update", f"JobId={ids[3]}", "Nice=5000"], "cy")
    wished = [ids[2], ids[3], *wished[2:]]
    ordered.steer_until(lambda: line(ordered) == wished, "a user's own nice counts inside the level")
    ordered.steer_quietly(2)
    assert line(ordered) == wished
    rows = {row.job_id: row.line_place for row in Job.objects.filter(phase="pending")}
    assert [job for job, _ in sorted(rows.items(), key=lambda each: each[1])] == wished

    ordered.policy("x", mode="user", levels=LEVELS, user_overrides=USERS, enforcement="shadow")
    nices = {ids[0]: "0", ids[1]: "0", ids[2]: "100", ids[3]: "5000", ids[4]: "0"}
    ordered.steer_until(
        lambda: dict(row.split() for row in ordered.slurm.squeue("%i %y", "--states=PENDING")) == nices,
        "everybody has their own nice again",
    )
    assert set(line(ordered)) == set(before)


MIXTURES = 204
"""Over all releases and both ways of giving priorities."""
AT_ONCE, EACH = 8, 6
"""Mixtures beside each other, each on a node of its own, and the jobs of one."""
MARKED = "#!/bin/sh\ndate +%s%N\n"
"""Says when it started. All are of the node's size, so one runs at a time, and sizes never decide."""


def test_mixtures_of_jobs_start_in_the_modes_order(ordered: Driver) -> None:
    """Whoever is first by the mode starts first, and inside a level whoever was submitted first."""
    draw = random.Random("order")
    rounds = -(-MIXTURES // (6 * AT_ONCE))
    for number in range(rounds):
        modes = {
            f"p{node}": draw.choice(["user", "task", "user_then_task", "task_then_user"])
            for node in range(1, AT_ONCE + 1)
        }
        a_round(ordered, draw, modes, number)


def a_round(driver: Driver, draw: random.Random, modes: dict[str, str], number: int) -> None:
    driver.slurm.clear()
    expected: dict[str, list[str]] = {}
    owners: dict[str, str] = {}
    for name, mode in modes.items():
        driver.policy(name, mode=mode, levels=LEVELS, user_overrides=USERS, protected_users=["eve"])
        driver.running("eve", f"full-{name}-{number}", "-p", name, "-n8", script=LONG)
        jobs = {}
        for _ in range(EACH):
            user, task = draw.choice(["ann", "bob", "cy", "dee"]), draw.choice(["l0", "l1", "l3", "plain"])
            job = driver.submit(user, f"{task}_job", "-p", name, "-n8", script=MARKED)
            jobs[job], owners[job] = (user, task), user
        expected[name] = sorted(jobs, key=lambda job: (*rank(mode, *jobs[job]), int(job)))

    def in_order() -> bool:
        present = line(driver)
        return all([job for job in present if job in wished] == wished for wished in expected.values())

    driver.steer_until(in_order, f"{modes}: the lines stand as {expected}")
    driver.slurm.run(["scancel", "--user=eve"])
    driver.slurm.wait_until(lambda: not driver.slurm.states(), "all have run")
    for name, wished in expected.items():
        said = {job: driver.slurm.work / owners[job] / f"slurm-{job}.out" for job in wished}
        started = sorted(wished, key=lambda job: int(said[job].read_text()))
        assert started == wished, (name, modes[name])


def rank(mode: str, user: str, task: str) -> tuple[int, ...]:
    """What the document says of the modes, said again."""
    users = {"cy": 0, "bob": 2, "ann": 3}.get(user, 4)
    tasks = {"l0": 0, "l1": 1, "l3": 3}.get(task, 4)
    ranks = {
        "user": (users,), "task": (tasks,), "user_then_task": (users, tasks), "task_then_user": (tasks, users),
    }  # fmt: skip
    return ranks[mode]
