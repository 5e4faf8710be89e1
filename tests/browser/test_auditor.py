"""The auditor's task with the keyboard alone: search, read a difference, check the chain, keep the search, export."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.audit.models import AuditEntry
from tests.browser.conftest import enter
from tests.browser.keyboard import Keyboard
from tests.browser.looking import look
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_from_a_search_to_a_file(
    house: House, page: Page, live_server: Any, at: At, page_faults: list[str]
) -> None:
    enter(page.context, live_server.url, house.people["otto"])
    keys = Keyboard(page)
    keys.open(at("/"))
    keys.leave("g", "a")
    keys.fill(page.get_by_label("Partition", exact=True), "x")
    keys.press("Enter")
    expect(page.locator(".log-row")).to_have_count(1)
    expect(page).to_have_url(re.compile("partition=x"))

    keys.push(page.locator(".log-row summary"))
    expect(page.locator(".log-row .changes")).to_contain_text("urgency: 3 → 5")
    keys.follow(page.get_by_role("link", name="This row on a page of its own"))
    expect(page.locator("main")).to_contain_text("Its hash fits, and it follows the row before")
    expect(page.locator(".sides")).to_contain_text('"urgency": 5')
    keys.leave("g", "a")
    keys.follow(page.get_by_role("button", name="Verify the whole log"))
    expect(page.locator("main")).to_contain_text("whole and in order")
    assert look(page) == []

    keys.open(at("/audit/?partition=x"))
    keys.push(page.locator(".log-saved > summary"))
    keys.fill(page.get_by_label("Name of the search"), "About x")
    keys.leave("Enter")
    expect(page.get_by_text("The search is kept as “About x”.")).to_be_visible()
    files = {}
    for kind in ("CSV", "JSON Lines"):
        with page.expect_download() as begun:
            keys.push(page.get_by_role("button", name=kind))
        files[kind] = Path(begun.value.path()).read_text("utf-8-sig")
        assert begun.value.suggested_filename.startswith("audit-partition-x-")
    assert "about x" in files["CSV"]
    [line] = files["JSON Lines"].splitlines()
    row = AuditEntry.objects.get(partition="x", action="policy.activated")
    assert json.loads(line)["hash"] == row.hash
    assert page_faults == []
