"""Insights in a browser: found in the navigation, narrowed to a partition, taken along as a file."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import look
from tests.insights.conftest import HOUR, make_day, make_room, make_stops
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


@pytest.fixture
def two_weeks(house: House) -> House:
    for ago in range(14):
        make_day(
            house.cluster, ago, {"0": [20.0 + ago] * 9, "1": [900.0 + 60 * ago] * 7, "none": [9000.0] * 5}
        )
        make_stops(house.cluster, ago, "alpha", "beta", gpu_saved=HOUR / 2, cpu_lost=30 * HOUR)
        make_room(house.cluster, ago, "alpha", cpu=90 * HOUR)
    make_stops(house.cluster, 3, "beta", "a_project_with_a_very_long_code_indeed", cause="cancel")
    return house


def test_a_month_is_read_narrowed_and_taken_along(
    two_weeks: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.set_viewport_size({"width": 1440, "height": 900})
    ada.goto(at("/"))
    ada.get_by_role("link", name="Insights", exact=True).click()
    ada.get_by_role("link", name="the last 7 days").click()
    expect(ada.get_by_text("Half the jobs of P0 on x waited up to")).to_be_visible()
    assert look(ada) == []
    assert page_faults == []
    ada.set_viewport_size({"width": 1440, "height": 900})
    ada.locator("nav.choices").get_by_role("link", name="x", exact=True).click()
    expect(ada).to_have_url(re.compile("days=7&partition=x"))
    with ada.expect_download() as taken:
        ada.get_by_role("link", name="Download as CSV: How long did jobs wait?").click()
    assert taken.value.suggested_filename.startswith("giveway-waits-")


def test_on_a_phone_the_answers_are_read_without_scrolling_sideways(
    two_weeks: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.set_viewport_size({"width": 390, "height": 844})
    ada.goto(at("/insights/?days=7"))
    expect(ada.get_by_text("8 stops lost")).to_be_visible()
    assert ada.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert look(ada) == []
    assert page_faults == []
