"""Users and administrators do not wait while a plan is carried out: they hold, release, cancel, change and drain."""

import os
import subprocess
from datetime import timedelta

import pytest

from console.core import clock
from console.steering.models import Plan, PlannedAction
from scheduler.model.reasons import Reason
from tests.e2e.slurm_driver import READY, SLEEP, Driver, at
from tests.e2e.test_slurm_as_it_is.conftest import MARKS, Scene

pytestmark = MARKS

ONE = ("-p", "x", "-n", "1", "--mem=10")
STUBBORN = f"#!/bin/bash\ntrap '' TERM USR1\n{READY}while true; do sleep 1; done\n"
"""Takes KillWait (four seconds) to end."""
IS_ENDING = "act.requeue_hold.applied"
"""A stubborn victim has just been told to end: whoever looks from outside easily misses its seconds."""
LONG_GRACE = 600


@pytest.fixture
def in_grace(request: pytest.FixtureRequest, scene: Scene, driver: Driver) -> Plan:
    """A plan whose victim has had its checkpoint signal and is not stopped yet. Parameter: more keys of the policy."""
    scene.policy(grace_s=LONG_GRACE, **getattr(request, "param", {}))
    driver.running("ann", "low", *ONE, "-c", "8")
    driver.submit("cy", "urgent", *ONE, "-c", "4")
    driver.steer_until(lambda: _action("signal").state in {"issued", "verified"}, "the signal is sent")
    return Plan.objects.get()


def _action(kind: str) -> PlannedAction:
    """The one action of a kind; a new one when there is none."""
    return PlannedAction.objects.filter(kind=kind).first() or PlannedAction(kind=kind)


def _end_grace(plan: Plan) -> None:
    PlannedAction.objects.filter(plan=plan, kind="requeue_hold").update(not_before=clock.now())


@pytest.mark.usefixtures("in_grace")
def test_a_beneficiary_that_its_user_holds_has_nobody_stopped(scene: Scene, driver: Driver) -> None:
    scene.scontrol("hold", driver.ids["urgent"], user="cy")

    driver.steer_until_settled()

    assert driver.states()["low"] == "RUNNING"
    assert driver.stopped() == set()
    plan = Plan.objects.get()
    assert (plan.state, "it is held by its user" in plan.outcome) == ("undone", True)


@pytest.mark.parametrize("change", ["Dependency=afterok:{low}", "StartTime=now+1hour"])
@pytest.mark.usefixtures("in_grace")
def test_a_beneficiary_that_is_to_wait_after_all_has_nobody_stopped(
    scene: Scene, driver: Driver, change: str
) -> None:
    scene.scontrol("update", f"JobId={driver.ids['urgent']}", change.format(**driver.ids))

    driver.steer_until_settled()
    driver.steer_quietly(2)

    assert driver.stopped() == set()
    assert Plan.objects.get().state == "undone"


def test_a_beneficiary_held_after_the_stop_gives_the_victim_back_at_once(
    scene: Scene, driver: Driver
) -> None:
    scene.policy(start_deadline_s=600)
    driver.running("ann", "low", *ONE, "-c", "8", script=STUBBORN)
    driver.submit("cy", "urgent", *ONE, "-c", "4")
    with at(IS_ENDING, lambda: scene.scontrol("hold", driver.ids["urgent"], user="cy")) as held:
        driver.steer_until(held, "the victim is ending")

    driver.steer_until_running("low")
    driver.steer_until_settled()

    assert Plan.objects.get().state == "undone"
    # Somebody was stopped in vain: not again before the back-off.
    scene.scontrol("release", driver.ids["urgent"], user="cy")
    driver.steer_quietly(3)
    assert Plan.objects.count() == 1
    assert driver.reason("urgent") == Reason.BLOCKED


def test_the_deadline_gives_the_victims_back_and_is_not_tried_again_at_once(
    scene: Scene, driver: Driver
) -> None:
    """The node is drained while the victim is ending: the beneficiary cannot start."""
    scene.policy(start_deadline_s=600)
    driver.running("ann", "low", *ONE, "-c", "8", script=STUBBORN)
    driver.submit("cy", "urgent", *ONE, "-c", "4")
    drain = ("update", "NodeName=n1", "State=DRAIN", "Reason=test")
    with at(IS_ENDING, lambda: scene.scontrol(*drain)) as drained:
        driver.steer_until(drained, "the victim is ending")
    driver.steer_until(lambda: driver.states()["low"] == "PENDING", "the victim is off its node")
    driver.steer_quietly(2)
    assert _action("release").state == "planned"

    Plan.objects.update(deadline=clock.now() - timedelta(seconds=1))
    driver.steer_until(lambda: not driver.held(), "the victim is released")
    scene.scontrol("update", "NodeName=n1", "State=RESUME")

    # Whoever was stopped in vain is back first, and the beneficiary has nobody stopped for a while.
    driver.steer_until_running("low")
    driver.steer_until_settled()
    driver.steer_quietly(3)
    assert driver.states() == {"low": "RUNNING", "urgent": "PENDING"}
    plan = Plan.objects.get()
    assert plan.state == "undone"
    urgent, low = driver.ids["urgent"], driver.ids["low"]
    assert plan.outcome == f"{urgent} had not started by the deadline. {low} came back."


@pytest.mark.parametrize("state", ["DRAIN", "DOWN"])
def test_a_node_that_goes_away_in_the_grace_time(
    scene: Scene, driver: Driver, in_grace: Plan, state: str
) -> None:
    scene.scontrol("update", "NodeName=n1", f"State={state}", "Reason=test")
    _end_grace(in_grace)

    driver.steer_until_settled()

    assert not PlannedAction.objects.filter(kind="requeue_hold", outcome="done").exists()
    if state == "DRAIN":
        assert (Plan.objects.get().state, driver.states()["low"]) == ("undone", "RUNNING")
    else:
        # Slurm itself requeues the job of a node that is down, and may have the node back in a moment.
        assert driver.restarts()["low"] >= 1


def test_a_victim_that_ends_by_itself_in_its_grace_time(scene: Scene, driver: Driver) -> None:
    scene.policy(grace_s=LONG_GRACE)
    script = f"#!/bin/bash\ntrap 'exit 0' USR1\n{READY}while true; do sleep 1; done\n"
    driver.running("ann", "low", *ONE, "-c", "8", script=script)
    driver.submit("cy", "urgent", *ONE, "-c", "4")

    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert driver.states()["low"] == "ENDED"
    assert Plan.objects.get().state == "verified"


def test_a_victim_that_its_user_cancels_in_its_grace_time(driver: Driver, in_grace: Plan) -> None:
    driver.slurm.run(["scancel", driver.ids["low"]], "ann")

    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert driver.states()["low"] == "ENDED"
    in_grace.refresh_from_db()
    assert in_grace.state == "verified"


@pytest.mark.parametrize("what", ["release", "cancel"])
def test_a_stopped_victim_that_its_user_releases_or_cancels_before_the_beneficiary_runs(
    scene: Scene, driver: Driver, what: str
) -> None:
    """Slurm lets users release what an administrator has requeued and held."""
    scene.policy()
    driver.running("ann", "low", *ONE, "-c", "4")
    driver.running("ann", "slow", *ONE, "-c", "4", script=STUBBORN)
    driver.submit("cy", "urgent", *ONE, "-c", "8")
    words = ["scontrol", "release"] if what == "release" else ["scancel"]

    def as_soon_as_it_is_off_its_node() -> None:
        """Before any cycle sees that the other one has left, too, and that the beneficiary runs."""
        driver.slurm.wait_for_state(driver.ids["low"], "PENDING")
        driver.slurm.run([*words, driver.ids["low"]], "ann")

    with at(IS_ENDING, as_soon_as_it_is_off_its_node) as done:
        driver.steer_until(done, "the victims are ending")

    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert Plan.objects.get().state == "verified"
    driver.cancel("urgent")
    back = ("low", "slow") if what == "release" else ("slow",)
    driver.steer_until_running(*back)
    assert all(driver.restarts()[name] == 1 for name in back)


def test_a_victim_made_unstoppable_in_the_grace_time_is_stopped_all_the_same(
    scene: Scene, driver: Driver, in_grace: Plan
) -> None:
    scene.scontrol("update", f"JobId={driver.ids['low']}", "Requeue=0")
    _end_grace(in_grace)

    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert driver.restarts()["low"] == 1
    assert Plan.objects.get().state == "verified"


@pytest.mark.parametrize("in_grace", [{"not_requeueable": "leave"}], indirect=True)
def test_a_requeue_that_slurm_refuses(scene: Scene, driver: Driver, in_grace: Plan) -> None:
    """In the grace time the victim is made one that is not requeued, where the policy leaves such jobs alone."""
    scene.scontrol("update", f"JobId={driver.ids['low']}", "Requeue=0")
    _end_grace(in_grace)

    driver.steer_until_settled()
    driver.steer_quietly(2)

    assert driver.states() == {"low": "RUNNING", "urgent": "PENDING"}
    assert driver.stopped() == set()
    plan = Plan.objects.get()
    assert plan.state == "undone"
    assert "it was made not requeueable after submission" in plan.outcome


def test_a_beneficiary_that_starts_elsewhere_has_nobody_stopped(scene: Scene, driver: Driver) -> None:
    scene.policy(grace_s=LONG_GRACE)
    scene.policy("q")
    driver.running("ann", "low", *ONE, "-c", "8")
    for node in ("n3", "n4"):
        driver.running("bob", node, "-p", "q", "-w", node, "-n", "1", "-c", "8", "--mem=10")
    driver.submit("cy", "urgent", "-p", "x,q", "-n", "1", "-c", "8", "--mem=10")
    driver.steer_until(lambda: bool(driver.open_plans()), "a plan is made")
    driver.cancel("n4")

    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert driver.slurm.squeue("%P %N", "-j", driver.ids["urgent"]) == ["q n4"]
    assert driver.stopped() == set()
    plan = Plan.objects.get()
    urgent, low = driver.ids["urgent"], driver.ids["low"]
    told = f"{urgent} started elsewhere, on n4. {low} was not stopped."
    assert (plan.state, plan.outcome) == ("undone", told)


def test_an_interactive_job_that_waits_gets_its_room(scene: Scene, driver: Driver) -> None:
    scene.policy()
    driver.running("ann", "low", *ONE, "-c", "8", script=SLEEP)
    with subprocess.Popen(
        ["salloc", "-J", "urgent", "--no-shell", *ONE, "-c", "4"],
        user="cy",
        group="users",
        extra_groups=[],
        cwd=driver.slurm.work / "cy",
        env={**os.environ, **driver.slurm.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as salloc:
        try:
            driver.slurm.wait_until(
                lambda: bool(driver.slurm.squeue("%i", "-n", "urgent")), "the job is in the queue"
            )
            driver.ids["urgent"] = driver.slurm.squeue("%i", "-n", "urgent")[0]

            driver.steer_until_running("urgent")

            assert driver.stopped() == {"low"}
        finally:
            salloc.kill()
