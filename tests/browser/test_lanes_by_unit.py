"""The lane chart where there are many nodes: a lane for each compute unit, unfolded by a click, a key or the button."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from console.core import clock
from tests import factories
from tests.browser.looking import look
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
NODES, OF_A_UNIT = 80, 16


@pytest.fixture
def lanes(house: House, ada: Page, at: At) -> Locator:
    """80 nodes under five switches; four nodes of the first one are busy with job 88."""
    house.cluster.nodes.all().delete()
    house.cluster.jobs.exclude(job_id="88").delete()
    for number in range(NODES):
        factories.make_node(house.cluster, f"w{number:02d}", unit=f"leaf{number // OF_A_UNIT}")
    alloc = {f"w{number:02d}": {"gpu": 8} for number in range(4)}
    now = int(clock.now().timestamp())
    house.cluster.jobs.filter(job_id="88").update(alloc=alloc, on_node="", start=now - 600, time_limit_s=1200)
    ada.goto(at("/partitions/x/"))
    chart = ada.locator("#lanes")
    expect(chart).to_have_attribute("data-rows", "6")  # a heading and five units
    return chart


def row(chart: Locator, number: int) -> None:
    """Click on the name of a row, counted from the heading, which is 0."""
    chart.locator("canvas").click(position={"x": 30, "y": 22 + 20 + 22 * (number - 1) + 11})


def test_a_unit_is_one_lane_and_a_click_shows_its_nodes(lanes: Locator, page_faults: list[str]) -> None:
    row(lanes, 1)
    expect(lanes).to_have_attribute("data-rows", str(6 + OF_A_UNIT))
    row(lanes, 1)
    expect(lanes).to_have_attribute("data-rows", "6")
    assert page_faults == []


def test_how_much_of_a_unit_is_busy_is_told_and_drawn(lanes: Locator, ada: Page) -> None:
    told = """([number]) => { const lanes = window.givewayLanes
        const lane = (from, to, kind = 'running') => ({ from, to, bar: kind === 'kept' ? 1 : 0 })
        const facts = { bars: [{ kind: 'running' }, { kind: 'kept' }], lanes: [
            { pieces: [lane(0, 10), lane(5, 20), lane(20, 30)] }, { pieces: [lane(15, 25)] },
            { pieces: [lane(0, 99, 'kept')] } ] }
        const steps = lanes.busySteps(facts, [0, 1, 2])
        return [steps, [-1, 0, 16, 25, 30].map((at) => lanes.busyAt(steps, at))] }"""
    steps, busy = ada.evaluate(told, [0])
    assert steps == [[0, 1], [15, 2], [25, 1], [30, 0]]
    assert busy == [0, 1, 2, 1, 0]


def test_the_keyboard_shows_the_nodes_of_the_job_that_it_comes_to(
    lanes: Locator, ada: Page, page_faults: list[str]
) -> None:
    lanes.locator("canvas").focus()
    ada.keyboard.press("ArrowDown")
    expect(lanes.locator(".lanes-told")).to_contain_text("88")
    expect(lanes).to_have_attribute("data-rows", str(6 + OF_A_UNIT))
    assert page_faults == []


def test_the_button_shows_all_nodes_and_stays_with_news(lanes: Locator, ada: Page, house: House) -> None:
    button = lanes.get_by_role("button", name="Units or nodes")
    button.focus()
    ada.keyboard.press("Enter")
    expect(lanes).to_have_attribute("data-rows", str(6 + NODES))
    factories.make_node(house.cluster, "w99", unit="leaf4")
    house.cluster.version += 1
    house.cluster.save(update_fields=["version"])
    expect(lanes).to_have_attribute("data-rows", str(7 + NODES))
    button.click()
    expect(lanes).to_have_attribute("data-rows", "6")


def test_without_units_there_is_nothing_to_fold(lanes: Locator, ada: Page, house: House, at: At) -> None:
    house.cluster.nodes.update(unit="")
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("#lanes")).to_have_attribute("data-rows", str(1 + NODES))
    expect(ada.locator("#lanes").locator("[data-lanes-do=units]")).to_be_hidden()


def test_units_fit_in_every_view(lanes: Locator, ada: Page, at: At) -> None:
    assert look(ada) == []
    ada.goto(at("/partitions/x/?map=grid"))
    expect(ada.locator(".unit")).to_have_count(NODES // OF_A_UNIT)
    assert look(ada) == []
