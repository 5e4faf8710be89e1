"""The example of document 002 typed with sbatch: the earliest node is kept, and leaves the set.

It is that of tests/vectors/reservation.json, with its nodes and amounts; what n2's first job gives back is reserved,
though the last job in line would fit there.
"""

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.cluster.models import Job
from console.steering.models import STOP_KINDS, KeptPlace, PlannedAction
from deploy.private_slurm import PrivateSlurm
from tests.e2e.foretold import Foretold, have_run, started_at
from tests.e2e.slurm_driver import NAIVE, Driver, attached
from tests.e2e.test_placing_on_slurm import nodes_of
from tests.plugins.private_slurm import new_root

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

POLICY = {
    "mode": "user",
    "levels": [{"name": "P0"}, {"name": "P1"}],
    "user_overrides": {"bob": "P1", "cy": "P0"},
    "dispatch": "managed",
    "patience_s": 3600,
}
RUNS = {"a": (500, 540), "b": (300, 360), "c": (100, 120), "d": (900, 960)}
"""So many seconds they run, and may run."""
LONG_S = 7200
"""So long the waiting ones run: nobody is a guest on nodes that are kept."""
NEAR_S = 70
"""A job counts as ended by its p80, which its limit bounds."""


@pytest.fixture(scope="module")
def slurm(slurm_release: str) -> Iterator[PrivateSlurm]:
    """The document's three nodes of eight GPUs."""
    with PrivateSlurm(new_root(), nodes=3, version=slurm_release, remove_root=True) as running:
        yield running


@pytest.fixture
def driver(
    db: None, slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    with attached(slurm, settings, monkeypatch) as driver:
        yield driver
    slurm.clear()


def asking(gpus: int, *more: str) -> tuple[str, ...]:
    return ("-p", "wide", "-N1", "-n1", "-c1", "--mem=10", f"--gres=gpu:{gpus}", *more)


def explained(driver: Driver, name: str) -> str:
    return str(Job.objects.get(cluster=driver.cluster, job_id=driver.ids[name]).explain)


def test_the_earliest_node_is_kept_and_the_others_go_to_those_behind(driver: Driver) -> None:
    began = int(time.time())
    past = {("bob", name): run for name, run in RUNS.items()}
    have_run(driver.cluster, began, past | {("cy", name): (LONG_S, None) for name in ("J1", "J2", "J3")})
    driver.policy("wide", **POLICY)
    for name, node, gpus in (("a", "n1", 8), ("b", "n2", 4), ("c", "n2", 4), ("d", "n3", 6)):
        minutes = RUNS[name][1] // 60
        driver.running("bob", name, *asking(gpus, f"-w{node}", f"-t{minutes}"), script=NAIVE)
    told = Foretold(driver.cluster)
    driver.steer()
    told.say()

    for name, gpus in (("J1", 8), ("J2", 2), ("J3", 2)):
        driver.submit("cy", name, *asking(gpus), script=NAIVE)
    driver.steer_until_running("J2")
    assert nodes_of(driver, "J2") == {"n3"}
    for _ in range(3):
        driver.steer()
        told.say()

    kept = KeptPlace.objects.get()
    assert (kept.job_id, kept.nodes) == (driver.ids["J1"], ["n2"])
    assert kept.at - started_at(driver.slurm, driver.ids["b"]) == pytest.approx(RUNS["b"][0], abs=NEAR_S)
    assert (driver.reason("J1"), driver.reason("J3")) == ("starts_soon", "starts_soon")
    assert "on n1" in explained(driver, "J3")
    first, last = told.start_of(driver.ids["J1"]), told.start_of(driver.ids["J3"])
    assert (first["nodes"], last["nodes"]) == (["n2"], ["n1"])

    driver.cancel("c")
    driver.steer_quietly(5)
    assert driver.states()["J3"] == "PENDING", "n2 has four GPUs free, and they are kept"
    driver.cancel("b")
    driver.steer_until_running("J1")
    assert nodes_of(driver, "J1") == {"n2"}
    driver.cancel("a")
    driver.steer_until_running("J3")
    assert nodes_of(driver, "J3") == {"n1"}
    assert not PlannedAction.objects.filter(kind__in=STOP_KINDS).exists(), driver.story()
