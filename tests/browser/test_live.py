"""Pages that live: rows change by themselves, hold still under the hand, and say when they no longer know."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from console.cluster.models import Job
from tests import factories
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def change(house: House, explain: str) -> None:
    """The next cycle has looked again: another verdict on job 101."""
    Job.objects.filter(job_id="101").update(explain=explain, reason="")
    house.touch()


def seen_just_now(house: House) -> None:
    """The cluster was seen, and will not be stale for as long as a test takes on a busy machine."""
    house.cluster.observed_at = timezone.now() + timedelta(minutes=5)
    house.cluster.save(update_fields=["observed_at"])


def asked_by_scripts(page: Page) -> list[str]:
    """What the page asks for from now on; the browser may fetch the site's icon whenever it likes."""
    asked: list[str] = []
    page.on(
        "request",
        lambda request: asked.append(request.url) if request.resource_type in {"xhr", "fetch"} else None,
    )
    return asked


def test_a_row_changes_by_itself_without_a_reload(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.goto(at("/partitions/x/"))
    ada.evaluate("window.sameDocument = true")
    ada.locator("#job-filter").focus()
    change(house, "waits: 16 cpu are missing")
    expect(ada.locator("#partition-now")).to_contain_text("waits: 16 cpu are missing")
    assert ada.evaluate("window.sameDocument") is True
    assert ada.evaluate("document.activeElement.id") == "job-filter", "the focus stays"
    assert page_faults == []


def test_figures_and_head_change_too(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    factories.make_job(house.cluster, "102", user_level=0, user_level_name="P0")
    house.x.revision = factories.make_revision(house.x, 2, enforcement="enforce")
    house.x.save()
    house.touch()
    expect(ada.locator(".figures > div", has_text="Waiting").locator("dd")).to_contain_text("2")
    expect(ada.locator("#partition-facts")).to_contain_text("Enforce")
    expect(ada.locator("#announce")).to_contain_text("2 waiting")


def test_an_opened_row_stays_open(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    row = ada.locator(f"#why-{Job.objects.get(job_id='101').pk}")
    row.locator("summary").click()
    expect(row).to_contain_text("keyword p1")
    ada.mouse.move(2, 2)
    change(house, "another verdict")
    expect(row).to_contain_text("another verdict")
    expect(row).to_have_attribute("open", "")


def test_nothing_moves_under_the_pointer(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    target = ada.get_by_role("link", name="101", exact=True).first
    target.hover()
    change(house, "another verdict")
    row = ada.locator("[data-row]").filter(has=target)
    for along in (20, 40, 60):
        # Within the table, where a hand may rest for as long as half a minute: one that leaves it has four seconds.
        row.hover(position={"x": along, "y": 8})
        ada.wait_for_timeout(900)
    expect(ada.locator("#partition-now")).not_to_contain_text("another verdict")
    ada.get_by_role("button", name="Held still while you are here").click()
    expect(ada.locator("#partition-now")).to_contain_text("another verdict")
    expect(ada.locator("#hold-note")).to_be_hidden()


def test_updates_can_be_paused(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    button = ada.locator("[data-pause]")
    button.click()
    expect(button).to_have_text("Go on updating")
    asked = asked_by_scripts(ada)
    change(house, "another verdict")
    ada.wait_for_timeout(4500)
    assert asked == []
    button.click()
    expect(ada.locator("#partition-now")).to_contain_text("another verdict")
    expect(button).to_have_text("Freeze view")


def test_what_was_asked_before_the_pause_is_not_shown_in_it(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    under_way: list[Route] = []

    def hold_back(route: Route) -> None:
        under_way.append(route)

    ada.route("**/partitions/x/?*", hold_back)
    change(house, "another verdict")
    while not under_way:
        ada.wait_for_timeout(50)
    ada.evaluate(
        "document.addEventListener('htmx:afterRequest', () => { document.body.dataset.answered = '' })"
    )
    ada.locator("[data-pause]").click()
    under_way[0].continue_()
    expect(ada.locator("body")).to_have_attribute("data-answered", "")
    expect(ada.locator("#partition-now")).not_to_contain_text("another verdict")
    ada.unroute("**/partitions/x/?*", hold_back)
    ada.locator("[data-pause]").click()
    expect(ada.locator("#partition-now")).to_contain_text("another verdict")


def test_a_console_that_is_gone_is_no_calm_cluster(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("#offline")).to_be_hidden()

    def refuse(route: Route) -> None:
        route.abort()

    ada.route("**/partitions/x/?*", refuse)
    expect(ada.locator("#offline")).to_be_visible()
    expect(ada.locator("#offline")).to_contain_text("Not live: the console has not answered since")
    ada.unroute("**/partitions/x/?*", refuse)
    expect(ada.locator("#offline")).to_be_hidden()


def test_a_cluster_that_is_not_seen_any_more_goes_stale_by_itself(house: House, ada: Page, at: At) -> None:
    seen_just_now(house)
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("#stale")).to_be_hidden()
    house.cluster.observed_at = factories.NOW
    house.cluster.save()
    expect(ada.locator("#stale")).to_be_visible()


def test_filtering_and_sorting_stay_in_the_address_and_through_polls(house: House, ada: Page, at: At) -> None:
    factories.make_job(house.cluster, "102", user="zoe", place=2)
    ada.goto(at("/partitions/x/"))
    ada.locator("#job-filter").fill("zoe")
    expect(ada.locator("#partition-now")).not_to_contain_text("101 needs 4 cpu")
    expect(ada).to_have_url(at("/partitions/x/?q=zoe"))
    ada.locator("#w-head-job").click()
    expect(ada.locator("th[aria-sort=ascending]").first).to_contain_text("Job")
    factories.make_job(house.cluster, "103", user="zoe", place=3)
    house.touch()
    ada.mouse.move(2, 2)
    expect(ada.locator("#partition-now")).to_contain_text("103")
    expect(ada).to_have_url(re.compile("w_sort=job"))
    expect(ada).not_to_have_url(re.compile("since"))
    ada.go_back()
    expect(ada.locator("main h1")).to_have_text("x")


def test_when_the_session_ends_the_page_asks_to_sign_in(
    house: House, ada: Page, at: At, live_server: Any
) -> None:
    ada.goto(at("/partitions/x/"))
    Session.objects.all().delete()
    expect(ada).to_have_url(at("/sign-in/?next=/partitions/x/"))


def test_a_plan_tells_its_end(house: House, ada: Page, at: At) -> None:
    ada.goto(at(f"/plans/{house.plan.pk}/"))
    house.plan.state, house.plan.outcome = "verified", "101 runs."
    house.plan.save()
    house.touch()
    expect(ada.locator("#plan-progress")).to_contain_text("Outcome: 101 runs.")
    asked = asked_by_scripts(ada)
    ada.wait_for_timeout(4500)
    assert asked == [], "a plan that is over is not polled"


def test_a_table_holds_still_as_long_as_it_is_read_and_says_how_much_has_changed(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    ada.goto(at("/partitions/x/"))
    ada.locator(f"#r-{Job.objects.get(job_id='88').pk}").hover()
    ada.evaluate(
        "Date.now = (now => () => now)(Date.now() + 5500)"
    )  # the hand has rested so long, and not longer
    factories.make_job(house.cluster, "102", place=2)
    seen_just_now(house)
    change(house, "another verdict")
    note = ada.locator("#hold-note")
    expect(note).to_contain_text("2 rows have changed.")
    for _ in range(2):
        with ada.expect_response(lambda answer: "since=" in answer.url):
            pass
    expect(ada.locator("#partition-now")).not_to_contain_text("another verdict")
    expect(ada.locator("#stale")).to_be_hidden()
    note.get_by_role("button").click()
    expect(ada.locator("#partition-now")).to_contain_text("another verdict")
    assert page_faults == []


def test_a_row_in_focus_does_not_move(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    ada.locator("#w-head-place a, a#w-head-place").first.focus()
    ada.keyboard.press("Tab")
    factories.make_job(house.cluster, "100", place=0)
    house.touch()
    expect(ada.locator("#hold-note")).to_contain_text("1 row has changed.")
    expect(ada.get_by_role("link", name="100", exact=True)).to_have_count(0)


def test_a_hidden_tab_asks_nothing_and_looks_again_when_it_is_shown(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/"))
    hide = (
        "(on) => { Object.defineProperty(document, 'hidden', {configurable: true, get: () => on}); "
        "document.dispatchEvent(new Event('visibilitychange')); }"
    )
    ada.evaluate(hide, True)
    asked = asked_by_scripts(ada)
    ada.wait_for_timeout(4500)
    assert asked == []
    change(house, "another verdict")
    ada.evaluate(hide, False)
    expect(ada.locator("#partition-now")).to_contain_text("another verdict")


def test_the_map_by_keyboard_alone(house: House, ada: Page, at: At, page_faults: list[str]) -> None:
    house.cluster.nodes.filter(name="n1").update(total={"cpu": 8})
    factories.make_running_job(house.cluster, "89", name="two", alloc={"n1": {"cpu": 1}, "n3": {"cpu": 2}})
    factories.make_node(house.cluster, "n3", total={"cpu": 8}, used={"cpu": 2})
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("[data-map] a[tabindex='0']"), "one stop of the tab key").to_have_count(1)
    ada.locator("[data-map] a[tabindex='0']").focus()
    told = ada.locator(".map-told")
    ada.keyboard.press("ArrowRight")
    ada.keyboard.press("ArrowRight")
    while "89 two" not in (told.text_content() or ""):
        ada.keyboard.press("ArrowRight")
    expect(ada.locator(".cells a.same")).to_have_count(2)
    factories.make_job(house.cluster, "102", place=2)
    house.touch()
    expect(ada.locator("#hold-note button")).to_be_visible()
    ada.locator("#hold-note button").dispatch_event("click")
    expect(ada.locator("#partition-now")).to_contain_text("102")
    expect(ada.locator(".cells a:focus")).to_have_attribute("href", "/jobs/89/")
    ada.keyboard.press("Enter")
    expect(ada).to_have_url(at("/jobs/89/"))
    assert page_faults == []


def test_the_squares_by_keyboard_and_by_pointer(
    house: House, ada: Page, at: At, page_faults: list[str]
) -> None:
    for i in range(40):
        factories.make_node(house.cluster, f"s{i:02d}", total={"cpu": 8}, used={"cpu": i % 9})
    ada.goto(at("/partitions/x/"))
    ada.locator("#nodes-as-grid").click()
    expect(ada).to_have_url(re.compile("map=grid"))
    told, squares = ada.locator(".map-told"), ada.locator(".heat .sq")
    expect(squares).to_have_count(42)
    ada.get_by_title("s03: 5 of 8 cpu free").hover()
    expect(told).to_have_text("s03: 5 of 8 cpu free")
    expect(ada.locator("[data-map] a[tabindex='0']"), "one stop of the tab key").to_have_count(1)
    ada.get_by_title("s00: 8 of 8 cpu free").focus()
    ada.keyboard.press("ArrowRight")
    expect(told).to_have_text("s01: 7 of 8 cpu free")
    ada.locator("#nodes-by-level").click()
    expect(ada.locator("#nodes-by-level")).to_have_attribute("aria-current", "true")
    ada.get_by_title("s00: no job").focus()
    house.touch()
    expect(ada.locator("#hold-note button")).to_be_visible()
    ada.locator("#hold-note button").dispatch_event("click")
    expect(ada.locator(".heat a:focus"), "a poll keeps the place").to_have_attribute("href", "/nodes/s00/")
    ada.keyboard.press("Enter")
    expect(ada).to_have_url(at("/nodes/s00/"))
    assert page_faults == []


def test_columns_are_chosen_in_the_page_and_stay_in_the_address(house: House, ada: Page, at: At) -> None:
    ada.goto(at("/partitions/x/?q=p1"))
    ada.locator("#w-columns summary").click()
    ada.locator("#w_col-project").uncheck()
    expect(ada.locator("#w-head-project")).to_have_count(0)
    expect(ada.locator("#r-head-project")).to_have_count(1)
    expect(ada.locator("#w-columns")).to_have_attribute("open", "")
    expect(ada).to_have_url(re.compile("q=p1.*w_col=name"))
    expect(ada).not_to_have_url(re.compile("w_col=project"))
    ada.reload()
    expect(ada.locator("#w-head-project")).to_have_count(0)


def test_a_moment_of_less_than_a_second_ahead_is_not_in_the_future(house: House, ada: Page, at: At) -> None:
    """Two clocks never agree: "in 0 s" would be said of what was seen just now."""
    ada.clock.set_fixed_time("2026-03-02T12:00:00Z")
    ada.goto(at("/partitions/x/"))
    ada.evaluate(
        """() => {
            const now = Date.parse(document.documentElement.dataset.now);
            for (const [id, ahead] of [["soon", 500], ["later", 5000]]) {
                const moment = document.createElement("time");
                moment.id = id;
                moment.dataset.age = "ago";
                moment.setAttribute("datetime", new Date(now + ahead).toISOString());
                document.querySelector("h1").append(moment);
            }
        }"""
    )
    expect(ada.locator("#later")).to_contain_text("in ")
    expect(ada.locator("#soon")).to_have_text("0 s ago")
