"""A question about the last days that takes the worker: asked beside a form, worked off, its answer comes by itself."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.accounts.models import User
from console.history import past, studies
from console.history.models import Study
from console.history.studying import due, work_off
from tests.browser.conftest import enter
from tests.browser.looking import too_wide
from tests.history.test_pages import LEVELS, people
from tests.history.test_past import record
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
STOPPED = re.compile(r"^\s*2023-11-14\s*0\s*–\s*1\s*1 CPU-min\s*1\s*$")
"""Of the day in the table: nothing really stopped, nor would be as things are; with the change, one run."""
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_answer_of_a_study_comes_to_whoever_asked(
    people: Sim,
    page: Page,
    at: Callable[[str], str],
    page_faults: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(studies, "AT_ONCE", 0)
    monkeypatch.setattr(past, "LEAST_LOOKS", 3)
    people.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    record(people, 3)
    enter(page.context, at(""), User.objects.get(username="pam"))

    page.goto(at("/projects/alpha/"))
    page.get_by_label("Urgency", exact=True).fill("9")
    page.get_by_role("button", name="Over the last 7 days").click()
    panel = page.locator("#what-if")
    expect(panel).to_contain_text("Waits for the worker")
    expect(panel.get_by_text("Jobs stopped by day")).to_have_count(0)
    assert due(work_off) == 1
    expect(panel).to_contain_text("Done")
    expect(panel.get_by_text("Jobs stopped by day")).to_be_visible()
    expect(panel.get_by_role("row", name="2023-11-14")).to_have_text(STOPPED)
    expect(panel.locator("[hx-get]")).to_have_count(0)

    page.set_viewport_size({"width": 390, "height": 900})
    assert too_wide(page) == []
    # What a table is called stood there as a column of single letters.
    page.wait_for_function(
        """() => [...document.querySelectorAll("#what-if caption.caption-top")].every(
          (each) => each.clientWidth > 200 && each.clientHeight < 60)"""
    )
    panel.get_by_role("link", name=f"Study {Study.objects.get().pk}").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("the project alpha")
    expect(page.locator("#study-now")).to_contain_text("Done")
    expect(page.get_by_role("row", name="2023-11-14")).to_have_text(STOPPED)
    assert too_wide(page) == []
    assert page_faults == []
