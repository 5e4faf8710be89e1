"""The job's page in a narrow window: text has the width there is."""

from collections.abc import Callable

import pytest
from django.db.models import F
from playwright.sync_api import Page, expect

from console.cluster.models import Cluster
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PARTS = (".story > li > div", ".lines > li", ".answer")


def test_sentences_are_not_squeezed(house: House, ada: Page, at: Callable[[str], str]) -> None:
    ada.set_viewport_size({"width": 390, "height": 844})
    for job in ("88", "101"):
        ada.goto(at(f"/jobs/{job}/"))
        for folded in ("#story", "#reasons"):
            if ada.locator(folded).count():
                ada.locator(f"{folded} > summary").click()
        for part in PARTS:
            expect(ada.locator(part).first).to_be_visible()
            widths = ada.locator(part).evaluate_all("all => all.map(e => e.getBoundingClientRect().width)")
            assert min(widths) > 200, (job, part)


def test_on_a_phone_the_answer_is_on_the_first_screen_and_what_is_unfolded_stays(
    house: House, ada: Page, at: Callable[[str], str]
) -> None:
    ada.set_viewport_size({"width": 390, "height": 844})
    ada.goto(at("/jobs/101/"))
    for seen in (".answer", ".life svg"):
        box = ada.locator(seen).first.bounding_box()
        assert box and box["y"] + box["height"] < 844, seen
    ada.locator("#story > summary").click()
    with ada.expect_response(lambda answer: "/jobs/101/" in answer.url and answer.status == 200):
        Cluster.objects.update(version=F("version") + 1)
    ada.wait_for_timeout(300)
    expect(ada.locator(".story > li").first).to_be_visible()
    assert ada.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
