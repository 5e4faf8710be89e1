"""The project manager's minute with the keyboard alone: what an urgency would do, one above the limit, a deadline."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from playwright.sync_api import Page, expect

from console.accounts.models import User
from console.core import clock
from console.projects.models import Project, ProjectRules, UrgencyRequest
from console.projects.rulebook import DEFAULT_SCHEDULE, ManagerLimits, Rules, encode_rules
from tests.browser.conftest import enter
from tests.browser.keyboard import Keyboard
from tests.history.test_pages import people
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
TRIES = 10


def test_urgency_by_hand_above_the_limit_and_by_deadline(
    people: Sim, page: Page, at: At, page_faults: list[str]
) -> None:
    rules = Rules(DEFAULT_SCHEDULE, ManagerLimits(urgency_limit=6))
    ProjectRules.objects.create(pk=1, document=encode_rules(rules), version=2)
    enter(page.context, at(""), User.objects.get(username="pam"))
    keys = Keyboard(page)
    urgency, reason = page.get_by_label("Urgency", exact=True), page.get_by_label("Reason")
    save = page.get_by_role("button", name="Save").last

    keys.open(at("/projects/"))
    keys.follow(page.get_by_role("link", name="alpha", exact=True))
    keys.fill(urgency, "5")
    expect(page.locator("#levels-preview")).to_contain_text("P1 → P0")
    keys.push(page.get_by_role("button", name="Show what would change"))
    expect(page.locator("#what-if")).to_contain_text("Stops 1 more job (of beta)")
    assert Project.objects.get(code="alpha").urgency == 1, "nothing is saved by asking"
    keys.fill(reason, "Delivery on Friday")
    keys.follow(save)
    expect(page.locator("main")).to_contain_text("Project alpha has been saved.")
    assert Project.objects.get(code="alpha").urgency == 5

    ask_for_more(keys, at)
    keys.open(at("/projects/alpha/"))
    keys.fill(urgency, "1")
    expect(page.get_by_label("Deadline", exact=True)).to_be_hidden()
    keys.press("Tab", "ArrowDown")
    follow_a_deadline(keys)
    assert page_faults == []


def ask_for_more(keys: Keyboard, at: At) -> None:
    """An urgency above the limit waits for an administrator, and is taken back."""
    page = keys.page
    keys.open(at("/projects/alpha/"))
    keys.fill(page.get_by_label("Urgency", exact=True), "9")
    keys.fill(page.get_by_label("Reason"), "The customer comes")
    keys.follow(page.get_by_role("button", name="Save").last)
    assert UrgencyRequest.objects.get().urgency == 9
    keys.open(at("/projects/alpha/"))
    expect(page.locator("main")).to_contain_text("It waits for an administrator")
    keys.follow(page.get_by_role("link", name="Withdraw it"))
    keys.fill(page.get_by_label("Reason"), "She comes next month")
    keys.follow(page.get_by_role("button", name="Withdraw"))
    assert Project.objects.get(code="alpha").urgency == 5


def write_the_day(keys: Keyboard, day: date) -> None:
    """Month, day and year; once more where Chromium took a digit that came late for the next field's."""
    field = keys.page.get_by_label("Deadline", exact=True)
    keys.to(field)
    for _ in range(TRIES):
        keys.page.keyboard.type(f"{day:%m%d%Y}")
        if field.input_value() == day.isoformat():
            return
        keys.press("ArrowLeft", "ArrowLeft")
    raise AssertionError(f"{field.input_value()} is not {day}")


def follow_a_deadline(keys: Keyboard) -> None:
    """The course of the urgency is seen before it is saved."""
    page = keys.page
    expect(page.get_by_label("By deadline")).to_be_checked()
    day = clock.today() + timedelta(days=10)
    write_the_day(keys, day)
    panel = page.locator("#levels-preview")
    expect(panel).to_contain_text("Today the urgency is 3")
    expect(panel).to_contain_text(f"From {(day - timedelta(days=7)).isoformat()} on it is 4.")
    keys.fill(page.get_by_label("Reason"), "Delivery")
    keys.follow(page.get_by_role("button", name="Save").last)
    assert Project.objects.get(code="alpha").deadline == day
