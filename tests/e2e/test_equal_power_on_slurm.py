"""Document 004 from the measurement to the exchange, on a real Slurm and in one story: every figure in it was measured
by the benchmark's own jobs, and what a person does goes through the console.

Slurm fills nodes in the order of their names, so left alone it would take the throttled n1 first.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from console.accounts.models import User
from console.audit.models import AuditEntry
from console.partitions.services import ensure_partition
from console.power.models import Cause, Measurement, MeasurementState, Processor
from console.power.tasks import measure_some, watch
from console.steering.models import Plan, PlanState
from deploy.private_slurm import Partition, PrivateSlurm
from tests import factories
from tests.e2e.served import Served, served
from tests.e2e.slurm_driver import NAIVE, PATIENCE_S, SLEEP, Driver, attached
from tests.plugins.private_slurm import new_root
from tests.steering.submit_script import SCRIPT

pytestmark = [pytest.mark.slurm, pytest.mark.e2e]

AT = "/api/v1/partitions/wide/power/"
WIDE = Partition("wide", (1, 2, 3, 4), {"Default": "YES"})
"""The only one, so whoever looks after it may drain its nodes."""
ORDINARY_S, THROTTLED_S = 0.4, 3.4
SLOW = "n1"
ALSO_SLOW = "n2"
"""Throttled later, by its new driver."""
ONE = ("-p", "wide", "-N1", "-n1", "--gres=gpu:2", "--mem=100M")
TWO = ("-p", "wide", "-N2", "--ntasks-per-node=1", "--gres=gpu:2", "--mem=100M")
MAX_DISTANCE = 1.5
RULE = {"resource": "gpu", "max_distance": MAX_DISTANCE, "else": "wait", "swap_below_s": 600}
"""Half of what the throttled ones take longer."""
POLICY = {"mode": "user", "levels": [{"name": "P0"}], "user_overrides": {"bob": "P0", "cy": "P0"}}
MEASURES = {"enabled": True, "resource": "gpu", "at_most": 4, "every_days": 30, "limit_s": 60}


@dataclass
class Site:
    """The cluster, its console with dave's token and session, and what the benchmark finds on the nodes."""

    driver: Driver
    served: Served
    api: APIClient
    pages: Client
    nodes: Path

    def throttle(self, node: str, driver: str) -> None:
        """Its GPUs are slower from now on."""
        (self.nodes / node).write_text(f"seconds={THROTTLED_S}\nversion={driver}\n")

    def until(self, done: Callable[[], bool], what: str) -> None:
        """Cycles, measuring and watching as the timer would do them, until `done`."""
        until = time.monotonic() + PATIENCE_S
        while not done():
            rows = list(Measurement.objects.values_list("node", "state", "outcome"))
            assert time.monotonic() < until, f"{what}: {rows} {self.driver.states()} {self.driver.story()}"
            self.served.answer()
            self.driver.steer()
            measure_some()
            watch()
            time.sleep(0.1)

    def post(self, path: str, **body: Any) -> Any:
        answer = self.api.post(f"{AT}{path}", body, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    def incident(self) -> dict[str, Any] | None:
        """That of one of the throttled GPUs, as an administrator is told of it."""
        rows = self.api.get(f"{AT}incidents/").json()["results"]
        return next((row for row in rows if (row["node"], row["device"]) == (SLOW, 1)), None)

    def figures(self, node: str) -> tuple[float, float]:
        """Of its two GPUs, as the API tells them."""
        rows = self.api.get(AT).json()["results"]
        first, second = (row["figure"] for row in rows if row["node"] == node)
        return first, second

    def nodes_of(self, name: str) -> set[str]:
        (listed,) = self.driver.slurm.squeue("%N", "-j", self.driver.ids[name])
        return set(self.driver.slurm.run(["scontrol", "show", "hostnames", listed]).stdout.split())

    def shown(self) -> str:
        """The throttled node, as Slurm shows it."""
        return self.driver.slurm.run(["scontrol", "-o", "show", "node", SLOW]).stdout

    def policy(self, **keys: Any) -> None:
        self.driver.policy("wide", **POLICY, **keys)
        self.driver.steer()


def benchmark(nodes: Path) -> str:
    """It sleeps, on a throttled node longer, and says so itself: what a real one would do is up to the hardware, and a
    busy machine adds nothing to it."""
    return (
        "#!/bin/sh\n"
        f"seconds={ORDINARY_S} version=535.1\n"
        f'[ -f "{nodes}/$SLURMD_NODENAME" ] && . "{nodes}/$SLURMD_NODENAME"\n'
        'echo "driver=$version"\n'
        'echo "seconds=$seconds"\n'
        'exec sleep "$seconds"\n'
    )


@pytest.fixture
def site(
    db: None, slurm_release: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Site]:
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    (tmp_path / "gpu.sh").write_text(benchmark(nodes))
    settings.GIVEWAY_BENCHMARK_GPU = str(tmp_path / "gpu.sh")
    slurm = PrivateSlurm(
        new_root(), gpus=2, gpu_types=("a100",) * 4, partitions=(WIDE,), job_submit=SCRIPT, version=slurm_release,
        remove_root=True,
    )  # fmt: skip
    with slurm, served() as here, attached(slurm, settings, monkeypatch) as driver:
        settings.GIVEWAY_NODES_URL, settings.GIVEWAY_SUBMIT_RULES = here.url, str(slurm.submit_rules)
        factories.make_partition_admin(ensure_partition(cluster=driver.cluster, name="wide"), "dave")
        yield Site(driver, here, *clients(factories.make_viewer("dave")), nodes)


def clients(person: User) -> tuple[APIClient, Client]:
    api, pages = APIClient(), Client()
    api.credentials(HTTP_AUTHORIZATION=f"Token {factories.make_token(person)}")
    pages.force_login(person)
    return api, pages


def told() -> list[str]:
    return list(AuditEntry.objects.order_by("id").values_list("action", flat=True))


def test_from_the_measurement_to_the_exchange(site: Site) -> None:
    site.throttle(SLOW, "535.1")
    site.policy(balance=RULE)
    the_throttled_node_is_found(site)
    its_node_is_drained_and_put_back(site)
    a_job_of_two_nodes_avoids_it(site)
    another_one_waits_and_says_why(site)
    a_new_driver_throttles_a_second_node(site)
    an_exchange_makes_both_sets_even(site)


def the_throttled_node_is_found(site: Site) -> None:
    answer = site.api.put(f"{AT}rule/", {**MEASURES, "reason": "To know them"}, format="json")
    assert answer.status_code == 200, answer.json()
    site.until(lambda: Processor.objects.count() == 8 and site.incident() is not None, "all is measured")
    assert {status for _body, status in site.served.told} == {200}
    throttled = site.figures(SLOW)
    others = [figure for node in ("n2", "n3", "n4") for figure in site.figures(node)]
    assert min(throttled) >= THROTTLED_S
    assert min(throttled) - max(others) > MAX_DISTANCE
    assert min(others) >= ORDINARY_S
    shown = site.pages.get("/partitions/wide/power/").content.decode()
    assert "n1, gpu 1, is" in shown, "the page says so, too"
    assert "power.incident_opened" in told()


def its_node_is_drained_and_put_back(site: Site) -> None:
    incident = site.incident()
    assert incident is not None
    assert incident["words"].endswith("slower than the middle of its 7 siblings.")
    at = f"incidents/{incident['id']}/"
    site.post(f"{at}drain/", reason="A fan is broken")
    site.until(lambda: (site.incident() or {})["drain"] == "drained", "it is drained")
    site.until(lambda: "State=IDLE+DRAIN" in site.shown(), "the last measurement on it has ended")
    assert "Reason=giveway: drain" in site.shown()
    assert "by dave: A fan is broken" in site.shown()
    site.post(f"{at}put-back/", reason="A new fan")
    site.until(lambda: (site.incident() or {})["drain"] is None, "it is back")
    assert "DRAIN" not in site.shown().partition("State=")[2].split()[0]
    again = Measurement.objects.filter(node=SLOW, cause=Cause.REPAIRED, state=MeasurementState.DONE)
    site.until(again.exists, "it is measured anew")
    assert min(site.figures(SLOW)) >= THROTTLED_S, "the fan was not it"
    steps = ["drain_asked", "drained", "return_asked", "put_back"]
    assert [each for each in told() if each.removeprefix("power.") in steps] == [
        f"power.{step}" for step in steps
    ]


def a_job_of_two_nodes_avoids_it(site: Site) -> None:
    site.driver.submit("cy", "even", *TWO, script=SLEEP)
    site.driver.steer_until_running("even")
    assert SLOW not in site.nodes_of("even")
    site.driver.steer()
    assert [told().count(f"job.{word}") for word in ("put_off", "begins", "placed")] == [1, 1, 1]


def another_one_waits_and_says_why(site: Site) -> None:
    """n1 and one more are free: not even. No exchange could pair n1 with anybody."""
    site.driver.submit("cy", "waits", *TWO, script=NAIVE)
    site.driver.steer_quietly()
    assert site.driver.states() == {"even": "RUNNING", "waits": "PENDING"}
    assert site.driver.reason("waits") == "no_even_set"
    answer = site.api.get(f"/api/v1/jobs/{site.driver.ids['waits']}/why/").json()
    words = " ".join(line["text"] for part in answer["parts"] for line in part["lines"])
    assert "of equal compute power" in words
    assert told().count("job.put_off") == 2
    site.driver.cancel("even", "waits")


def a_new_driver_throttles_a_second_node(site: Site) -> None:
    site.throttle(ALSO_SLOW, "535.2")
    site.until(lambda: not site.driver.slurm.states(), "all is idle")
    asked = site.post("measurements/", nodes=[ALSO_SLOW])
    assert [row["node"] for row in asked] == [ALSO_SLOW]
    again = Measurement.objects.filter(node=ALSO_SLOW, cause=Cause.DRIVER, state=MeasurementState.DONE)
    site.until(again.exists, "its new driver is told, and it is measured once more")
    assert min(site.figures(ALSO_SLOW)) >= THROTTLED_S


def an_exchange_makes_both_sets_even(site: Site) -> None:
    """While nothing is balanced, Slurm starts `runs` on n1 and n3."""
    driver = site.driver
    site.policy(balance=None)
    for node in ("n2", "n4"):
        driver.running("bob", f"on_{node}", *ONE, "-w", node, script=NAIVE)
    driver.running("bob", "runs", *TWO, script=SLEEP)
    assert site.nodes_of("runs") == {"n1", "n3"}
    driver.cancel("on_n2", "on_n4")
    site.policy(balance=RULE)
    driver.submit("cy", "joins", *TWO, script=NAIVE)
    driver.steer_until(Plan.objects.exists, "an exchange is planned")
    driver.steer_until_settled()
    driver.steer_until_running("runs", "joins")
    sets = {frozenset(site.nodes_of(name)) for name in ("runs", "joins")}
    assert sets == {frozenset({SLOW, ALSO_SLOW}), frozenset({"n3", "n4"})}, driver.story()
    plan = Plan.objects.get()
    assert (plan.state, plan.victims[0]["how"]) == (PlanState.VERIFIED, "swap")
    assert driver.restarts()["runs"] == 1
    steps = ["plan.proposed", "plan.executing", "action.verified", "plan.verified"]
    assert not set(steps) - set(told())
