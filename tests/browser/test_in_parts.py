"""A page that comes in two parts, in a browser: it opens so, and heals where a part could not be made."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.overview.views import partition as view
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_a_part_that_could_not_be_made_comes_with_the_next_question(
    house: House, ada: Page, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults, real = ["a fault"], view._rest

    def rest(*given: Any) -> dict[str, Any]:
        if faults:
            raise RuntimeError(faults[0])
        return real(*given)

    monkeypatch.setattr(view, "_rest", rest)
    opened = ada.goto(at("/partitions/x/"))
    assert opened is not None
    assert opened.status == 200
    assert opened.header_value("X-Accel-Buffering") == "no", "the browser says that it opens a page"
    now = ada.locator("#partition-now")
    expect(now).to_contain_text("This page could not be made.")
    faults.clear()
    expect(now.locator("input[name=since]")).to_have_count(1)
    expect(now).not_to_contain_text("This page could not be made.")
