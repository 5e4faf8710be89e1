"""The page of the OpenAPI document in a real browser, under the console's own content security policy."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from tests.api import conftest as api
from tests.api.conftest import House

house = api.own_house
SCROLLS = 100
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def docs(house: House, live_server: Any, page: Page, client: Any, page_faults: list[str]) -> Page:
    """Swagger UI as the administrator sees it, with everything loaded."""
    client.force_login(house.people["ada"])
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    page.goto(f"{live_server.url}/api/v1/docs/")
    expect(page.get_by_role("heading", name="Giveway API")).to_be_visible()
    return page


def operation_of(docs: Page, name: str) -> Locator:
    """An operation, scrolled to: of so many Swagger UI draws those in the window only."""
    found = docs.locator(f"#operations-{name}")
    for _ in range(SCROLLS):
        if found.count():
            break
        docs.mouse.wheel(0, 400)
        docs.wait_for_timeout(100)
    expect(found).to_be_visible()
    return found


def test_the_page_shows_the_operations_without_breaking_the_policy(
    docs: Page, page_faults: list[str]
) -> None:
    operation = operation_of(docs, "jobs-jobs_list")
    operation.locator(".opblock-summary-control").click()
    expect(operation.get_by_text("phase", exact=True).first).to_be_visible()
    assert page_faults == []


def test_a_request_is_tried_out_with_the_own_session(docs: Page, page_faults: list[str]) -> None:
    operation = operation_of(docs, "cluster-cluster_retrieve")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").nth(1)).to_have_text("200")
    expect(operation.locator(".live-responses-table")).to_contain_text('"name": "dev"')
    assert page_faults == []


def test_a_change_is_tried_out_with_the_csrf_token(house: House, docs: Page, page_faults: list[str]) -> None:
    operation = operation_of(docs, "projects-projects_partial_update")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_placeholder("code").fill("alpha")
    operation.locator("textarea").fill('{"urgency": 7, "version": 1, "reason": "Tried out"}')
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").nth(1)).to_have_text("200")
    house.alpha.refresh_from_db()
    assert (house.alpha.urgency, house.alpha.version) == (7, 2)
    assert page_faults == []


def test_nothing_is_fetched_from_elsewhere(house: House, live_server: Any, page: Page, client: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    client.force_login(house.people["vera"])
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    page.goto(f"{live_server.url}/api/v1/docs/")
    operation_of(page, "jobs-jobs_list")
    assert len(asked) >= 5
    assert [url for url in asked if not url.startswith((live_server.url, "data:"))] == []


def test_who_is_not_signed_in_is_sent_to_the_login_page(house: House, live_server: Any, page: Page) -> None:
    page.goto(f"{live_server.url}/api/v1/docs/")
    expect(page).to_have_url(f"{live_server.url}{reverse('login')}?next=/api/v1/docs/")
