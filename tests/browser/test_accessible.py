"""No serious fault of accessibility on any main page, light and dark, wide and narrow; nothing runs off the side."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

from tests import factories
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]
At = Callable[[str], str]
PAGES = (
    "/", "/partitions/x/", "/partitions/x/policy/", "/partitions/x/revisions/", "/jobs/", "/jobs/101/", "/plans/",
    "/projects/", "/projects/alpha/", "/audit/", "/priority-file/", "/account/", "/help/",
)  # fmt: skip
GRAVE = {"serious", "critical"}


@pytest.fixture
def full(house: House) -> House:
    """Every level, a long name, and a node of each kind."""
    for i in range(9):
        level = None if i == 8 else i
        fields: dict[str, Any] = {"user_level": level, "user_level_name": "" if level is None else f"P{i}"}
        factories.make_job(
            house.cluster, str(200 + i), name="a_very_long_job_name_" * 6, place=i + 2, **fields
        )
        factories.make_running_job(house.cluster, str(300 + i), alloc={"n1": {"gpu": 1, "cpu": 1}}, **fields)
    return house


def faults(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{page.url} {fault['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for fault in found
        for node in fault["nodes"][:2]
        if fault["impact"] in GRAVE
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault(full: House, ada: Page, at: At, scheme: Any) -> None:
    ada.emulate_media(color_scheme=scheme)
    found: list[str] = []
    for address in (*PAGES, f"/plans/{full.plan.pk}/"):
        ada.goto(at(address))
        found += faults(ada)
    assert found == []


def test_signed_out_and_refused_pages_too(house: House, page: Page, ada: Page, at: At) -> None:
    ada.goto(at("/no/such/page/"))
    found = faults(ada)
    page.context.clear_cookies()
    page.goto(at("/sign-in/"))
    assert found + faults(page) == []


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_runs_off_the_side(
    full: House, ada: Page, at: At, width: int, page_faults: list[str]
) -> None:
    ada.set_viewport_size({"width": width, "height": 900})
    wide = []
    for address in (*PAGES, f"/plans/{full.plan.pk}/"):
        ada.goto(at(address))
        if ada.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(address)
    assert wide == []
    assert page_faults == []
