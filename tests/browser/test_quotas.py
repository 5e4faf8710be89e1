"""The matrix of quotas in a browser, by keyboard alone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.partitions.models import PolicyRevision
from tests import factories
from tests.browser.looking import look
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AT = "/partitions/x/quotas/"


@pytest.fixture
def limited(house: House) -> House:
    factories.make_node(house.cluster, "g1", total={"cpu": 64, "gpu": 8, "gpu:a100": 8, "mem": 512000})
    limits = {"quota_amounts": {"P0": {"gpu": 4}, "P1": {"mem": 65536}}, "quota_totals": {"P0": {"gpu": 16}}}
    house.x.revision = factories.make_revision(house.x, 2, **limits)
    house.x.save()
    for i, user in enumerate(("ann", "ann", "a_user_with_a_very_long_name_of_the_cluster")):
        alloc = {"g1": {"gpu": 2, "cpu": 4, "mem": 32768}}
        factories.make_running_job(house.cluster, str(700 + i), user=user, task_level=i % 2, alloc=alloc)
    return house


def test_quotas_are_set_by_keyboard(limited: House, ada: Page, at: Callable[[str], str]) -> None:
    ada.set_viewport_size({"width": 1440, "height": 900})
    ada.goto(at(AT))
    ada.get_by_label("P0: gpu of each user").focus()
    ada.keyboard.press("Control+A")
    ada.keyboard.type("6")
    ada.keyboard.press("Tab")
    expect(ada.get_by_label("P0: gpu:a100 of each user")).to_be_focused()
    ada.keyboard.type("-1")
    ada.get_by_label("Reason").focus()
    ada.keyboard.type("More for the release")
    ada.keyboard.press("Tab")
    ada.keyboard.press("Enter")
    cell = ada.get_by_label("P0: gpu:a100 of each user")
    assert cell.evaluate("field => !field.validity.valid"), (
        "the browser itself says that it must not be negative"
    )
    cell.fill("")
    ada.get_by_role("button", name="Put in force").press("Enter")
    expect(ada.get_by_text("The quotas of x are in force.")).to_be_visible()
    document = PolicyRevision.objects.get(partition=limited.x, number=3).document
    assert document["quota_amounts"] == {"P0": {"gpu": 6}, "P1": {"mem": 65536}}
    ada.get_by_role("searchbox", name="User", exact=True).type("VERY_long")
    expect(ada.locator("#quota-use tbody tr")).to_have_count(2)
    expect(ada).to_have_url(re.compile("user=VERY_long"))
    assert look(ada) == []
