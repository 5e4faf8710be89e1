"""The auditor's pages in a browser: no serious fault, nothing off the side, the filter and the export by keyboard."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.audit.models import AuditEntry
from tests.browser.test_accessible import faults
from tests.browser.test_printing import long_row
from tests.ui.conftest import House

__all__ = ["long_row"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]
At = Callable[[str], str]
PAGES = ("/audit/?open=1", "/audit/{row}/", "/history/projects/alpha/", "/history/jobs/88/")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_and_nothing_off_the_side(
    long_row: AuditEntry, ada: Page, at: At, scheme: Any, page_faults: list[str]
) -> None:
    ada.emulate_media(color_scheme=scheme)
    found: list[str] = []
    for place in PAGES:
        for width in (1440, 390):
            ada.set_viewport_size({"width": width, "height": 900})
            ada.goto(at(place.format(row=long_row.sequence)))
            if ada.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append(f"{place} is wider than {width}")
        found += faults(ada)
    assert found == []
    assert page_faults == []


def test_the_auditor_finds_keeps_and_exports_by_keyboard_alone(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.goto(at("/audit/"))
    ada.get_by_label("Partition", exact=True).focus()
    ada.keyboard.type("x")
    ada.keyboard.press("Enter")
    expect(ada.locator(".log-row")).to_have_count(1)
    expect(ada).to_have_url(re.compile("partition=x"))
    ada.locator(".log-saved > summary").focus()
    ada.keyboard.press("Enter")
    ada.get_by_label("Name of the search").focus()
    ada.keyboard.type("About x")
    ada.keyboard.press("Enter")
    expect(ada.get_by_text("The search is kept as “About x”.")).to_be_visible()
    ada.get_by_role("button", name="CSV").focus()
    with ada.expect_download() as begun:
        ada.keyboard.press("Enter")
    file = begun.value
    assert file.suggested_filename.startswith("audit-partition-x-")
    assert "about x" in Path(file.path()).read_text("utf-8-sig")
    assert page_faults == []
