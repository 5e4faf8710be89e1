"""A task of an array is a job of its own; a heterogeneous job goes whole or not at all."""

from console.steering.models import Plan, PlannedAction
from scheduler.model.reasons import Reason
from tests.e2e.slurm_driver import SLEEP, Driver
from tests.e2e.test_slurm_as_it_is.conftest import MARKS, Scene

pytestmark = MARKS

ONE = ("-p", "x", "-n", "1", "--mem=10")
PART = ("-p", "wide", "-n", "1", "-c", "8", "--mem=10")


def _array(driver: Driver, user: str, name: str, tasks: str, *args: str) -> list[str]:
    """Submit an array; its tasks are known as `name_1` and so on. Returns these names."""
    job = driver.slurm.submit(user, "-J", name, f"--array={tasks}", *args, script=SLEEP)
    numbers = range(1, int(tasks.partition("%")[0].partition("-")[2]) + 1)
    driver.ids |= {f"{name}_{number}": f"{job}_{number}" for number in numbers}
    return [f"{name}_{number}" for number in numbers]


def test_single_tasks_of_an_array_are_stopped_and_come_back(scene: Scene, driver: Driver) -> None:
    scene.policy()
    tasks = _array(driver, "ann", "many", "1-4", *ONE, "-c", "2")
    driver.steer_until_running(*tasks)
    driver.submit("cy", "urgent", *ONE, "-c", "3")

    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    stopped = driver.stopped()
    assert len(stopped) == 2
    assert {name for name, state in driver.states().items() if state == "RUNNING"} == {
        *tasks,
        "urgent",
    } - stopped
    driver.cancel("urgent")
    driver.steer_until_running(*tasks)
    assert {driver.restarts()[task] for task in stopped} == {1}


def test_tasks_of_an_array_that_still_waits_as_one_get_room(scene: Scene, driver: Driver) -> None:
    scene.policy()
    for name in ("low1", "low2"):
        driver.running("ann", name, *ONE, "-c", "4")
    tasks = _array(driver, "cy", "urgent", "1-2", *ONE, "-c", "4")

    driver.steer_until_running(*tasks)

    assert driver.stopped() == {"low1", "low2"}
    assert set(Plan.objects.values_list("job_id", flat=True)) <= {driver.ids[task] for task in tasks}


def test_no_more_tasks_get_room_than_their_array_lets_run_at_a_time(scene: Scene, driver: Driver) -> None:
    """`--array=1-4%1`: until its first task runs, Slurm calls all four ready."""
    scene.policy()
    for number in range(4):
        driver.running("ann", f"low{number}", *ONE, "-c", "2")
    tasks = _array(driver, "cy", "urgent", "1-4%1", *ONE, "-c", "2")

    driver.steer_until(lambda: "RUNNING" in {driver.states()[task] for task in tasks}, "a task runs")
    driver.steer_quietly(4)

    assert len(driver.stopped()) == 1
    assert Plan.objects.count() == 1
    driver.cancel("urgent_1")
    driver.steer_until_running("urgent_2")
    assert len(driver.stopped()) == 1  # it has the room of the first


def test_a_heterogeneous_job_is_never_stopped_in_part(scene: Scene, driver: Driver) -> None:
    scene.policy("wide")
    driver.submit("ann", "het", *PART, "-w", "n1", ":", *PART, "-w", "n2")
    leader = driver.ids["het"]
    driver.slurm.wait_until(
        lambda: driver.slurm.squeue("%T", "-j", leader) == ["RUNNING"] * 2, "both parts of the job run"
    )
    driver.submit("cy", "urgent", "-p", "wide", "-w", "n2", "-n", "1", "-c", "2", "--mem=10")

    driver.steer_quietly(4)

    assert driver.slurm.squeue("%T", "-j", leader) == ["RUNNING"] * 2
    assert not PlannedAction.objects.exists()
    assert driver.reason("urgent") == Reason.NOT_ENOUGH_EVEN_SO


def test_no_room_is_made_for_a_part_of_a_heterogeneous_job(scene: Scene, driver: Driver) -> None:
    scene.policy("wide")
    driver.running("ann", "low1", *PART, "-w", "n1")
    driver.running("bob", "equal", *PART, "-w", "n2")
    driver.submit("cy", "het", *PART, "-w", "n1", ":", *PART, "-w", "n2")

    driver.steer_quietly(4)

    assert driver.stopped() == set()
    assert not Plan.objects.exists()
    line = next(line for line in driver.reports[-1].lines if driver.ids["het"] in line)
    assert "part of a heterogeneous job" in line
