"""On a phone the answer is on the first screen, nothing needs scrolling sideways, and fingers find the buttons."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from console.cluster.models import Job
from console.steering.models import Plan
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE: ViewportSize = {"width": 390, "height": 844}
SMALL = """() => [...document.querySelectorAll(
    'a.btn, button, select, input:not([type=hidden], [type=checkbox], [type=radio]), summary, nav a, .tabs a, .fold')]
  .concat([...document.querySelectorAll('main .table td > a')]
    .filter(e => e.parentElement.textContent.trim() === e.textContent.trim()))
  .map(e => [e.outerHTML.slice(0, 90), e.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && box.height > 1 && box.height < 43.5).map(([html]) => html)"""
SIDEWAYS = "() => [...document.querySelectorAll('main .scroll')].map(e => e.scrollWidth - e.clientWidth)"
CARDS = SIDEWAYS.replace("main .scroll", "main .phone-cards")


@pytest.mark.parametrize(
    "address", ["/", "/my-jobs/", "/jobs/", "/approvals/", "/partitions/x/", "/plans/1/"]
)
def test_nothing_to_touch_is_smaller_than_a_finger(
    address: str, house: House, ada: Page, at: Callable[[str], str]
) -> None:
    ada.set_viewport_size(PHONE)
    ada.goto(at(address.replace("1", str(house.plan.pk))))
    assert ada.evaluate(SMALL) == []


def test_my_jobs_are_read_without_scrolling_sideways(
    house: House, ada: Page, at: Callable[[str], str]
) -> None:
    Job.objects.filter(phase="pending").update(user="ada")
    Job.objects.filter(phase="running").update(user="ada")
    ada.set_viewport_size(PHONE)
    ada.goto(at("/my-jobs/"))
    expect(ada.locator("main .table").first).to_be_visible()
    assert set(ada.evaluate(SIDEWAYS)) == {0}
    box = ada.locator("#my-jobs td.why").first.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.parametrize("address", ["/jobs/", "/partitions/x/", "/nodes/n1/"])
def test_lists_of_jobs_are_cards(address: str, house: House, ada: Page, at: Callable[[str], str]) -> None:
    ada.set_viewport_size(PHONE)
    ada.goto(at(address))
    expect(ada.locator("main .phone-cards .table:visible").first).to_be_visible()
    assert max(ada.evaluate(CARDS)) == 0, "what is folded counts as narrower"
    if "nodes" not in address:
        box = ada.locator("main .phone-cards td.why").first.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]


def test_a_very_long_name_does_not_fill_the_screen(house: House, ada: Page, at: Callable[[str], str]) -> None:
    """Slurm takes names of any length."""
    Job.objects.update(name="l1_" + "x" * 900)
    Plan.objects.update(job_name="l1_" + "x" * 900)
    ada.set_viewport_size(PHONE)
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("main .phone-cards td.clip").first).to_be_visible()
    heights = ada.evaluate(
        "() => [...document.querySelectorAll('.phone-cards td.clip')].map(e => e.getBoundingClientRect().height)"
    )
    assert len(heights) > 2 and max(heights) < 120


@pytest.mark.parametrize("address", ["/jobs/", "/partitions/x/", "/nodes/n1/"])
def test_on_a_wide_screen_they_are_tables_as_wide_as_their_sheet(
    address: str, house: House, ada: Page, at: Callable[[str], str]
) -> None:
    ada.set_viewport_size({"width": 1440, "height": 900})
    ada.goto(at(address))
    for table in ada.locator("main .phone-cards .table:visible").all():
        box = table.bounding_box()
        sheet = table.locator("xpath=ancestor::section[1]").bounding_box()
        assert box and sheet and box["width"] >= sheet["width"] - 4


def test_a_plan_is_approved_on_the_first_screen(house: House, ada: Page, at: Callable[[str], str]) -> None:
    Plan.objects.update(state="proposed", enforcement="approve")
    ada.set_viewport_size(PHONE)
    ada.goto(at(f"/plans/{house.plan.pk}/"))
    box = ada.locator("#decision-form button[value=approve]").bounding_box()
    assert box and box["y"] + box["height"] <= PHONE["height"]


def test_a_plans_tables_fit_beside_the_decision(house: House, ada: Page, at: Callable[[str], str]) -> None:
    """The column "How" was out of sight at 1440 pixels."""
    ada.set_viewport_size({"width": 1440, "height": 900})
    ada.goto(at(f"/plans/{house.plan.pk}/"))
    assert set(ada.evaluate(SIDEWAYS)) == {0}
