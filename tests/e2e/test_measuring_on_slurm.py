"""Compute power on a real Slurm: idle nodes are measured one processor at a time, and nobody waits for it."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from pytest_django import Settings

from console.cluster.connect import connect_benchmarks
from console.partitions.services import ensure_partition
from console.power import measuring as measuring_module
from console.power.measuring import measure
from console.power.models import Measurement, MeasurementState, MeasuringRule, Processor
from console.power.selectors import outliers
from tests.e2e.served import Served, served
from tests.e2e.slurm_driver import PATIENCE_S, Driver

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

SLOW, SLOW_S = "n3", 4.0
BENCHMARK = f"""#!/bin/sh
echo "driver=535.1"
[ "$SLURMD_NODENAME" = {SLOW} ] && [ "$GIVEWAY_DEVICE" = 1 ] && exec sleep {SLOW_S}
exec sleep 0.3
"""
"""The throttled one takes longer than a busy machine makes any other take."""
LASTING = "#!/bin/sh\nexec sleep 600\n"
ANY_SET = {"resource": "gpu", "max_distance": 60, "else": "wait"}
"""Any nodes that are measured are even."""
SHORT = "#!/bin/sh\nsleep 1\n"


@pytest.fixture
def console(settings: Settings) -> Iterator[Served]:
    """The API, where the nodes reach it."""
    with served() as here:
        settings.GIVEWAY_NODES_URL = here.url
        yield here


def measuring(driver: Driver, settings: Settings, path: Path, script: str, **rule: int) -> MeasuringRule:
    """The partition of all nodes measures its GPUs with this benchmark."""
    path.write_text(script)
    settings.GIVEWAY_BENCHMARK_GPU = str(path)
    driver.policy("wide", mode="user", levels=[{"name": "P0"}], user_overrides={"cy": "P0"})
    partition = ensure_partition(cluster=driver.cluster, name="wide")
    return MeasuringRule.objects.create(
        partition=partition, enabled=True, resource="gpu", limit_s=900, **{"at_most": 2, **rule}
    )


def rounds(driver: Driver, console: Served, done: Callable[[], bool], what: str) -> None:
    """Cycles and rounds of measuring, as the timer would run them, until `done`."""
    port = connect_benchmarks(driver.cluster)
    assert port is not None
    until = time.monotonic() + PATIENCE_S
    while not done():
        open_now = Measurement.objects.values_list("node", "state", "outcome")
        assert time.monotonic() < until, f"{what}: {list(open_now)} {driver.slurm.states()}"
        console.answer()
        driver.steer()
        measure(driver.cluster, port)
        time.sleep(0.1)


def states() -> list[str]:
    return sorted(Measurement.objects.values_list("state", flat=True))


def told_all() -> set[str]:
    """The jobs that have told their last figure: they measure no more, and Slurm shows them for a while yet."""
    return set(Measurement.objects.filter(state=MeasurementState.DONE).values_list("job_id", flat=True))


def test_each_gpu_of_each_idle_node_is_measured_and_the_throttled_one_stands_out(
    driver: Driver, console: Served, settings: Settings, tmp_path: Path
) -> None:
    measuring(driver, settings, tmp_path / "gpu.sh", BENCHMARK)
    most = 0

    def measured() -> bool:
        nonlocal most
        most = max(most, len(driver.slurm.states().keys() - told_all()))
        return states() == [MeasurementState.DONE] * 4

    rounds(driver, console, measured, "all nodes are measured")
    assert most <= 2, "never more at once than the rule says"
    figures = {(row.node, row.device): row.figure for row in Processor.objects.all()}
    per_node = len(figures) // 4
    assert per_node >= 2
    slow = figures.pop((SLOW, 1))
    assert slow > SLOW_S
    assert all(0.3 <= figure < slow for figure in figures.values()), figures
    assert outliers(list(Processor.objects.all()), {})[0].processor.node == SLOW
    assert {row.driver for row in Processor.objects.all()} == {"535.1"}
    assert {status for _body, status in console.told} == {200}
    driver.slurm.wait_until(lambda: not driver.slurm.states(), "their jobs are gone")


def test_a_measurement_makes_room_within_a_cycle_and_is_made_again_later(
    driver: Driver, console: Served, settings: Settings, tmp_path: Path
) -> None:
    measuring(driver, settings, tmp_path / "gpu.sh", LASTING, at_most=4)
    rounds(driver, console, lambda: states() == [MeasurementState.SUBMITTED] * 4, "all nodes are taken")
    driver.slurm.wait_until(
        lambda: list(driver.slurm.states().values()) == ["RUNNING"] * 4, "they are all being measured"
    )
    driver.submit("bob", "anybody", "-p", "wide", "-N", "4", "--exclusive", script=LASTING)
    driver.steer()
    driver.slurm.wait_for_state(driver.ids["anybody"], "RUNNING")
    assert states() == [MeasurementState.ASKED] * 4 + [MeasurementState.WITHDRAWN] * 4


def all_measured(driver: Driver, console: Served) -> None:
    """Rounds until every node is in the middle of a benchmark that lasts ten minutes."""
    rounds(driver, console, lambda: states().count(MeasurementState.SUBMITTED) == 4, "all nodes are taken")
    driver.slurm.wait_until(
        lambda: sorted(driver.slurm.states().values()) == ["RUNNING"] * 4, "they are all being measured"
    )


def test_a_job_that_waits_for_figures_does_not_keep_them_from_coming(
    driver: Driver, console: Served, settings: Settings, tmp_path: Path
) -> None:
    measuring(driver, settings, tmp_path / "gpu.sh", BENCHMARK, at_most=4)
    driver.policy("wide", mode="user", levels=[{"name": "P0"}], protected_users=["*"], balance=ANY_SET)
    driver.running("bob", "all", "-p", "wide", "-N", "4", "--exclusive")
    driver.submit("cy", "even", "-p", "wide", "-N", "2", "--gres=gpu:8", "--comment=balanced", script=SHORT)
    driver.steer()
    driver.steer_until(lambda: driver.reason("even") == "not_measured", "it waits for figures")
    driver.cancel("all")
    rounds(driver, console, lambda: driver.states()["even"] != "PENDING", "it starts")
    assert Processor.objects.values("node").distinct().count() >= 2


def test_without_its_console_a_measurement_ends_by_itself(
    driver: Driver, console: Served, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if Giveway had been killed: nobody answers, nobody cancels anything."""
    monkeypatch.setattr(measuring_module, "ASKS_EVERY_S", 1)
    measuring(driver, settings, tmp_path / "gpu.sh", LASTING, at_most=4)
    all_measured(driver, console)
    rounds(driver, console, lambda: len(console.told) >= 8, "they ask whether to go on")
    assert set(console.answers) == {b'{"go_on":true}'}
    console.die()
    driver.slurm.wait_until(lambda: not driver.slurm.states(), "they have ended")
    assert states() == [MeasurementState.SUBMITTED] * 4, "nobody has ended them"
    assert not Processor.objects.exists()


def test_switched_off_nothing_is_left(
    driver: Driver, console: Served, settings: Settings, tmp_path: Path
) -> None:
    rule = measuring(driver, settings, tmp_path / "gpu.sh", LASTING, at_most=4)
    all_measured(driver, console)
    rule.enabled = False
    rule.save()
    port = connect_benchmarks(driver.cluster)
    assert port is not None
    measure(driver.cluster, port)
    driver.slurm.wait_until(lambda: not driver.slurm.states(), "they are gone")
    assert states() == [MeasurementState.WITHDRAWN] * 4


def over(driver: Driver, jobs: set[str]) -> bool:
    """Whether none of these jobs is left."""
    return not jobs & driver.slurm.states().keys()


def test_a_hundred_jobs_submitted_meanwhile_wait_for_one_cycle_at_most(
    driver: Driver, console: Served, settings: Settings, tmp_path: Path
) -> None:
    """Each time all nodes are being measured: one cycle after the submission, no other, and all of them run."""
    measuring(driver, settings, tmp_path / "gpu.sh", LASTING, at_most=4)
    for _ in range(5):
        all_measured(driver, console)
        jobs = {
            str(driver.slurm.submit("bob", "-p", "wide", "-n", "1", "--mem=1M", script="#!/bin/sh\ntrue\n"))
            for _ in range(20)
        }
        waiting = driver.slurm.states()
        assert [waiting[job] for job in jobs] == ["PENDING"] * 20
        driver.steer()
        driver.slurm.wait_until(partial(over, driver, jobs), "they have run")
    assert states().count(MeasurementState.WITHDRAWN) == 20
