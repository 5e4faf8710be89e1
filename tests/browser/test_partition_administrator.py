"""The partition administrator's task with the keyboard alone, on real cycles: see the partition, draft a policy, see
what it would do, put it in force with a reason, approve the plan that comes of it, pause and go on.
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.accounts.models import User
from console.steering.models import Plan
from scheduler.model.jobs import JobState
from tests.browser.conftest import enter
from tests.browser.keyboard import Keyboard
from tests.browser.looking import faults
from tests.history.test_pages import LEVELS, people
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_from_a_draft_to_a_job_that_runs(people: Sim, page: Page, at: At, page_faults: list[str]) -> None:
    people.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    people.cycle()
    waiting = Plan.objects.count()
    assert waiting == 0, "alike in rank: nobody gives way"
    enter(page.context, at(""), User.objects.get(username="dave"))
    keys = Keyboard(page)

    keys.open(at("/partitions/x/"))
    keys.follow(page.get_by_role("link", name="Policy", exact=True))
    keys.to(page.get_by_label("Shadow:"))
    keys.press("ArrowDown")
    expect(page.get_by_label("Approve:")).to_be_checked()
    keys.push(page.locator("#overrides > summary"))
    keys.push(page.get_by_role("button", name="Add a user"))
    expect(page.get_by_label("User, 1")).to_be_focused()
    page.keyboard.type("alpha")
    keys.to(page.get_by_label("Level, 1"))
    page.keyboard.type("P0")
    keys.push(page.get_by_role("button", name="Show what would change"))
    expect(page.locator("#what-if")).to_contain_text("Stops 1 more job (of beta)")
    assert faults(page) == []

    through_a_draft(keys)

    people.cycle()
    keys.leave("g", "v")
    keys.follow(page.get_by_role("link", name="Look and decide").first)
    keys.fill(page.get_by_label("Reason"), "Delivery is on Friday")
    keys.follow(page.get_by_role("button", name="Approve: stop 1 job"))
    expect(page.locator("main")).to_contain_text("is approved")
    people.cycles(5)
    [job] = Plan.objects.values_list("job_id", flat=True)
    assert people.state(job) is JobState.RUNNING

    pause_and_go_on(keys, at)
    assert page_faults == []


def through_a_draft(keys: Keyboard) -> None:
    """The form as it is becomes a draft, the draft the policy in force."""
    page = keys.page
    keys.fill(page.get_by_label("Reason"), "Alpha delivers on Friday")
    keys.push(page.get_by_text("Not yet: save it as a draft"))
    keys.fill(page.get_by_label("Name of the draft"), "Friday")
    keys.follow(page.get_by_role("button", name="Save as a draft"))
    expect(page.locator("main")).to_contain_text("is not in force")
    keys.follow(page.get_by_role("link", name="Compare with what is in force").first)
    keys.fill(page.get_by_label("Reason"), "Agreed")
    keys.follow(page.get_by_role("button", name="Put in force"))
    expect(page.locator("main")).to_contain_text("in force")


def pause_and_go_on(keys: Keyboard, at: At) -> None:
    page = keys.page
    keys.open(at("/partitions/x/"))
    keys.fill(page.get_by_label("Why it is paused"), "Moving a node")
    keys.leave("Enter")
    expect(page.locator("#pauses")).to_contain_text("Partition x is paused")
    keys.follow(page.locator("#pauses").get_by_role("button", name="Resume"))
    expect(page.locator("#pauses")).not_to_contain_text("is paused")
