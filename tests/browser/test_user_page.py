"""The page of one user of the cluster: found by name, live, and the whole answer on a phone without going sideways."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests import factories
from tests.browser.keyboard import Keyboard
from tests.browser.looking import look
from tests.browser.test_phone import PHONE, SIDEWAYS
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_a_user_is_found_by_keyboard_and_the_page_lives(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    keys = Keyboard(ada)
    ada.goto(at("/"))
    keys.press("/")
    ada.keyboard.type("bob")
    keys.turn("Enter")
    ada.locator("main a[href='/users/bob/']").first.click()
    expect(ada).to_have_url(at("/users/bob/"))
    stopped = ada.locator("section", has=ada.locator("#stopped-head"))
    expect(stopped).to_contain_text("It is being stopped now.")
    expect(ada.locator("#waiting-head")).to_have_count(0)
    assert look(ada) == []
    ada.locator("h1").hover()
    factories.make_job(house.cluster, "105", user="bob", place=2, reason="not_enough_even_so")
    house.touch()
    row = ada.locator("section", has=ada.locator("#waiting-head"))
    expect(row).to_contain_text("Stopping every lower job would still not make enough room")
    row.get_by_role("link", name="105").click()
    expect(ada).to_have_url(at("/jobs/105/"))
    assert page_faults == []


@pytest.mark.parametrize("address", ["/users/bob/", "/my-jobs/"])
def test_a_stopped_job_and_when_it_comes_back_are_seen_on_a_phone(
    house: House, ada: Page, at: At, address: str
) -> None:
    house.people["ada"].cluster_user = "bob"
    house.people["ada"].save()
    ada.set_viewport_size(PHONE)
    ada.goto(at(address))
    back = ada.get_by_text("It is being stopped now.")
    expect(back).to_be_in_viewport()
    box = back.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
    assert set(ada.evaluate(SIDEWAYS)) == {0}
