"""Document 001's example, typed with sbatch on a real Slurm: 100 CPUs, three arrays that run, and an urgent one."""

from collections import Counter
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.steering.models import Plan, PlannedAction
from deploy.private_slurm import PrivateSlurm
from deploy.private_slurm.config import Partition
from scheduler.model.actions import ActionKind
from tests.e2e.slurm_driver import NAIVE, Driver, attached
from tests.plugins.private_slurm import new_root

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
POLICY = {
    "mode": "user",
    "levels": LEVELS,
    "user_overrides": {"ann": "P1", "bob": "P2", "dee": "P3", "cy": "P0"},
}
RUNNING = {"A": ("ann", 20, 1), "B": ("bob", 20, 3), "C": ("dee", 10, 2)}


@pytest.fixture(scope="module")
def hundred_cpus(slurm_release: str) -> Iterator[PrivateSlurm]:
    """One node of 100 CPUs: the document counts them in one pool."""
    with PrivateSlurm(
        new_root(), nodes=1, cpus=100, gpus=0, version=slurm_release,
        partitions=(Partition("x", (1,), {"Default": "YES"}),), remove_root=True,
    ) as slurm:  # fmt: skip
        yield slurm


@pytest.fixture
def driver(
    db: None, hundred_cpus: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    hundred_cpus.clear()
    with attached(hundred_cpus, settings, monkeypatch) as driver:
        yield driver


def submit(driver: Driver, user: str, name: str, tasks: int, cpus: int) -> str:
    """An array of tasks of so many CPUs."""
    asks = ("-N", "1", "-n", "1", "-c", str(cpus), "--mem=1M")
    return driver.submit(user, name, *asks, f"--array=0-{tasks - 1}", script=NAIVE)


def running(driver: Driver) -> dict[str, int]:
    """How many tasks of each array run."""
    by_id = {job: name for name, job in driver.ids.items()}
    rows = driver.slurm.squeue("%F", "-r", "-t", "RUNNING")
    return dict(Counter(by_id[row.strip()] for row in rows))


def restarts(driver: Driver, name: str, tasks: int) -> list[int]:
    """How often each task of an array was requeued."""
    found = []
    for task in range(tasks):
        shown = driver.slurm.run(["scontrol", "-o", "show", "job", f"{driver.ids[name]}_{task}"]).stdout
        found.append(int(shown.split("Restarts=")[1].split()[0]))
    return found


def full(driver: Driver) -> None:
    """The arrays of the example that fill the machine."""
    for name, (user, tasks, cpus) in RUNNING.items():
        submit(driver, user, name, tasks, cpus)
    filled = {name: tasks for name, (_, tasks, _) in RUNNING.items()}
    driver.slurm.wait_until(lambda: running(driver) == filled, "A, B and C run")


def test_thirteen_tasks_make_room_for_thirty_and_all_run_again(driver: Driver) -> None:
    driver.policy("x", **POLICY)
    full(driver)
    submit(driver, "cy", "E", 30, 1)

    driver.steer_until(lambda: running(driver).get("E") == 30, "all of E runs")
    driver.steer_until_settled()

    assert running(driver) == {"E": 30, "A": 20, "B": 16, "C": 1}
    plan = Plan.objects.get()
    assert (plan.state, len(plan.tasks), len(plan.victims)) == ("verified", 30, 13)
    stops = PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD)
    assert [action.state for action in stops] == ["verified"] * 13
    assert plan.explain.startswith(f"{driver.ids['E']}_[0-29] (cy, P0) needs 30 units of 1 cpu")

    driver.cancel("E")
    driver.steer_until(lambda: running(driver) == {"A": 20, "B": 20, "C": 10}, "all run again")
    again = [sum(restarts(driver, name, tasks)) for name, (_, tasks, _) in RUNNING.items()]
    assert again == [0, 4, 9]
    assert max(restarts(driver, "C", 10)) == 1
    assert driver.slurm.squeue("%Q", "-t", "PENDING") == []


def test_ten_urgent_tasks_are_asked_about_once(driver: Driver) -> None:
    driver.policy("x", **POLICY, enforcement="approve")
    full(driver)
    submit(driver, "cy", "E", 10, 1)
    driver.steer_until(Plan.objects.exists, "there is a request")
    driver.steer_quietly()
    plan = Plan.objects.get()
    assert (plan.state, len(plan.tasks), len(plan.victims), plan.version) == ("proposed", 10, 5, 1)
