"""The job's page in a narrow window: text has the width there is."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("part", [".story > li > div", ".lines > li", ".answer"])
@pytest.mark.parametrize("job", ["88", "101"])
def test_sentences_are_not_squeezed(
    house: House, ada: Page, at: Callable[[str], str], page_faults: list[str], job: str, part: str
) -> None:
    ada.set_viewport_size({"width": 390, "height": 844})
    ada.goto(at(f"/jobs/{job}/"))
    expect(ada.locator(part).first).to_be_visible()
    widths = ada.locator(part).evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert min(widths) > 200
    assert ada.evaluate("document.documentElement.scrollWidth") <= 390
    assert page_faults == []
