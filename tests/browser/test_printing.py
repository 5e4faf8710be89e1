"""Audit pages on paper: everything that a row says is there in full, nothing that can only be clicked is."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.audit.models import AuditEntry
from console.steering.pausing import pause
from tests.browser.furnished import long_row as record_long_row
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
PAPER = {"width": 703, "height": 1000}
"""A4 without its margins, in CSS pixels."""
CUT = """() => [...document.querySelectorAll('main *')].filter(e => {
    const style = getComputedStyle(e), box = e.getBoundingClientRect()
    if (!box.width || style.display === 'inline' || e.closest('.visually-hidden')) return false
    const hides = style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1
    return hides || box.right > innerWidth + 1
}).map(e => `${e.tagName}.${e.className} ${e.textContent.slice(0, 60)}`)"""


@pytest.fixture
def long_row(house: House) -> AuditEntry:
    """A row whose every text is longer than a column."""
    return record_long_row()


def on_paper(page: Page, address: str) -> str:
    """What stands on the sheet. The whole row must be on it without a click."""
    page.set_viewport_size(PAPER)  # type: ignore[arg-type]
    page.goto(address)
    page.emulate_media(media="print", color_scheme="dark")
    return page.inner_text("main")


def test_rows_are_printed_whole_with_nothing_to_click(
    long_row: AuditEntry, ada: Page, at: At, page_faults: list[str]
) -> None:
    address = at("/audit/?project=alpha")
    text = on_paper(ada, address)
    assert ada.evaluate(CUT) == []
    assert all(
        not each.is_visible() for each in ada.query_selector_all(".bar, form, button, .pager, .log-filter")
    )
    row = ada.locator(f"#row-{long_row.sequence}")
    expect(row.get_by_text(long_row.hash)).to_be_visible()
    expect(row.get_by_text("0123456789abcdef" * 2)).to_be_visible()
    assert row.evaluate("e => e.querySelector('.inside').getBoundingClientRect().height") > 60
    assert "z" * 120 in text
    assert "Printed by ada on " in text and address in text
    assert len(ada.pdf()) > 5_000
    assert page_faults == []


def test_colours_on_paper_are_black_on_white_whatever_the_screen(
    long_row: AuditEntry, ada: Page, at: At
) -> None:
    on_paper(ada, at("/audit/"))
    colours: list[Any] = ada.evaluate(
        "['.log-row summary', '.log-row .quiet'].map(s => getComputedStyle(document.querySelector(s)).color)"
    )
    assert colours == ["rgb(0, 0, 0)", "rgb(51, 51, 51)"]


@pytest.mark.parametrize("place", ["/audit/{row}/", "/history/projects/alpha/", "/history/jobs/88/"])
def test_other_audit_pages_are_not_cut(
    place: str, house: House, long_row: AuditEntry, ada: Page, at: At
) -> None:
    pause(actor="dave", cluster=house.cluster, partition=house.x, reason="Moving a node")
    text = on_paper(ada, at(place.format(row=long_row.sequence)))
    assert ada.evaluate(CUT) == []
    assert "Printed by ada" in text
    assert not ada.locator(".bar").is_visible()
    assert not ada.locator("#pauses").is_visible()


def test_on_the_screen_none_of_it_applies(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/audit/"))
    expect(ada.locator(".bar")).to_be_visible()
    expect(ada.locator(".print-only")).to_be_hidden()
