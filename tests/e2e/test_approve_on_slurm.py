"""Approving, rejecting and pausing on the real Slurm: what waits, what is then done, and what is refused."""

import time

import pytest

from console.steering.approvals import OutOfDateError, approve, reject, since_read
from console.steering.models import Plan, PlannedAction
from console.steering.pausing import pause, resume
from console.steering.requests import mark_of, request_of
from tests.e2e.slurm_driver import Driver

pytestmark = [pytest.mark.slurm, pytest.mark.e2e]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
ONE_NODE = ("-p", "x", "-N", "1", "-n", "1", "--mem=10")
GRACE_S = 600
PEOPLE = {"ann": "P3", "cy": "P0"}


def asked(driver: Driver, **policy: object) -> Plan:
    """`low` holds the node, `urgent` waits for half of it, and a plan has been proposed."""
    keys = {"mode": "user", "levels": LEVELS, "user_overrides": PEOPLE, "enforcement": "approve", **policy}
    driver.policy("x", **keys)
    driver.running("ann", "low", *ONE_NODE, "-c", "8")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "4")
    driver.steer_until(lambda: Plan.objects.filter(state="proposed").exists(), "a plan is proposed")
    driver.steer_quietly()
    return Plan.objects.get()


def say_yes(plan: Plan) -> Plan:
    return approve(actor="dave", plan=plan, reason="Delivery today.", seen=mark_of(plan))


def test_nobody_is_touched_until_somebody_approves(driver: Driver) -> None:
    plan = asked(driver)
    assert driver.states() == {"low": "RUNNING", "urgent": "PENDING"}
    assert not PlannedAction.objects.exists()
    assert [each["kind"] for each in plan.alternatives] == ["wait", "other_order", "spare"]
    assert plan.alternatives[2]["possible"] is False

    say_yes(plan)
    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert driver.stopped() == {"low"}
    plan.refresh_from_db()
    assert (plan.state, plan.decided_by) == ("verified", "dave")
    driver.cancel("urgent")
    driver.steer_until_running("low")


def test_a_victim_that_ended_makes_the_plan_out_of_date(driver: Driver) -> None:
    plan = asked(driver)
    driver.cancel("low")
    driver.steer_until_running("urgent")
    driver.steer()  # Slurm may have started it after the last cycle looked; until then the plan only waits.

    with pytest.raises(OutOfDateError, match="out of date"):
        say_yes(plan)

    assert not PlannedAction.objects.exists()
    plan.refresh_from_db()
    assert plan.state == "expired"


def test_a_request_is_renewed_in_place(driver: Driver) -> None:
    """`low` and `other` hold the node; `other` ends, `filler` gets its room, and the request stops `low` instead."""
    keys = {"mode": "user", "levels": LEVELS, "user_overrides": {**PEOPLE, "bob": "P2"}}
    driver.policy("x", **keys, enforcement="approve")
    driver.running("ann", "low", *ONE_NODE, "-c", "4")
    driver.running("ann", "other", *ONE_NODE, "-c", "4")
    driver.submit("bob", "filler", *ONE_NODE, "-c", "4")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "4")
    urgent = Plan.objects.filter(job_id=driver.ids["urgent"])
    driver.steer_until(urgent.exists, "a plan is proposed")
    plan = urgent.get()
    read = mark_of(plan)
    [victim] = plan.victims
    left = "low" if victim["job"] == driver.ids["other"] else "other"

    driver.cancel("other" if left == "low" else "low")
    driver.steer_until(lambda: urgent.get().version > 1, "it is renewed")

    plan = urgent.get()
    assert (plan.state, plan.not_now) == ("proposed", "")
    assert [each["job"] for each in plan.victims] == [driver.ids[left]]
    assert [row.number for row in plan.versions.all()] == [1, 2]
    changed = since_read(request_of(plan), read)
    assert changed is not None
    assert changed.sentences[0] == f"{victim['job']} (ann) has ended."
    say_yes(plan)
    driver.steer_until_running("urgent")
    driver.steer_until_settled()
    assert driver.stopped() == {left}


def test_tasks_of_an_array_are_approved_together(driver: Driver) -> None:
    driver.policy("x", mode="user", levels=LEVELS, user_overrides=PEOPLE, enforcement="approve")
    driver.running("ann", "low", *ONE_NODE, "-c", "4")
    driver.running("ann", "other", *ONE_NODE, "-c", "4")
    driver.submit("cy", "tasks", *ONE_NODE, "-c", "4", "--array=0-1")
    driver.steer_until(Plan.objects.exists, "the tasks have a plan")
    plan = Plan.objects.get()
    assert len(plan.tasks) == 2

    say_yes(plan)
    driver.steer_until(lambda: set(Plan.objects.values_list("state", flat=True)) == {"verified"}, "both run")

    assert driver.stopped() == {"low", "other"}


def test_a_rejected_plan_leaves_everybody_where_he_is(driver: Driver) -> None:
    plan = asked(driver)
    reject(actor="dave", plan=plan, reason="Ann is nearly done.", seen=mark_of(plan))

    driver.steer_quietly(8)

    assert driver.states() == {"low": "RUNNING", "urgent": "PENDING"}
    assert Plan.objects.count() == 1
    why = driver.cluster.jobs.get(job_id=driver.ids["urgent"]).explain
    assert why.startswith(f"dave rejected plan {plan.pk}: Ann is nearly done.")


def test_a_pause_takes_an_approved_plan_back_in_its_grace_time(driver: Driver) -> None:
    plan = say_yes(asked(driver, grace_s=GRACE_S))
    driver.steer_until(lambda: bool(PlannedAction.objects.filter(kind="signal", state="verified")), "asked")

    before = time.monotonic()
    pause(actor="ada", cluster=driver.cluster, reason="Maintenance")
    driver.steer()
    plan.refresh_from_db()
    assert "ada paused all partitions: Maintenance" in plan.undo_reason
    assert time.monotonic() - before < GRACE_S / 2  # within a cycle, not at the end of the grace time
    driver.steer_until_settled()

    assert driver.states() == {"low": "RUNNING", "urgent": "PENDING"}
    assert driver.stopped() == set()

    resume(actor="ada", cluster=driver.cluster)
    driver.steer_until(lambda: Plan.objects.filter(state="undone").exists(), "it is undone")


def test_while_paused_an_enforcing_partition_stops_nobody(driver: Driver) -> None:
    driver.policy("x", mode="user", levels=LEVELS, user_overrides=PEOPLE)
    driver.running("ann", "low", *ONE_NODE, "-c", "8")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "4")
    pause(actor="dave", cluster=driver.cluster, partition=driver.cluster.partitions.get(name="x"))

    driver.steer_quietly()
    assert driver.states() == {"low": "RUNNING", "urgent": "PENDING"}
    assert not Plan.objects.exists()

    resume(actor="dave", cluster=driver.cluster, partition=driver.cluster.partitions.get(name="x"))
    driver.steer_until_running("urgent")
    assert driver.stopped() == {"low"}
