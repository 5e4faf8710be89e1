"""A person who decides while the page lives: what is typed stays, what changed is said, and one click does it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from console.steering.models import Plan
from console.steering.pausing import pause
from tests import factories
from tests.ui.conftest import House
from tests.ui.test_approvals import victim

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


@pytest.fixture
def asked(house: House) -> Plan:
    """A plan that waits, with everything that its page can show."""
    house.plan.actions.all().delete()
    house.plan.delete()
    house.x.revision = factories.make_revision(house.x, 2, enforcement="approve")
    house.x.save()
    alternatives: list[dict[str, Any]] = [
        {"kind": "wait", "possible": True, "starts_at": None, "victims": [], "nodes": [], "explain": ""},
        {
            "kind": "other_order",
            "possible": True,
            "victims": [victim("90")],
            "nodes": ["n1"],
            "explain": "",
        },
        {"kind": "spare", "possible": False, "victims": [], "nodes": [], "explain": "Nothing " * 30},
    ]
    return factories.make_plan(
        factories.make_cycle(house.cluster, 8),
        enforcement="approve",
        policy_revision=2,
        victims=[victim(), victim("91", name="a_very_long_job_name_" * 6)],
        created_at=timezone.now() - timedelta(minutes=3),
        alternatives=alternatives,
        passed_over=[{"job": str(400 + n), "reason": "equal_or_higher"} for n in range(30)],
    )


def test_what_is_typed_survives_the_updates(house: House, asked: Plan, ada: Page, at: At) -> None:
    factories.make_running_job(house.cluster, "91")
    ada.goto(at(f"/plans/{asked.pk}/"))
    ada.get_by_label("Reason").fill("Delivery is today")
    ada.mouse.move(2, 2)
    Plan.objects.filter(pk=asked.pk).update(explain="The page has been updated.")
    house.touch()
    expect(ada.locator("#plan-progress")).to_contain_text("The page has been updated.")
    expect(ada.get_by_label("Reason")).to_have_value("Delivery is today")

    house.cluster.observed_at = timezone.now() + timedelta(minutes=1)  # lately, however slow the click
    house.cluster.save(update_fields=["observed_at"])
    ada.get_by_role("button", name="Approve: stop 2 jobs").click()
    expect(ada.locator("main")).to_contain_text(f"Plan {asked.pk} is approved")
    expect(ada.locator("#plan-decision")).to_have_count(0)


def test_a_decision_of_somebody_else_takes_the_form_away(
    house: House, asked: Plan, ada: Page, at: At
) -> None:
    ada.goto(at(f"/plans/{asked.pk}/"))
    expect(ada.locator("#plan-decision")).to_have_count(1)
    expect(ada.locator("#approvals-count")).to_contain_text("1")
    Plan.objects.filter(pk=asked.pk).update(
        state="rejected", decided_by="dave", decided_at=timezone.now(), decision_reason="Not now"
    )
    house.touch()
    expect(ada.locator("#plan-progress")).to_contain_text("dave rejected it")
    expect(ada.locator("#plan-decision")).to_have_count(0)
    expect(ada.locator("#approvals-count")).not_to_contain_text("1")


def test_a_pause_shows_on_an_open_page_and_one_click_lifts_it(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.goto(at("/partitions/x/"))
    pause(actor="dave", cluster=house.cluster, partition=house.x, reason="Moving a node")
    banner = ada.locator("#pauses")
    expect(banner).to_contain_text("Partition x is paused: nobody is stopped. dave paused it")
    expect(banner).to_contain_text("Moving a node")
    banner.get_by_role("button", name="Resume").click()
    expect(ada.locator("main")).to_contain_text("The pause is lifted")
    expect(banner).not_to_contain_text("is paused")
    ada.get_by_role("button", name="Pause partition").click()
    expect(banner).to_contain_text("ada paused it")
    assert page_faults == []


def test_a_double_click_sends_a_form_once(asked: Plan, ada: Page, at: At) -> None:
    """To the second time the answer would be that the request was decided already."""
    ada.goto(at(f"/plans/{asked.pk}/"))
    send = """() => document.getElementById("decision-form").dispatchEvent(
        new SubmitEvent("submit", {bubbles: true, cancelable: true}))"""
    ada.wait_for_load_state("load")
    assert ada.evaluate(f"() => [({send})(), ({send})()]") == [True, False]
    back = "() => { window.dispatchEvent(new PageTransitionEvent('pageshow')); }"
    assert ada.evaluate(f"() => {{ ({back})(); return ({send})(); }}") is True, "come back to, it can be sent"
