"""A node is exchanged on a real Slurm: a young job that runs on an uneven set gives one of its nodes for a free one, so
that it and the job that waits both have even sets."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.audit.models import AuditEntry
from console.audit.services import NO_CONTEXT
from console.cluster.models import Job
from console.partitions.services import ensure_partition
from console.power.figures import NewReading
from console.power.models import Source
from console.power.services import set_figures
from console.steering.approvals import approve
from console.steering.kinds import reservation
from console.steering.models import Plan, PlanState
from console.steering.requests import mark_of
from deploy.private_slurm import PrivateSlurm
from tests.e2e.slurm_driver import NAIVE, SLEEP, Driver, at, attached

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

WHOLE = ("-p", "wide", "-N1", "-n1", "-c8", "--mem=100M")
TWO = ("-p", "wide", "-N2", "--ntasks-per-node=1", "-c8", "--mem=100M")
POLICY = {"mode": "user", "levels": [{"name": "P0"}], "user_overrides": {"bob": "P0", "cy": "P0"}}
RULE = {"resource": "cpu", "max_distance": 0.5, "else": "wait", "swap_below_s": 600}
SECONDS = {"n1": 10.0, "n2": 12.0, "n3": 12.1, "n4": 10.1}
"""Slurm starts `runs` on n1 and n3, which are uneven. n1 for n2, and both sets are even."""
ITS_SET, THEIR_SET = {"n2", "n3"}, {"n1", "n4"}
QUARTER_S = 30
"""Of the two minutes that Slurm itself puts between two runs."""


class DiedError(BaseException):
    """Giveway is killed."""


def both(driver: Driver, **policy: object) -> None:
    """`runs` has n1 and n3. `waits` does not take n2: else Slurm would start it on what is free, even or not."""
    driver.policy("wide", **POLICY, balance=RULE, **policy)
    driver.steer()
    set_figures(
        ensure_partition(cluster=driver.cluster, name="wide"),
        [NewReading(node, "cpu", 0, seconds) for node, seconds in SECONDS.items()],
        Source.IMPORTED, actor="dave", reason="Measured by hand", context=NO_CONTEXT,
    )  # fmt: skip
    for node in ("n2", "n4"):
        driver.running("bob", f"on_{node}", *WHOLE, "-w", node, script=NAIVE)
    driver.running("bob", "runs", *TWO, script=SLEEP)
    assert nodes_of(driver, "runs") == {"n1", "n3"}
    driver.cancel("on_n2", "on_n4")
    driver.slurm.wait_until(
        lambda: not {"on_n2", "on_n4"} & {n for n, state in driver.states().items() if state != "ENDED"},
        "n2 and n4 are free",
    )
    driver.submit("cy", "waits", *TWO, "-x", "n2", script=NAIVE)


def nodes_of(driver: Driver, name: str) -> set[str]:
    (listed,) = driver.slurm.squeue("%N", "-j", driver.ids[name])
    return (
        set(driver.slurm.run(["scontrol", "show", "hostnames", listed]).stdout.split()) if listed else set()
    )


def reservations(driver: Driver) -> str:
    return driver.slurm.run(["scontrol", "-o", "show", "reservations"]).stdout


def landed(driver: Driver) -> None:
    driver.steer_until_running("waits", "runs")
    assert (nodes_of(driver, "runs"), nodes_of(driver, "waits")) == (ITS_SET, THEIR_SET), driver.story()
    driver.steer_until_settled()
    driver.steer_until(lambda: "giveway_" not in reservations(driver), "nothing is kept any more")
    assert driver.restarts()["runs"] == 1
    plan = Plan.objects.get()
    assert plan.state == PlanState.VERIFIED
    assert f"{driver.ids['runs']} runs on n2 and n3 as planned." in plan.outcome
    assert f"{driver.ids['waits']} runs on n1 and n4 as planned." in plan.outcome


@pytest.mark.parametrize(
    "grace", [{}, {"grace_s": 3, "checkpoint_signal": "USR1"}], ids=["at once", "signal"]
)
def test_an_exchange_ends_with_both_sets_even_and_every_step_audited(
    driver: Driver, grace: dict[str, object]
) -> None:
    both(driver, **grace)
    landed(driver)
    told = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    for action in (
        "plan.proposed",
        "plan.executing",
        "nodes.kept",
        "action.verified",
        "nodes.let_go",
        "plan.verified",
    ):
        assert action in told
    shown = driver.slurm.run(["scontrol", "-o", "show", "job", driver.ids["runs"]]).stdout
    assert "to exchange n1 for n2" in shown


def test_where_plans_are_approved_nothing_happens_before(driver: Driver) -> None:
    both(driver, enforcement="approve")
    driver.steer_quietly()
    plan = Plan.objects.get()
    assert (plan.state, plan.victims[0]["how"]) == (PlanState.PROPOSED, "swap")
    assert "giveway_" not in reservations(driver)
    assert driver.states()["runs"] == "RUNNING"
    assert not driver.stopped()
    approve(plan=plan, actor="dave", reason="Even sets", seen=mark_of(plan))
    landed(driver)


def test_in_shadow_nothing_happens(driver: Driver) -> None:
    both(driver, enforcement="shadow")
    driver.steer_quietly()
    assert Plan.objects.get().state == PlanState.PROPOSED
    assert "giveway_" not in reservations(driver)
    assert not driver.stopped()
    assert str(Job.objects.get(job_id=driver.ids["waits"]).reason) == "swaps_a_node"


@pytest.fixture
def hasty(
    db: None, slurm_root: Path, slurm_release: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """All that is waited for there takes a quarter of its time: Slurm's delay is as long as its credentials last."""
    monkeypatch.setattr(reservation, "KEPT_S", reservation.KEPT_S // 4)
    monkeypatch.setattr(reservation, "RENEW_S", reservation.RENEW_S // 4)
    options = {"AuthInfo": f"socket={slurm_root}/munge/socket,cred_expire={QUARTER_S}"}
    with (
        PrivateSlurm(slurm_root, version=slurm_release, options=options) as slurm,
        attached(slurm, settings, monkeypatch) as driver,
    ):
        yield driver


def test_if_giveway_is_killed_after_the_requeue_the_job_runs_again_by_itself(hasty: Driver) -> None:
    driver = hasty
    both(driver)

    def die() -> None:
        raise DiedError

    with pytest.raises(DiedError), at("act.requeue_hold.applied", die):
        driver.steer_until(lambda: False, "it dies before")
    assert not driver.held()
    driver.slurm.wait_until(lambda: driver.states()["runs"] == "RUNNING", "it runs again")
    assert driver.restarts()["runs"] == 1
