"""A session that ends in the middle of a form: what was typed is there again after signing in, and for nobody else."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.factories import PASSWORD
from tests.ui import conftest as ui
from tests.ui.conftest import House

house = ui.own_house
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
WHY = "Delivery is sooner than we thought."


def _type_and_send_too_late(page: Page, at: At) -> None:
    # The preview of levels would be the first to find the session ended, at a moment of its own.
    page.route("**/levels-preview/", lambda route: route.fulfill(status=204))
    page.goto(at("/projects/alpha/"))
    page.get_by_label("Urgency", exact=True).fill("2.5")
    page.get_by_label("Reason").fill(WHY)
    page.context.clear_cookies(name="sessionid")
    page.locator(".save-bar, form").get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_text("What you typed is kept in this tab")).to_be_visible()


def _sign_in(page: Page, name: str) -> None:
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_what_was_typed_is_back_after_signing_in(ada: Page, house: House, at: At) -> None:
    _type_and_send_too_late(ada, at)
    _sign_in(ada, "ada")

    expect(ada.get_by_text("Not saved yet")).to_be_visible()
    expect(ada.get_by_label("Reason")).to_have_value(WHY)
    expect(ada.get_by_label("Urgency", exact=True)).to_have_value("2.5")
    ada.locator("form").get_by_role("button", name="Save", exact=True).last.click()
    expect(ada.get_by_text("has been saved")).to_be_visible()
    expect(ada.get_by_text("Not saved yet")).to_be_hidden()
    ada.reload()
    expect(ada.get_by_label("Reason")).to_have_value("")


def test_nobody_else_gets_what_was_typed(ada: Page, house: House, at: At) -> None:
    _type_and_send_too_late(ada, at)
    _sign_in(ada, "pam")

    expect(ada).to_have_url(at("/projects/alpha/"))
    expect(ada.get_by_label("Reason")).to_have_value("")
    expect(ada.get_by_text("Not saved yet")).to_be_hidden()
    # Thrown away by the page's own script, which comes after the page's address.
    ada.wait_for_function("sessionStorage.getItem('giveway-typed') === null")


def test_choosing_a_language_in_the_middle_of_a_form_loses_nothing(ada: Page, house: House, at: At) -> None:
    ada.goto(at("/projects/alpha/"))
    ada.get_by_label("Reason").fill(WHY)
    ada.get_by_role("button", name="中文").click()

    expect(ada.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(ada.locator("[name=reason]")).to_have_value(WHY)
