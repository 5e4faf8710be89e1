"""A real browser in front of the console, signed in as somebody of the small house of tests/ui."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page

from tests.ui import conftest as ui
from tests.ui.conftest import House

house = ui.own_house
"""The fixture of the pages' tests."""
Enter = Callable[[str], Page]


def enter(context: BrowserContext, address: str, user: Any) -> None:
    """Give a browser the session of a person, and of nobody else: a page that is still open would ask on for its
    news in the name of who comes now.
    """
    for page in context.pages:
        page.goto("about:blank")
    context.clear_cookies()
    client = Client()
    client.force_login(user)
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": address}])


@pytest.fixture
def ada(house: House, live_server: Any, page: Page, page_faults: list[str]) -> Page:
    """The administrator's page; the test ends with a look at the browser's complaints."""
    enter(page.context, live_server.url, house.people["ada"])
    # Seen not before the browser, which may take as long to start as news may be old.
    house.cluster.observed_at = timezone.now()
    house.cluster.save(update_fields=["observed_at"])
    return page


@pytest.fixture
def at(live_server: Any) -> Callable[[str], str]:
    """The whole address of a page."""
    return lambda path: f"{live_server.url}{path}"
