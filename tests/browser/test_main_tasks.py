"""Each person's main task in so many clicks, by pointer and by keyboard alone, in both languages, wide and on a phone.

The four walks have every two of these together. Each page on the way is held against axe-core, whatever the impact, and
against the width of the window; nothing may be said in the browser's console.
"""

from collections.abc import Callable

import pytest
from django.utils import translation
from django.utils.translation import gettext
from playwright.sync_api import Page, expect

from console.accounts.models import User
from console.partitions.models import Partition
from console.steering.models import Pause, Plan
from tests.browser.conftest import enter
from tests.browser.hands import Hands
from tests.browser.looking import EVERY, faults, too_wide
from tests.history.test_pages import LEVELS, people
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
WALKS = [
    ("en", 1440, "pointer"),
    ("en", 390, "keyboard"),
    ("zh-hans", 1440, "keyboard"),
    ("zh-hans", 390, "pointer"),
]

AT_REST = """() => Promise.allSettled(document.getAnimations()
    .filter(each => each.effect.getComputedTiming().iterations !== Infinity).map(each => each.finished))
    .then(() => null)"""
"""One that is broken off, as its part of the page goes, has ended, too."""
COUNT = """on => {
    if (window.asked === undefined) {
        window.asked = 0;
        document.addEventListener('htmx:beforeRequest', event => {
            const asker = (event.detail.requestConfig || event.detail).elt;
            if (!asker.hasAttribute('data-poll')) window.asked++;
            else if (window.looking) event.preventDefault();
        });
    }
    window.looking = on;
    return window.asked;
}"""
LOOKS = 20


@pytest.fixture
def asked(people: Sim) -> Plan:
    """Alpha is the higher one, beta's job has the node, and the partition's administrator is asked."""
    people.policy(levels=LEVELS, user_overrides={}, enforcement="approve")
    people.policy(levels=LEVELS, user_overrides={"alpha": "P0"}, enforcement="approve")
    people.cycle()
    return Plan.objects.get(state="proposed")


def sound(page: Page) -> None:
    """Nothing is wrong with the page at rest: it asks for no news meanwhile, and where a part was asked for during the
    look, one looks again.

    What shows that a part is on its way fades in, and is pale meanwhile.
    """
    found: list[str] = []
    for _ in range(LOOKS):
        asked = page.evaluate(COUNT, True)
        expect(page.locator(".htmx-request")).to_have_count(0)
        page.evaluate(AT_REST)
        found = faults(page, EVERY) + too_wide(page)
        if page.evaluate(COUNT, False) == asked:
            break
    assert found == []


@pytest.mark.parametrize(("language", "width", "by"), WALKS)
def test_main_tasks_take_few_clicks(
    asked: Plan, page: Page, at: At, page_faults: list[str], language: str, width: int, by: str
) -> None:
    enter(page.context, at(""), User.objects.get(username="dave"))
    page.context.add_cookies([{"name": "language", "value": language, "url": at("")}])
    page.set_viewport_size({"width": width, "height": 900})
    hands = Hands(page, by_keyboard=by == "keyboard")
    with translation.override(language):
        why_a_job_waits(hands, at, asked)
        approve(hands, at, asked)
        change_a_threshold(hands, at)
        roll_back(hands, at)
        pause_a_partition(hands, at)
    assert page_faults == []


def why_a_job_waits(hands: Hands, at: At, plan: Plan) -> None:
    hands.open(at("/jobs/"))
    hands.follow(hands.page.locator(f"main td a[href='/jobs/{plan.job_id}/']"))
    expect(hands.page.locator(".answer").first).to_be_in_viewport()
    assert hands.clicks == 1
    sound(hands.page)


def change_a_threshold(hands: Hands, at: At) -> None:
    """What it would do comes by itself while one writes."""
    page = hands.page
    hands.open(at("/partitions/x/"))
    hands.follow(page.locator(".tabs a[href='/partitions/x/policy/']"))
    hands.write(page.locator("[name=levels-0-min_score]"), "5")
    expect(page.locator("#bar-now > summary")).to_be_in_viewport()
    hands.click(page.locator("#bar-now > summary"))
    expect(page.locator("#bar-now .changes")).to_contain_text("50 → 5")
    sound(page)
    hands.write(page.locator("[name=reason]"), "Ten is enough for the first level")
    hands.follow(page.get_by_role("button", name=gettext("Put in force")))
    assert hands.clicks == 3
    assert in_force() == 5
    sound(page)


def roll_back(hands: Hands, at: At) -> None:
    page = hands.page
    hands.open(at("/partitions/x/"))
    hands.follow(page.locator(".tabs a[href='/partitions/x/revisions/']"))
    sound(page)
    hands.follow(page.locator(".revisions a").first)
    sound(page)
    hands.write(page.locator("[name=reason]"), "It was not")
    hands.follow(page.get_by_role("button", name=gettext("Put in force")))
    assert hands.clicks == 3
    assert in_force() == 50


def pause_a_partition(hands: Hands, at: At) -> None:
    hands.open(at("/partitions/x/"))
    hands.follow(hands.page.locator(".pause-form button"))
    expect(hands.page.locator("#pauses")).to_contain_text("x")
    assert hands.clicks == 1
    assert Pause.objects.count() == 1
    sound(hands.page)
    hands.follow(hands.page.locator("#pauses button"))
    assert not Pause.objects.exists()


def approve(hands: Hands, at: At, plan: Plan) -> None:
    page = hands.page
    hands.open(at("/"))
    sound(page)
    hands.follow(page.locator(f"#needs a[href='/plans/{plan.pk}/']"))
    sound(page)
    hands.write(page.locator("#decision-form [name=reason]"), "Delivery is on Friday")
    hands.follow(page.locator("#decision-form button[value=approve]"))
    assert hands.clicks == 2
    plan.refresh_from_db()
    assert (plan.state, plan.decided_by) == ("approved", "dave")


def in_force() -> float:
    """From which score on the first level begins."""
    revision = Partition.objects.get(name="x").revision
    assert revision is not None
    return float(revision.document["levels"][0]["min_score"])
