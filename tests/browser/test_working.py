"""Working in the console: signing in, changing a project and a policy, the keyboard, and all of it without scripts."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.partitions.models import Partition
from console.projects.models import Project
from tests.browser.keyboard import at_once
from tests.factories import PASSWORD
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_sign_in_change_the_urgency_and_see_the_level_change(
    house: House, page: Page, at: At, page_faults: list[str]
) -> None:
    page.goto(at("/projects/alpha/"))
    page.get_by_label("Username").fill("pam")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("h1")).to_contain_text("alpha")
    panel = page.locator("#levels-preview")
    expect(panel).to_contain_text("120 score")
    page.get_by_label("Urgency").fill("0.75")
    expect(panel).to_contain_text("30 score")
    expect(panel).to_contain_text("P0 → P1")
    page.get_by_label("Reason").fill("The deadline has moved")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_text("Project alpha has been saved.")).to_be_visible()
    assert Project.objects.get(code="alpha").urgency == 0.75
    page.get_by_role("navigation").get_by_role("link", name="Projects").click()
    expect(page.get_by_role("row", name=re.compile("alpha"))).to_contain_text("P1")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(at("/sign-in/"))
    assert page_faults == []


def test_a_mistake_is_shown_beside_the_field_and_nothing_is_lost(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.goto(at("/projects/alpha/"))
    ada.get_by_label("Size").fill("0")
    ada.get_by_label("Members").fill("ann\nbob\nnew-one")
    ada.get_by_label("Reason").fill("try")
    ada.get_by_role("button", name="Save").last.click()
    expect(ada.locator(".field-errors")).to_have_text("Must be above zero.")
    expect(ada.get_by_label("Members")).to_have_value("ann\nbob\nnew-one")
    ada.get_by_label("Size").fill("41")
    expect(ada.locator("#levels-preview")).to_contain_text("123 score")
    ada.get_by_role("button", name="Save").last.click()
    expect(ada.get_by_text("has been saved")).to_be_visible()
    # The browser logs every answer of 4xx; our 422 is one, and the only one.
    assert [fault for fault in page_faults if "422" not in fault] == []


def test_rows_are_added_without_losing_the_place(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.goto(at("/projects/alpha/"))
    ada.evaluate("window.sameDocument = true")
    ada.get_by_role("button", name="Add a pattern").click()
    ada.get_by_label("Job names, 2").fill("alpha_fast*")
    ada.get_by_label("Importance, 2").fill("4")
    expect(ada.locator("#levels-preview")).to_contain_text("alpha_fast*")
    expect(ada.locator("#levels-preview")).to_contain_text("120 × 4 = 480")
    ada.get_by_role("button", name="Remove row 1").click()
    expect(ada.get_by_label("Job names, 1")).to_have_value("alpha_fast*")
    assert ada.evaluate("window.sameDocument") is True
    assert page_faults == []


def test_enter_in_a_field_saves_and_presses_no_rows_button(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/projects/alpha/"))
    ada.get_by_label("Reason").fill("by the keyboard")
    ada.get_by_label("Urgency").fill("4")
    ada.get_by_label("Urgency").press("Enter")
    expect(ada.get_by_text("Project alpha has been saved.")).to_be_visible()
    assert Project.objects.get(code="alpha").tasks.count() == 1


def test_a_policy_goes_to_enforcement_in_two_steps(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.goto(at("/partitions/x/policy/"))
    ada.get_by_role("button", name="Add a level").click()
    ada.get_by_label("Name, 3").fill("P2")
    ada.get_by_label("From score, 3").fill("5")
    ada.get_by_role("button", name="Move row 3 up").click()
    expect(ada.get_by_label("Name, 2")).to_have_value("P2")
    ada.get_by_role("button", name="Move row 2 down").click()
    expect(ada.get_by_label("Name, 3")).to_have_value("P2")
    ada.get_by_label("Enforce: plans are carried out at once").check()
    ada.get_by_label("Reason").fill("Agreed on Monday")
    ada.get_by_role("button", name="Put in force").click()
    expect(ada.get_by_text("From the next cycle on, Giveway stops running jobs of x")).to_be_visible()
    assert Partition.objects.get(name="x").revision.number == 1  # type: ignore[union-attr]
    ada.get_by_role("button", name="Enforce on x").click()
    expect(ada.get_by_text("The policy of x is in force.")).to_be_visible()
    revision = Partition.objects.get(name="x").revision
    assert revision is not None
    assert (revision.number, revision.enforcement) == (2, "enforce")
    assert [level["name"] for level in revision.document["levels"]] == ["P0", "P1", "P2"]
    ada.get_by_role("link", name="Revisions").click()
    expect(ada.locator(".changes").first).to_contain_text("enforcement: Shadow → Enforce")
    assert page_faults == []


def test_the_keyboard(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/"))
    ada.keyboard.press("/")
    expect(ada.locator(".bar [type=search]")).to_be_focused()
    ada.keyboard.type("g j ?")
    expect(ada.locator(".bar [type=search]")).to_have_value("g j ?")
    ada.keyboard.press("Escape")
    at_once(ada)
    ada.keyboard.press("g")
    ada.keyboard.press("j")
    expect(ada).to_have_url(at("/jobs/"))
    at_once(ada)
    ada.keyboard.press("g")
    ada.keyboard.press("p")
    expect(ada).to_have_url(at("/partitions/x/"))
    ada.wait_for_load_state()
    ada.keyboard.press("?")
    expect(ada).to_have_url(at("/help/"))


def test_light_and_dark(house: House, ada: Page, at: At) -> None:
    def lightness() -> float:
        colour = ada.evaluate("getComputedStyle(document.body).backgroundColor")
        return float(re.findall(r"[\d.]+", colour)[0])

    ada.emulate_media(color_scheme="dark")
    ada.goto(at("/"))
    dark = lightness()
    ada.emulate_media(color_scheme="light")
    assert lightness() > dark, "follows the system without a click"
    ada.get_by_role("button", name="Dark").click()
    expect(ada.locator("html")).to_have_attribute("data-theme", "dark")
    ada.wait_for_load_state()
    assert lightness() == dark
    ada.goto(at("/jobs/"))
    assert lightness() == dark, "the choice is kept"
