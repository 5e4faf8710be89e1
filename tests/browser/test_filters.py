"""Filters of tables: whatever is chosen in them, the browser has nothing to complain of."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def at_rest(page: Page) -> None:
    """What was asked for is there. A page that polls a busy console is never idle for as long as Playwright wants."""
    expect(page.locator(".htmx-request")).to_have_count(0)


@pytest.mark.parametrize("address", ["/jobs/", "/partitions/x/"])
def test_no_filter_makes_the_browser_complain(
    address: str, house: House, ada: Page, at: Callable[[str], str], page_faults: list[str]
) -> None:
    """With nothing sorted yet, htmx complained that what it should send along is not there."""
    ada.goto(at(address))
    fields = ada.locator("main form.filters[hx-get] select:visible")
    assert fields.count()
    for number in range(fields.count()):
        with ada.expect_response(lambda answer: address in answer.url and "since" not in answer.url):
            fields.nth(number).select_option(index=1)
        at_rest(ada)
    assert page_faults == []


def test_filters_that_send_a_page_are_quiet_too(
    house: House, ada: Page, at: Callable[[str], str], page_faults: list[str]
) -> None:
    for address in ("/plans/", "/projects/", "/audit/"):
        ada.goto(at(address))
        for field in ada.locator("main form.filters select:visible, main .log-filter select:visible").all():
            field.select_option(index=1)
        buttons = ada.locator("main form.filters button:visible, main .log-filter button:visible")
        if buttons.count():
            buttons.first.click()
        ada.wait_for_load_state("networkidle")
    assert page_faults == []
