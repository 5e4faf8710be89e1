"""The first minutes and the pages of drafts in a browser: usable without scripts, readable, nothing off the side."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from console.partitions.drafts import Content, create_draft
from console.setup.first import make_code
from tests import factories
from tests.browser.test_accessible import faults
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]
At = Callable[[str], str]


@pytest.fixture
def addresses(house: House) -> list[str]:
    """Pages with something on them."""
    factories.make_job(house.cluster, "901", account="physics", user="zoe")
    factories.make_partition(house.cluster, "z", levels=[], quotas={}, user_overrides={}, task_overrides={})
    content = Content("Weekend", factories.policy_document("x", enforcement="enforce", quotas={"P0": 1}))
    draft = create_draft(actor="dave", partition=house.x, content=content, reason="Let us talk")
    steps = [f"/setup/{step}" for step in ("", "cluster/", "import/", "people/", "shadow/")]
    return [
        *steps,
        "/partitions/x/revisions/",
        f"/partitions/x/drafts/{draft.pk}/",
        f"/partitions/x/compare/?to=draft-{draft.pk}",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_and_nothing_off_the_side(
    addresses: list[str], ada: Page, at: At, scheme: Any
) -> None:
    ada.emulate_media(color_scheme=scheme)
    found: list[str] = []
    for address in addresses:
        for width in (1440, 390):
            ada.set_viewport_size({"width": width, "height": 900})
            ada.goto(at(address))
            if ada.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append(f"{address} runs off the side at {width}")
        found += faults(ada)
    assert not found, "\n".join(found)


def test_a_term_explains_itself_by_keyboard(addresses: list[str], ada: Page, at: At) -> None:
    ada.goto(at("/setup/"))
    meaning = ada.locator(".term-meaning").first
    expect(meaning).to_be_hidden()
    ada.locator(".term-word").first.focus()
    ada.keyboard.press("Enter")
    expect(meaning).to_be_visible()
    expect(meaning).to_contain_text("nothing is touched on the cluster")
    ada.keyboard.press("Escape")
    expect(meaning).to_be_hidden()


def test_the_first_administrator_and_the_first_invitation_without_scripts(
    db: None, live_server: Any, browser: Browser
) -> None:
    code = make_code()
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/sign-in/")
    page.get_by_role("link", name="Create the first administrator").click()
    for label, text in (("One-time code", code), ("User name", "root1")):
        page.get_by_label(label).fill(text)
    for label in ("Password", "Password again"):
        page.get_by_label(label, exact=True).fill("a-long-enough-one")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The first minutes")).to_be_visible()
    page.get_by_role("link", name="Invite people").first.click()
    page.get_by_label("User name").fill("erin")
    page.get_by_label("Reason").fill("She audits")
    page.get_by_role("button", name="Make the link").click()
    link = page.locator(".secret").inner_text()
    guest = browser.new_context(java_script_enabled=False).new_page()
    guest.goto(link)
    for label in ("Password", "Password again"):
        guest.get_by_label(label, exact=True).fill("a-longer-one-yet")
    guest.keyboard.press("Enter")
    expect(guest.get_by_text("Welcome, erin.")).to_be_visible()
