"""The examples of document 004 typed with sbatch: the closest pair inside one unit, none that is even, the nearest.

They are those of tests/vectors/compute-power.json. The document's nodes a and b are n3 and n4 here, c and d are n1 and
n2: left alone, Slurm takes the first ones.
"""

import time
from collections.abc import Iterator, Mapping

import pytest
from pytest_django import Settings

from console.audit.services import NO_CONTEXT
from console.partitions.services import ensure_partition
from console.power.figures import NewReading
from console.power.models import Source
from console.power.services import set_figures
from deploy.private_slurm import PrivateSlurm
from tests.adapters.slurm.record import Wired
from tests.e2e.slurm_driver import NAIVE, Driver, attached
from tests.e2e.test_placing_on_slurm import LATER_S, POLICY, TWO, nodes_of
from tests.plugins.private_slurm import new_root
from tests.steering.submit_script import SCRIPT

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

NETWORK = "SwitchName=s1 Nodes=n[3-4]\nSwitchName=s2 Nodes=n[1-2]\nSwitchName=top Switches=s[1-2]\n"
RULE = {"resource": "cpu", "max_distance": 0.05}
WITHOUT_C = (*TWO, "--exclude=n1")


@pytest.fixture(scope="module")
def slurm(slurm_release: str) -> Iterator[PrivateSlurm]:
    options = {"TopologyPlugin": "topology/tree"}
    with Wired(
        new_root(), "topology.conf", NETWORK,
        job_submit=SCRIPT, version=slurm_release, options=options, remove_root=True,
    ) as running:  # fmt: skip
        yield running


@pytest.fixture
def driver(
    db: None, slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    slurm.clear()
    slurm.submit_rules.unlink(missing_ok=True)
    settings.GIVEWAY_SUBMIT_RULES = str(slurm.submit_rules)
    with attached(slurm, settings, monkeypatch) as driver:
        yield driver
    slurm.clear()


def measured(driver: Driver, seconds: Mapping[str, float], otherwise: str) -> None:
    driver.policy("wide", **POLICY, balance={**RULE, "else": otherwise})
    driver.steer()
    set_figures(
        ensure_partition(cluster=driver.cluster, name="wide"),
        [NewReading(node, "cpu", 0, figure) for node, figure in seconds.items()],
        Source.IMPORTED, actor="dave", reason="The document's figures", context=NO_CONTEXT,
    )  # fmt: skip
    driver.steer()


def test_the_closest_pair_inside_one_unit_wins(driver: Driver) -> None:
    """a and c are closer, but in two units; a and b are close enough in one."""
    measured(driver, {"n3": 1.0, "n4": 1.04, "n1": 1.01, "n2": 1.2}, "wait")
    driver.submit("cy", "J", *TWO, script=NAIVE)
    driver.steer_until_running("J")
    assert nodes_of(driver, "J") == {"n3", "n4"}


def test_without_an_even_pair_it_waits(driver: Driver) -> None:
    measured(driver, {"n3": 1.0, "n4": 1.1, "n2": 1.2, "n1": 1.01}, "wait")
    driver.submit("cy", "J", *WITHOUT_C, script=NAIVE)
    until = time.monotonic() + LATER_S
    while time.monotonic() < until:
        driver.steer()
        time.sleep(0.5)
        assert driver.states()["J"] == "PENDING", "three nodes are free, and uneven"
    assert driver.reason("J") == "no_even_set"


def test_or_takes_the_nearest_pair(driver: Driver) -> None:
    measured(driver, {"n3": 1.0, "n4": 1.12, "n2": 1.2, "n1": 1.01}, "nearest")
    driver.submit("cy", "J", *WITHOUT_C, script=NAIVE)
    driver.steer_until_running("J")
    assert nodes_of(driver, "J") == {"n2", "n4"}
