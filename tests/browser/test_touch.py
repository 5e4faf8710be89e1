"""What is touched is as large as a finger also where the screen is not narrow: a phone on its side, and a tablet.

A phone on its side is 844 pixels wide, as wide as half a desk's window: width alone does not tell them apart.
"""

import re
from collections.abc import Callable

import pytest
from django.db import transaction
from playwright.sync_api import Page, ViewportSize, expect

from console.audit.services import Subject, record
from tests.browser.looking import awkward, too_wide
from tests.ui.conftest import House

ON_ITS_SIDE: ViewportSize = {"width": 844, "height": 390}
TABLET: ViewportSize = {"width": 1180, "height": 820}
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser_context_args(has_touch=True, is_mobile=True, viewport=ON_ITS_SIDE),
]
At = Callable[[str], str]
BEYOND = """wide => [...document.querySelectorAll('body *')]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > wide + 1
        && !e.closest('nav, .scroll, .tabs, .section-list, thead, .visually-hidden'))
    .slice(0, 3).map(e => `${e.tagName}.${e.className} ends at ${e.getBoundingClientRect().right}`)"""
"""A phone's window grows with what is too wide for it: it is held against the screen instead."""


def test_on_its_side_a_phone_has_cards_and_room_for_fingers(house: House, ada: Page, at: At) -> None:
    found: list[str] = []
    for address in ("/", "/jobs/", "/partitions/x/", "/partitions/x/policy/", f"/plans/{house.plan.pk}/"):
        ada.goto(at(address))
        ada.wait_for_selector(".after-lanes", state="detached")
        found += awkward(ada) + too_wide(ada)
    assert not found, "\n".join(found)


def test_why_a_job_waits_needs_no_scrolling_there(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/jobs/"))
    why = ada.locator("main .phone-cards td.why").filter(has_text="Room is being made").first
    expect(why).to_be_visible()
    box = why.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= ON_ITS_SIDE["width"]


def test_a_tablet_has_tables_and_room_for_fingers(house: House, ada: Page, at: At) -> None:
    ada.set_viewport_size(TABLET)
    ada.goto(at("/jobs/"))
    expect(ada.locator("main .table thead").first).to_be_in_viewport()
    small = [fault for fault in awkward(ada) if " aside: " not in fault]
    assert not small, "\n".join(small)


def test_nobody_is_told_to_point_where_there_is_no_pointer(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    expect(ada.locator(".map .cells").first).to_be_attached()
    expect(ada.locator(".map-told")).to_be_hidden()


@pytest.mark.parametrize(("width", "letters"), [(320, 100), (390, 200)])
def test_the_narrowest_phone_and_twice_as_large_letters_fit(
    width: int, letters: int, house: House, ada: Page, at: At
) -> None:
    ada.set_viewport_size({"width": width, "height": 844})
    found: list[str] = []
    for address in ("/", "/jobs/", "/partitions/x/", "/partitions/x/policy/", "/projects/alpha/", "/audit/"):
        ada.goto(at(address))
        ada.wait_for_selector(".after-lanes", state="detached")
        ada.evaluate(f"document.documentElement.style.fontSize = '{letters}%'")
        found += [f"{address}: {fault}" for fault in ada.evaluate(BEYOND, width)]
    assert not found, "\n".join(found)


def test_what_an_urgency_comes_to_is_seen_while_it_is_written(house: House, ada: Page, at: At) -> None:
    """It stood below the form, three screens away."""
    ada.set_viewport_size({"width": 390, "height": 844})
    ada.goto(at("/projects/alpha/"))
    urgency = ada.locator("[name=urgency]")
    urgency.tap()
    urgency.fill("7")
    score = ada.locator("#levels-preview .formula .term").last
    expect(ada.locator("#levels-preview .formula .term").nth(2)).to_contain_text("7")
    expect(score).to_be_in_viewport()
    expect(urgency).to_be_in_viewport()
    written, told = urgency.bounding_box(), ada.locator("#levels-preview").bounding_box()
    assert written and told and told["y"] + told["height"] <= written["y"], "it covers the field"


def test_a_document_before_and_after_is_read_without_scrolling_sideways(
    house: House, ada: Page, at: At
) -> None:
    ada.set_viewport_size({"width": 390, "height": 844})
    with transaction.atomic():
        row = record(
            actor="ada",
            action="project.changed",
            subject=Subject("project", "alpha", "alpha", cluster="dev", project="alpha"),
            before={"name": "old"},
            after={"name": "new"},
            reason="It is",
        )
    ada.goto(at(f"/audit/{row.sequence}/"))
    for side in (".sides .gone", ".sides .come"):
        box = ada.locator(side).first.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_two_fingers_zoom_the_lanes_and_open_nothing(house: House, ada: Page, at: At) -> None:
    """They dragged it far into the future, in jumps."""
    ada.set_viewport_size({"width": 390, "height": 844})
    ada.goto(at("/partitions/x/"))
    lanes = ada.locator("#lanes")
    expect(lanes).to_have_attribute("data-bars", re.compile("."))
    lanes.locator("canvas").scroll_into_view_if_needed()
    box = lanes.locator("canvas").bounding_box()
    assert box
    before = int(lanes.get_attribute("data-span") or 0)
    middle, height = box["x"] + 220, box["y"] + 60
    hand = ada.context.new_cdp_session(ada)

    def fingers(kind: str, *apart: int) -> None:
        points = [{"x": middle + side * px, "y": height} for px in apart for side in (-1, 1)]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", 20)
    for px in (30, 40, 60, 80):
        fingers("touchMove", px)
    fingers("touchEnd")
    ada.wait_for_function(
        "before => Number(document.getElementById('lanes').dataset.span) < before / 2", arg=before
    )
    assert ada.url == at("/partitions/x/")
