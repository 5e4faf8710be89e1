"""A project's pages and the rules in a browser: a deadline set by keyboard, no grave fault of accessibility."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.core import clock
from console.projects.models import Project, ProjectRules, UrgencyRequest
from console.projects.rulebook import DEFAULT_SCHEDULE, Limits, Rules, encode_rules
from tests.browser.conftest import enter
from tests.browser.test_accessible import faults
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]
At = Callable[[str], str]
PAGES = (
    "/projects/", "/projects/alpha/", "/projects/alpha/levels/", "/projects/alpha/work/", "/projects/alpha/history/",
    "/project-rules/", "/project-requests/", "/project-requests/{request}/",
)  # fmt: skip


@pytest.fixture
def request_row(house: House) -> UrgencyRequest:
    """Alpha follows a deadline, the rules have a limit, and something waits."""
    rules = Rules(DEFAULT_SCHEDULE, Limits(urgency_limit=4))
    ProjectRules.objects.create(pk=1, document=encode_rules(rules), version=2)
    day = clock.today() + timedelta(days=20)
    Project.objects.filter(code="alpha").update(urgency=1, urgency_by="deadline", deadline=day)
    return UrgencyRequest.objects.create(
        project=house.alpha,
        urgency=9,
        urgency_by="hand",
        asked_by="pam",
        asked_at=clock.now(),
        reason="The customer comes",
    )


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_no_serious_fault_and_nothing_off_the_side(
    request_row: UrgencyRequest, ada: Page, at: At, scheme: Any, width: int, page_faults: list[str]
) -> None:
    ada.emulate_media(color_scheme=scheme)
    ada.set_viewport_size({"width": width, "height": 900})
    found, wide = [], []
    for address in PAGES:
        ada.goto(at(address.format(request=request_row.pk)))
        found += faults(ada)
        if ada.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(address)
    assert (found, wide, page_faults) == ([], [], [])


def test_a_manager_sets_a_deadline_by_keyboard_and_sees_the_course_before_saving(
    house: House, page: Page, live_server: Any, at: At, page_faults: list[str]
) -> None:
    enter(page.context, live_server.url, house.people["pam"])
    page.goto(at("/projects/alpha/"))
    page.get_by_label("Urgency", exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("1")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("By deadline")).to_be_checked()
    day = clock.today() + timedelta(days=10)
    page.get_by_label("Deadline", exact=True).fill(day.isoformat())
    panel = page.locator("#levels-preview")
    expect(panel).to_contain_text("Today the urgency is 3")
    expect(panel).to_contain_text(f"From {(day - timedelta(days=7)).isoformat()} on it is 4.")
    page.get_by_label("Reason").fill("Delivery")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Project alpha has been saved.")).to_be_visible()
    assert Project.objects.get(code="alpha").deadline == day
    assert page_faults == []
