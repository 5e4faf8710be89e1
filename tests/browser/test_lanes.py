"""The lane chart under the hands: it draws, goes through time, tells of a job, leads to it, and stays where it is."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from console.cluster.models import JobRun
from console.core import clock
from console.reports import lanes as lane_reading
from tests import factories
from tests.browser.looking import look
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
COLOURS = """canvas => { const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
    const found = new Set()
    for (let i = 0; i < data.length; i += 4) found.add((data[i] << 16) + (data[i + 1] << 8) + data[i + 2])
    return found.size }"""


@pytest.fixture
def lanes(house: House, ada: Page, at: At) -> Locator:
    """The chart: 88 has run for ten minutes, 70 has ended before, 103 is expected."""
    now = int(clock.now().timestamp())
    house.cluster.jobs.filter(job_id="88").update(start=now - 600, time_limit_s=1200)
    factories.make_job(house.cluster, "70", phase="ended", user="carol", user_level=0)
    JobRun.objects.create(
        cluster=house.cluster, job_id="70", start=now - 1500, restarts=0, ended=now - 700, nodes=["n1"]
    )
    waits = factories.make_job(house.cluster, "103", user="zoe", time_limit_s=900, user_level=1)
    factories.make_expected_start(waits, in_s=900, nodes=["n1"])
    ada.goto(at("/partitions/x/"))
    chart = ada.locator("#lanes")
    expect(chart).to_have_attribute("data-bars", "4")  # 101, for which a plan makes room, is the fourth
    return chart


def number(chart: Locator, name: str) -> int:
    return int(chart.get_attribute(f"data-{name}") or 0)


def place(chart: Locator, ago_s: float, lane_px: float) -> Any:
    """Where a moment is on the canvas, and how far below the first heading."""
    box: Any = chart.locator("canvas").bounding_box()
    share = (clock.now().timestamp() - ago_s - number(chart, "from")) / number(chart, "span")
    return {"x": 120 + share * (box["width"] - 120), "y": 42 + lane_px}


def test_it_draws_and_goes_through_time_by_keyboard(
    lanes: Locator, ada: Page, page_faults: list[str]
) -> None:
    canvas = lanes.locator("canvas")
    expect(lanes).to_have_attribute("data-follow", "true")
    assert canvas.evaluate(COLOURS) > 8, "grounds, words and bars of levels"
    canvas.focus()
    before = number(lanes, "from")
    ada.keyboard.press("ArrowLeft")
    expect(lanes).to_have_attribute("data-follow", "false")
    # It goes with the time until the key is pressed, which takes some seconds where the machine is busy.
    assert before - number(lanes, "from") == pytest.approx(450, abs=40), "an eighth of the hour"
    ada.keyboard.press("+")
    expect(lanes).to_have_attribute("data-span", "2880")
    stays = number(lanes, "from")
    ada.wait_for_timeout(6500)
    assert number(lanes, "from") == stays, "news do not move what somebody has gone to"
    ada.keyboard.press("Home")
    expect(lanes).to_have_attribute("data-follow", "true")
    for _ in range(40):
        ada.keyboard.press("-")
    expect(lanes).to_have_attribute("data-span", "604800")
    assert page_faults == []


def test_a_job_is_told_of_and_opened_by_keyboard(lanes: Locator, ada: Page, at: At) -> None:
    told = lanes.locator(".lanes-told")
    expect(told).to_contain_text("Drag, or use the arrow keys")
    lanes.locator("canvas").focus()
    ada.keyboard.press("ArrowDown")
    for _ in range(4):
        if "88 p1_train, bob, P1, on n1: runs since" in (told.text_content() or ""):
            break
        ada.keyboard.press("Shift+ArrowLeft")
    expect(told).to_contain_text("88 p1_train, bob, P1, on n1: runs since")
    expect(told).to_contain_text("It gives way to another job.")
    ada.keyboard.press("Enter")
    expect(ada).to_have_url(at("/jobs/88/"))


def test_a_click_leads_to_the_job_and_a_drag_does_not(lanes: Locator, ada: Page, at: At) -> None:
    canvas = lanes.locator("canvas")
    canvas.scroll_into_view_if_needed()
    canvas.hover(position=place(lanes, 1100, 8))
    expect(lanes.locator(".lanes-told")).to_contain_text("70 p1_train, carol, P0, on n1: ran from")
    box: Any = canvas.bounding_box()
    ada.mouse.down()
    ada.mouse.move(box["x"] + 700, box["y"] + 60, steps=4)
    ada.mouse.up()
    expect(lanes).to_have_attribute("data-follow", "false")
    assert ada.url == at("/partitions/x/")
    lanes.get_by_role("button", name="To now").click()
    expect(lanes).to_have_attribute("data-follow", "true")
    canvas.click(position=place(lanes, 1100, 8))
    expect(ada).to_have_url(at("/jobs/70/"))


def test_filters_fade_the_rest_and_the_table_has_what_is_left(lanes: Locator, ada: Page) -> None:
    lanes.locator("summary").click()
    rows = lanes.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text="103")).to_contain_text("waits, and is expected to start about")
    ada.locator("#job-filter").fill("carol")
    expect(rows).to_have_count(1)
    expect(rows.get_by_role("link")).to_have_attribute("href", "/jobs/70/")


def test_an_answer_that_takes_longer_than_the_chart_looks_again_comes_all_the_same(
    house: House, ada: Page, at: At
) -> None:
    ada.add_init_script(
        """{ const real = window.fetch; window.givenUp = 0
            window.fetch = async (address, options) => {
              if (!address.includes('/lanes/')) return real(address, options)
              await new Promise((resolve, reject) => { setTimeout(resolve, 3500)
                options.signal.addEventListener('abort', () => {
                  window.givenUp += 1; reject(new DOMException('', 'AbortError')) }) })
              return real(address, options) } }"""
    )
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("#lanes")).to_have_attribute("data-bars", re.compile(r"\d+"))
    assert ada.evaluate("window.givenUp") == 0, "nothing was given up for the same question"


ASKED_BY_THEN = """new MutationObserver((_, observer) => {
    if (!document.querySelector("#lanes[data-bars]")) return
    window.askedByThen = performance.getEntriesByType("resource")
      .filter(each => each.name.includes("/lanes/?")).map(each => each.initiatorType)
    observer.disconnect()
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-bars"] })"""
"""Who had asked for lanes when the chart had its first answer; later it asks again and again."""


def test_the_first_answer_is_asked_for_once_and_the_rest_of_the_page_comes_after_it(
    house: House, ada: Page, at: At
) -> None:
    ada.add_init_script(ASKED_BY_THEN)
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("#lanes")).to_have_attribute("data-bars", re.compile(r"\d+"))
    assert ada.evaluate("window.askedByThen") == ["link"]
    expect(ada.locator(".after-lanes")).to_have_count(0)
    expect(ada.locator("[data-map] .cells").first).to_be_visible()


def test_of_many_nodes_those_that_are_seen_come_first_and_all_others_after_them(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    for i in range(80):
        factories.make_node(house.cluster, f"z{i:02d}")
        factories.make_running_job(house.cluster, str(1000 + i), alloc={f"z{i:02d}": {}}, on_node=f"z{i:02d}")
    kept: list[Route] = []
    asked: list[str] = []

    def keep(route: Route) -> None:
        asked.append(route.request.url.partition("?")[2])
        kept.append(route)

    ada.route("**/api/v1/partitions/x/lanes/**", keep)
    ada.goto(at("/partitions/x/"))
    chart = ada.locator("#lanes")
    expect(chart).to_have_attribute("data-bars", re.compile(r"\d+"))
    assert 0 < number(chart, "bars") < 80, "what is seen is drawn while all is still read"
    assert number(chart, "rows") == 83, "and all have their place"
    expect(ada.locator("#lanes-first")).to_have_count(0)
    while not kept:  # who waits for an answer has asked for it
        ada.wait_for_timeout(50)
    expect(ada.locator(".after-lanes")).to_have_count(0)
    assert len(asked) == 1 and "rows=" not in asked[0], "the first have come with the page"
    kept[0].continue_()
    expect(chart).to_have_attribute("data-bars", re.compile(r"8\d"))
    assert page_faults == []


def test_of_many_nodes_lanes_that_the_page_could_not_bring_are_asked_for(
    house: House, ada: Page, at: At, monkeypatch: pytest.MonkeyPatch, page_faults: list[str]
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(lane_reading, "read_lanes", fail)
    for i in range(80):
        factories.make_node(house.cluster, f"z{i:02d}")
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("#lanes")).to_have_attribute("data-rows", "83")
    expect(ada.locator(".after-lanes")).to_have_count(0)
    assert page_faults == []


def test_where_lanes_do_not_come_the_rest_of_the_page_does(house: House, ada: Page, at: At) -> None:
    ada.route("**/api/v1/partitions/x/lanes/**", lambda route: route.fulfill(status=500))
    ada.goto(at("/partitions/x/"))
    expect(ada.locator(".lanes-told")).to_contain_text("could not be read just now")
    expect(ada.locator(".after-lanes")).to_have_count(0)
    expect(ada.locator("[data-map] .cells").first).to_be_visible()


def test_what_is_new_comes_by_itself(lanes: Locator, house: House) -> None:
    now = int(clock.now().timestamp())
    factories.make_running_job(house.cluster, "95", start=now - 60)
    house.touch()
    expect(lanes).to_have_attribute("data-bars", "5")


def test_it_is_sound_light_and_dark_wide_and_narrow(lanes: Locator, ada: Page) -> None:
    lanes.locator("summary").click()
    assert look(ada) == []


def test_two_hundred_nodes_and_five_thousand_jobs_go_by_smoothly(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    now = int(clock.now().timestamp())
    bars = [
        {
            "job": str(i), "name": "train", "user": f"u{i % 50}", "level": i % 3, "kind": "running",
            "lanes": [i % 200], "start": now - 60 * (i % 47) - 30, "restarts": 0, "end": now + 40 * (i % 61),
            "end_by": "limit", "low": None, "high": None, "why": "", "plan": None,
        }
        for i in range(5000)
    ]  # fmt: skip
    nodes = [{"name": f"n{i}", "up": True, "state": "MIXED", "group": "8 × a100"} for i in range(200)]
    answer = {
        "schema": "giveway.lanes/1", "partition": "x", "now": now, "observed": now, "start": now - 1800,
        "end": now + 1800, "levels": ["P0", "P1"], "lanes": nodes, "bars": bars, "stops": [], "checkpoints": [],
        "left_out": 0, "unplaced": 0,
    }  # fmt: skip
    ada.route("**/api/v1/partitions/x/lanes/**", lambda route: route.fulfill(json=answer))
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("#lanes")).to_have_attribute("data-bars", "5000")
    drawn = ada.evaluate(
        """async () => { const { Drawing } = window.givewayLanes, real = Drawing.prototype.frame
            let drawn = 0
            Drawing.prototype.frame = function (...all) { drawn += 1; real.apply(this, all) }
            const canvas = document.querySelector('#lanes canvas'); canvas.focus()
            for (let i = 0; i < 30; i += 1) {
              for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft'])
                canvas.dispatchEvent(new KeyboardEvent('keydown', { key }))
              await new Promise(requestAnimationFrame) }
            await new Promise(requestAnimationFrame)
            return drawn }"""
    )
    assert 1 <= drawn <= 32, "one frame draws all that moved since the last one"
    assert page_faults == []


def test_a_reader_whose_clock_is_years_behind_sees_it_all_the_same(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.clock.set_fixed_time("2020-01-01T00:00:00Z")
    ada.goto(at("/partitions/x/"))
    chart = ada.locator("#lanes")
    expect(chart).to_have_attribute("data-bars", re.compile(r"\d+"))
    assert abs(number(chart, "from") - clock.now().timestamp()) < 7200
    assert page_faults == []
