"""The policy's page in a browser: the bar asks by itself, sections unfold, nobody leaves unasked, at both widths."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, Page, expect

from console.accounts.models import User
from tests.browser.conftest import enter
from tests.browser.looking import look
from tests.history.test_pages import LEVELS, people
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_on_a_phone_the_bar_is_one_line_and_a_button_until_it_is_touched(
    people: Sim, page: Page, at: At, page_faults: list[str]
) -> None:
    people.policy(levels=LEVELS, user_overrides={}, enforcement="enforce")
    page.set_viewport_size({"width": 390, "height": 844})
    enter(page.context, at(""), User.objects.get(username="dave"))
    page.goto(at("/partitions/x/policy/"))
    bar, reason = page.locator(".save-bar"), page.get_by_label("Reason")
    save, more = page.get_by_role("button", name="Put in force"), bar.get_by_role("button", name="More")
    expect(more).to_have_attribute("aria-expanded", "false")
    box = bar.bounding_box()
    assert box and box["height"] <= 0.15 * 844
    for touched in (save, more):
        seen = touched.bounding_box()
        assert seen and seen["height"] >= 43.5
    expect(save).to_be_in_viewport()
    expect(reason).to_be_hidden()
    more.click()
    expect(reason).to_be_in_viewport()
    expect(bar.get_by_role("button", name="Show what would change")).to_be_in_viewport()
    more.click()
    expect(reason).to_be_hidden()
    page.get_by_label("From score, 1").fill("77")
    line = page.locator("#bar-now > summary")
    expect(line).to_contain_text("1 change.")
    expect(reason).to_be_hidden()
    box = bar.bounding_box()
    assert box and box["height"] <= 0.15 * 844
    save.click()
    expect(reason).to_be_focused()
    more.click()
    line.click()
    expect(page.locator("#bar-now .changes")).to_be_in_viewport()
    expect(reason).to_be_in_viewport()
    assert page_faults == []


@pytest.mark.parametrize("width", [1440, 390])
def test_a_change_is_told_in_the_bar_and_not_lost_unasked(
    people: Sim, page: Page, at: At, page_faults: list[str], width: int
) -> None:
    people.policy(levels=LEVELS, user_overrides={}, enforcement="enforce", max_preemptions_per_job=9)
    people.cycle()
    page.set_viewport_size({"width": width, "height": 844})
    enter(page.context, at(""), User.objects.get(username="dave"))
    page.goto(at("/partitions/x/policy/"))
    expect(page.get_by_label("Grace")).to_be_visible()
    expect(page.get_by_label("Bands")).to_be_hidden()
    expect(page.get_by_role("button", name="Put in force")).to_be_in_viewport()
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Overrides").click()
    page.get_by_role("button", name="Add a user").click()
    page.get_by_label("User, 1").fill("alpha")
    page.get_by_label("Level, 1").fill("P0")
    expect(page.locator("#bar-now > summary")).to_contain_text("1 change. Stops 1 more job (of beta)")
    expect(page.locator("#bar-now > summary")).to_be_in_viewport()
    page.locator("#bar-now > summary").click()
    expect(page.locator("#bar-now .changes")).to_contain_text("alpha")
    assert look(page, [("light", width)]) == []
    assert page_faults == []

    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    with page.expect_event("dialog"):
        page.locator(".crumbs a, .tabs a").first.click(no_wait_after=True)
    expect(page.get_by_label("User, 1")).to_have_value("alpha")
    assert asked == ["beforeunload"]

    page.get_by_label("Reason").fill("Alpha delivers on Friday")
    page.get_by_role("button", name="Put in force").click()
    expect(page.get_by_text("The policy of x is in force.")).to_be_visible()
    assert asked == ["beforeunload"], "saving asks nothing"
    page.locator(".tabs a").first.click()
    expect(page).to_have_url(at("/partitions/x/"))
