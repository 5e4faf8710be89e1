"""`partial=no`, typed with sbatch on a real Slurm: held until all fit, then started together."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.steering.models import Plan, PlanKind
from deploy.private_slurm import PrivateSlurm
from deploy.private_slurm.config import Partition
from tests.e2e.slurm_driver import NAIVE, Driver, attached
from tests.plugins.private_slurm import new_root

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

POLICY = {
    "mode": "user",
    "levels": [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)],
    "user_overrides": {"ann": "P3", "bob": "P3", "cy": "P0"},
}
ASKS = ("-N", "1", "-n", "1", "--mem=1M")


@pytest.fixture(scope="module")
def eight_cpus(slurm_release: str) -> Iterator[PrivateSlurm]:
    with PrivateSlurm(
        new_root(), nodes=1, cpus=8, gpus=0, version=slurm_release,
        partitions=(Partition("x", (1,), {"Default": "YES"}),), remove_root=True,
    ) as slurm:  # fmt: skip
        yield slurm


@pytest.fixture
def driver(
    db: None, eight_cpus: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    eight_cpus.clear()
    with attached(eight_cpus, settings, monkeypatch) as driver:
        yield driver


def tasks(driver: Driver, name: str, what: str) -> list[str]:
    """A column of squeue for each task of an array."""
    return driver.slurm.squeue(what, "-r", "-j", driver.ids[name])


def test_tasks_of_which_all_start_or_none_are_held_until_they_fit(driver: Driver) -> None:
    driver.policy("x", **POLICY, grace_s=0)
    for name in ("one", "two"):
        driver.running("ann", name, *ASKS, "-c", "4", script=NAIVE)
    driver.submit("bob", "all", *ASKS, "-c", "2", "--array=0-2", "--comment=partial=no", script=NAIVE)

    driver.steer_until(lambda: set(tasks(driver, "all", "%r")) == {"JobHeldAdmin"}, "all are held")
    hold = Plan.objects.get()
    assert (hold.kind, len(hold.tasks)) == (PlanKind.WHOLE, 3)
    driver.cancel("one")
    driver.steer_quietly()
    assert set(tasks(driver, "all", "%T")) == {"PENDING"}, "there is room for two of them"

    driver.cancel("two")
    driver.steer_until(lambda: set(tasks(driver, "all", "%T")) == {"RUNNING"}, "all of them run")
    driver.steer_until_settled()
    assert len(set(tasks(driver, "all", "%S"))) <= 2, "started within a second"
    assert {plan.state for plan in Plan.objects.all()} == {"verified"}


def test_tasks_that_are_held_are_let_go_when_their_plan_stops_others(driver: Driver) -> None:
    driver.policy("x", **POLICY, grace_s=4)
    for name in ("one", "two"):
        driver.running("ann", name, *ASKS, "-c", "4")
    driver.submit("cy", "all", *ASKS, "-c", "2", "--array=0-3", "--comment=partial=no", script=NAIVE)

    driver.steer_until(lambda: set(tasks(driver, "all", "%r")) == {"JobHeldAdmin"}, "all are held")
    driver.steer_until(lambda: set(tasks(driver, "all", "%T")) == {"RUNNING"}, "all of them run")
    driver.steer_until_settled()
    assert {(plan.kind, plan.state) for plan in Plan.objects.all()} == {
        ("whole", "verified"), ("preempt", "verified"),
    }  # fmt: skip


def test_tasks_that_are_held_are_let_go_when_the_partition_only_watches(driver: Driver) -> None:
    driver.policy("x", **POLICY, grace_s=0)
    driver.running("ann", "one", *ASKS, "-c", "8", script=NAIVE)
    driver.submit("bob", "all", *ASKS, "-c", "2", "--array=0-2", "--comment=partial=no", script=NAIVE)
    driver.steer_until(lambda: set(tasks(driver, "all", "%r")) == {"JobHeldAdmin"}, "all are held")
    driver.policy("x", **POLICY, grace_s=0, enforcement="shadow")
    driver.steer_until(lambda: "JobHeldAdmin" not in tasks(driver, "all", "%r"), "all are let go")
    driver.cancel("one")
    driver.steer_until(lambda: set(tasks(driver, "all", "%T")) == {"RUNNING"}, "all of them run")
