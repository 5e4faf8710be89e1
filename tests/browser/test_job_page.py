"""The job's page in a narrow window: text has the width there is."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PARTS = (".story > li > div", ".lines > li", ".answer")


def test_sentences_are_not_squeezed(house: House, ada: Page, at: Callable[[str], str]) -> None:
    ada.set_viewport_size({"width": 390, "height": 844})
    for job in ("88", "101"):
        ada.goto(at(f"/jobs/{job}/"))
        for part in PARTS:
            expect(ada.locator(part).first).to_be_visible()
            widths = ada.locator(part).evaluate_all("all => all.map(e => e.getBoundingClientRect().width)")
            assert min(widths) > 200, (job, part)
