"""What needs the person, in a browser: it fits every window, lives, stays unfolded, and leads on."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.steering.models import Plan
from tests import factories, needed
from tests.browser.looking import look
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def make_all(house: House) -> None:
    for make in needed.MADE.values():
        make(house.cluster)
    needed.asked(house.cluster)
    for i in range(10):
        needed.approval(house.cluster, "x", str(900 + i))
    factories.make_node(house.cluster, "n7", up=False, state="DOWN", state_reason="x" * 200, partitions=["x"])


def test_a_full_list_fits_wide_and_narrow_windows(house: House, ada: Page, at: At) -> None:
    make_all(house)
    ada.goto(at("/"))
    expect(ada.locator("#needs .needs > li")).not_to_have_count(0)
    ada.locator("#needs-approval > summary").click()
    assert look(ada) == []


def test_a_new_row_comes_by_itself_and_what_is_unfolded_stays_so(house: House, ada: Page, at: At) -> None:
    make_all(house)
    ada.goto(at("/"))
    ada.locator("#needs-approval > summary").click()
    last = ada.locator("#needs-approval a").last
    expect(last).to_be_visible()
    needed.incident(house.cluster)
    house.touch()
    expect(ada.locator("#needs li", has_text="Incident")).to_have_count(2)
    expect(last).to_be_visible()


def test_an_approval_leads_to_its_decision_and_is_gone_when_it_is_made(
    house: House, ada: Page, at: At
) -> None:
    needed.calm(house.cluster)
    plan = needed.approval(house.cluster)
    ada.goto(at("/"))
    ada.locator("#needs li", has_text="Approval").locator("a").click()
    expect(ada).to_have_url(at(f"/plans/{plan.pk}/"))
    expect(ada.locator("#decision-form button[value=approve]")).to_be_visible()
    Plan.objects.filter(pk=plan.pk).update(state="rejected")
    house.touch()
    ada.goto(at("/"))
    expect(ada.locator("#needs")).to_contain_text("Nothing needs you.")
