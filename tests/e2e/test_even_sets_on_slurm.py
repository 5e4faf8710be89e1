"""Even sets on a real Slurm: where room has to be made for a job that waits for its slowest node, it is made on nodes
that are even, and the job runs there."""

import pytest

from console.audit.services import NO_CONTEXT
from console.cluster.models import Job
from console.partitions.services import ensure_partition
from console.power.figures import NewReading
from console.power.models import Source
from console.power.services import set_figures
from tests.e2e.slurm_driver import NAIVE, Driver

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
}
RULE = {"resource": "cpu", "max_distance": 0.5, "else": "wait"}
SECONDS = {"n1": 10.0, "n2": 10.2, "n3": 12.0, "n4": 10.1}
"""n3 is throttled."""


def full(driver: Driver, **policy: object) -> None:
    """Each node has a job of bob's, that of n3 the last: it has run for the shortest time and would go first."""
    driver.policy("wide", **POLICY, **policy)
    driver.steer()
    set_figures(
        ensure_partition(cluster=driver.cluster, name="wide"),
        [NewReading(node, "cpu", 0, seconds) for node, seconds in SECONDS.items()],
        Source.IMPORTED, actor="dave", reason="Measured by hand", context=NO_CONTEXT,
    )  # fmt: skip
    for node in ("n1", "n2", "n4", "n3"):
        driver.running("bob", f"on_{node}", *WHOLE, "-w", node, script=NAIVE)


def nodes_of(driver: Driver, name: str) -> set[str]:
    (listed,) = driver.slurm.squeue("%N", "-j", driver.ids[name])
    shown = driver.slurm.run(["scontrol", "show", "hostnames", listed]).stdout
    return set(shown.split())


@pytest.mark.parametrize(
    ("balance", "comment"),
    [
        (RULE, ""),
        ({**RULE, "applies_to": "asked"}, "--comment=balanced"),
        (None, "--comment=balanced"),
    ],
    ids=["designated", "asked", "asked without a rule"],
)
def test_others_make_room_on_even_nodes_and_the_throttled_one_is_left_alone(
    driver: Driver, balance: dict[str, object] | None, comment: str
) -> None:
    full(driver, balance=balance)
    driver.submit("cy", "even", *TWO, *filter(None, [comment]), script=NAIVE)
    driver.steer_until_running("even")
    nodes = nodes_of(driver, "even")
    assert "n3" not in nodes
    driver.steer_until_settled()
    assert driver.stopped() == {f"on_{node}" for node in nodes}
    assert driver.states()["on_n3"] == "RUNNING"


def test_who_does_not_ask_gets_the_cheapest_nodes(driver: Driver) -> None:
    full(driver, balance={**RULE, "applies_to": "asked"})
    driver.submit("cy", "any", *TWO, script=NAIVE)
    driver.steer_until_running("any")
    assert "n3" in nodes_of(driver, "any")


def test_where_no_set_is_even_it_waits_and_says_why(driver: Driver) -> None:
    full(driver, balance={**RULE, "max_distance": 0.05})
    driver.submit("cy", "even", *TWO, script=NAIVE)
    driver.steer_quietly()
    assert driver.states()["even"] == "PENDING"
    assert not driver.stopped()
    assert "of equal compute power" in str(Job.objects.get(job_id=driver.ids["even"]).explain)
