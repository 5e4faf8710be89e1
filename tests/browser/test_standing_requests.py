"""Requests for approval that stand still while the cluster goes on: twenty on the demo, and one through all that may
happen to it. The simulated cluster moves only when a test says so."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.core import clock
from console.steering import cycle
from console.steering.models import Plan
from console.steering.served import jobs_served
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.model.jobs import JobState, Request
from tests import factories
from tests.browser.conftest import enter
from tests.steering.conftest import START, Sim

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
REQUESTS = 20
DECIDED = re.compile(r"Plan \d+ is (approved|rejected)")


def simulated(scenario: str, monkeypatch: pytest.MonkeyPatch) -> Sim:
    port = SCENARIOS[scenario].build(START)
    monkeypatch.setattr(cycle, "connect", lambda row: port)
    monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(port.now))
    return Sim(port)


@pytest.fixture
def demo(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """The full demo cluster, where both partitions ask and many urgent jobs wait."""
    sim = simulated("demo", monkeypatch)
    for partition in ("demo", "cpu"):
        sim.policy(partition, enforcement="approve", user_overrides={"zoe": "P0"})
    for partition, wanted, count in (("demo", {"gpu": 1, "cpu": 1}, 24), ("cpu", {"cpu": 16}, 8)):
        for number in range(count):
            request = Request(nodes=1, per_node=wanted)
            sim.port.submit(
                JobSpec(f"urgent_{number}", "zoe", request, partitions=(partition,), run_time_s=900)
            )
    sim.cycle()
    return sim


@pytest.fixture
def small(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """Four empty nodes; `x`, which asks, has one of them."""
    sim = simulated("empty", monkeypatch)
    sim.policy(enforcement="approve")
    return sim


@pytest.fixture
def ada(live_server: Any, page: Page, page_faults: list[str], transactional_db: None) -> Page:
    """The administrator's page; the test ends with a look at the browser's complaints."""
    enter(page.context, live_server.url, factories.make_administrator())
    return page


def still_waits(sim: Sim, plan: Plan) -> bool:
    return sim.state(plan.job_id) is JobState.PENDING


def press(page: Page, button: str) -> None:
    """Decide; whoever is told that it costs more now has read that, and presses once more."""
    page.get_by_role("button", name=button).first.click()
    dearer = page.get_by_text("costs more now than what you have read")
    expect(dearer.or_(page.locator("main", has_text=DECIDED)).first).to_be_visible()
    if dearer.count():
        expect(page.get_by_label("Reason")).not_to_have_value("")
        page.get_by_role("button", name=button).first.click()


def test_twenty_requests_are_decided_one_after_the_other_and_none_vanishes(
    demo: Sim, ada: Page, live_server: Any
) -> None:
    assert Plan.objects.filter(state="proposed").count() >= REQUESTS
    for number in range(REQUESTS):
        ada.goto(f"{live_server.url}/approvals/")
        ada.get_by_role("link", name="Look and decide").first.click()
        expect(ada).to_have_url(re.compile(r"/plans/\d+/"))
        plan = Plan.objects.get(pk=int(ada.url.rstrip("/").rpartition("/")[2]))
        waiting = list(Plan.objects.filter(state="proposed"))
        ada.get_by_label("Reason").fill(f"Decision {number}")

        demo.cycles(2, every_s=2)  # the reader reads, and the cluster goes on

        for each in waiting:
            each.refresh_from_db()
            assert each.state == "proposed" or not still_waits(demo, each), (each, each.outcome)
        plan.refresh_from_db()
        assert plan.state == "proposed"
        press(ada, "Reject" if number % 3 == 2 or plan.not_now else "Approve:")
        expect(ada.locator("main")).to_contain_text(f"Plan {plan.pk} is ")
        plan.refresh_from_db()
        assert (plan.decided_by, plan.decision_reason) == ("ada", f"Decision {number}")
        demo.cycle()
    decided = Plan.objects.filter(decided_by="ada")
    assert decided.count() == REQUESTS
    assert decided.exclude(state="rejected").count() >= REQUESTS // 2


def test_what_is_typed_survives_everything_that_happens_to_the_request(
    small: Sim, ada: Page, live_server: Any
) -> None:
    kept = small.running("cy", 2)
    first, second = small.running("ann", 3), small.running("ann", 3)
    job = small.submit("cy", 5)
    small.cycle()
    plan = Plan.objects.get()
    reason, progress = ada.get_by_label("Reason"), ada.locator("#plan-progress")
    ada.goto(f"{live_server.url}/plans/{plan.pk}/")
    reason.fill("Delivery is today")
    ada.mouse.move(2, 2)
    expect(ada.get_by_role("button", name="Approve: stop 2 jobs")).to_be_visible()

    # It is renewed ...
    small.port.cancel(kept)
    small.port.advance(1)
    small.cycle()
    expect(progress).to_contain_text("It has changed since you opened this page.")
    expect(progress).to_contain_text("is no longer stopped.")
    expect(ada.get_by_role("button", name="Approve: stop 1 job")).to_be_visible()
    expect(reason).to_have_value("Delivery is today")

    # ... cannot be done for a while ...
    small.port.hold_by_user(job)
    small.cycle()
    expect(progress).to_contain_text("may not start yet: it is held")
    expect(reason).to_have_value("Delivery is today")
    small.port.release_by_user(job)
    small.port.advance(2)
    small.cycle()
    expect(progress).not_to_contain_text("may not start yet: it is held")
    expect(reason).to_have_value("Delivery is today")

    # ... and ends without a decision.
    for each in (first, second):
        small.port.cancel(each)
    small.port.advance(3)
    small.cycle()
    expect(progress).to_contain_text(f"{job} has started; nobody was stopped for it.")
    expect(progress).to_contain_text("Nobody is asked about this plan any more.")
    expect(ada.locator("textarea#id_reason")).to_have_value("Delivery is today")
    assert small.state(job) is JobState.RUNNING


def test_an_alternative_is_approved_with_one_click(small: Sim, ada: Page, live_server: Any) -> None:
    first, _second = small.running("ann", 4), small.running("ann", 4)
    small.submit("cy", 4)
    small.cycle()
    plan = Plan.objects.get()
    ada.goto(f"{live_server.url}/plans/{plan.pk}/")
    ada.get_by_label("Reason").fill("The other one is nearly done")
    ada.get_by_role("button", name="Approve this instead").click()
    expect(ada.locator("main")).to_contain_text(f"Plan {plan.pk} is approved")
    plan.refresh_from_db()
    assert (plan.chosen, plan.victims[0]["job"]) == ("spare", first)
    assert plan.decision_reason == "The other one is nearly done"


def test_tasks_of_one_array_are_approved_together(small: Sim, ada: Page, live_server: Any) -> None:
    for _ in range(4):
        small.running("ann", 2)
    small.submit("cy", 2, array_tasks=3)
    small.cycle()
    ada.goto(f"{live_server.url}/approvals/")
    expect(ada.locator("#approvals-count .chip")).to_contain_text("1")
    ada.get_by_role("link", name="Look and decide").click()
    ada.get_by_label("Reason").fill("Delivery is today")
    ada.get_by_role("button", name="Approve: stop 3 jobs").click()
    expect(ada.locator("main")).to_contain_text("is approved")
    small.cycles(3)
    assert [small.state(job) for job in jobs_served(Plan.objects.get())] == [JobState.RUNNING] * 3
