"""Units on a real Slurm: a job that waits for its slowest node gets nodes of one switch, or of one block, where making
room there costs hardly more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.audit.services import NO_CONTEXT
from console.cluster.models import Node
from console.partitions.services import ensure_partition
from console.power.figures import NewReading
from console.power.models import Source
from console.power.services import set_figures
from console.steering.models import Plan
from tests.adapters.slurm.record import KNOWN_IN, Wired
from tests.e2e.slurm_driver import NAIVE, Driver, attached

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

WHOLE = ("-p", "wide", "-N1", "-n1", "-c8", "--mem=100M")
TWO = ("-p", "wide", "-N2", "--ntasks-per-node=1", "-c8", "--mem=100M")
POLICY = {
    "mode": "user",
    "levels": [{"name": "P0"}, {"name": "P1"}],
    "user_overrides": {"bob": "P1", "cy": "P0"},
    "balance": {"resource": "cpu", "max_distance": 0.5},
}
SECONDS = {"n1": 10.0, "n2": 10.0, "n3": 10.2, "n4": 10.2}
NETWORKS = {
    "tree": "SwitchName=u1 Nodes=n[1,3]\nSwitchName=u2 Nodes=n[2,4]\nSwitchName=top Switches=u[1-2]\n",
    "block": "BlockName=u1 Nodes=n[1,3]\nBlockName=u2 Nodes=n[2,4]\nBlockSizes=2\n",
}
NEITHER = "SwitchName=all Nodes=n[1-4]\n"


@pytest.fixture
def wired(
    db: None,
    slurm_root: Path,
    slurm_release: str,
    request: pytest.FixtureRequest,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Driver]:
    """A console attached to a Slurm whose network is told, full of bob's jobs: n1's and n2's would go first."""
    kind, text = request.param
    options = {"TopologyPlugin": f"topology/{kind}"}
    with (
        Wired(slurm_root, "topology.conf", text, version=slurm_release, options=options) as slurm,
        attached(slurm, settings, monkeypatch) as driver,
    ):
        driver.policy("wide", **POLICY)
        driver.steer()
        set_figures(
            ensure_partition(cluster=driver.cluster, name="wide"),
            [NewReading(node, "cpu", 0, seconds) for node, seconds in SECONDS.items()],
            Source.IMPORTED, actor="dave", reason="Measured by hand", context=NO_CONTEXT,
        )  # fmt: skip
        for node in ("n4", "n3", "n2", "n1"):
            driver.running("bob", f"on_{node}", *WHOLE, "-w", node, script=NAIVE)
        yield driver


def served(driver: Driver) -> set[str]:
    """Submit a job that wants two even nodes, steer until it runs, and give its nodes."""
    driver.submit("cy", "even", *TWO, script=NAIVE)
    driver.steer_until_running("even")
    driver.steer_until_settled()
    (listed,) = driver.slurm.squeue("%N", "-j", driver.ids["even"])
    return set(driver.slurm.run(["scontrol", "show", "hostnames", listed]).stdout.split())


def units(driver: Driver) -> dict[str, str]:
    return dict(Node.objects.filter(cluster=driver.cluster).values_list("name", "unit"))


@pytest.mark.parametrize("wired", [("tree", NETWORKS["tree"])], indirect=True, ids=["tree"])
def test_room_is_made_under_one_switch(wired: Driver) -> None:
    check_one_unit(wired)


@pytest.mark.parametrize("wired", [("tree", NEITHER)], indirect=True, ids=["one switch"])
def test_where_all_are_in_one_unit_it_is_made_on_the_cheapest_even_nodes(wired: Driver) -> None:
    assert set(units(wired).values()) == {"all"}
    assert served(wired) == {"n1", "n2"}


def check_one_unit(driver: Driver) -> None:
    assert units(driver) == {"n1": "u1", "n2": "u2", "n3": "u1", "n4": "u2"}
    nodes = served(driver)
    assert nodes == {"n1", "n3"}
    assert driver.stopped() == {"on_n1", "on_n3"}
    plan = Plan.objects.get(cluster=driver.cluster, job_id=driver.ids["even"])
    assert "all in u1" in str(plan.explain)


class TestBlocks:
    """22.05 has no blocks."""

    @pytest.fixture(autouse=True)
    def known(self, slurm_release: str) -> None:
        if slurm_release not in KNOWN_IN["block"]:
            pytest.skip("this release has no topology/block")

    @pytest.mark.parametrize("wired", [("block", NETWORKS["block"])], indirect=True, ids=["block"])
    def test_room_is_made_in_one_block(self, wired: Driver) -> None:
        check_one_unit(wired)
