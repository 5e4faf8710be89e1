"""The cluster user's questions with the keyboard alone: my jobs, why this one waits, what happened to that one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from console.cluster.models import Job
from tests import factories
from tests.browser.conftest import enter
from tests.browser.keyboard import Keyboard
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_why_a_job_waits_and_who_stopped_the_other(
    house: House, page: Page, live_server: Any, at: At, page_faults: list[str]
) -> None:
    vera = house.people["vera"]
    vera.cluster_user = "bob"
    vera.save()
    factories.make_job(
        house.cluster,
        "105",
        user="bob",
        place=2,
        reason="not_enough_even_so",
        explain="105 waits: 16 cpu are missing.",
    )
    stop = house.plan.actions.get(kind="requeue_hold")
    stop.state, stop.issued_at = "verified", timezone.now() - timedelta(minutes=3)
    stop.save()
    Job.objects.filter(job_id="88").update(phase="pending", start=0, alloc={}, held=True, restarts=1)
    enter(page.context, live_server.url, vera)
    keys = Keyboard(page)
    keys.open(at("/"))
    keys.leave("g", "m")
    expect(page.locator("#my-jobs")).to_contain_text("16 cpu are missing")
    keys.follow(page.get_by_role("link", name="88", exact=True).first)
    expect(page.locator("main")).to_contain_text("for 101")
    keys.follow(page.get_by_role("link", name="Whole history"))
    expect(page.locator(".story")).to_contain_text("101")
    keys.leave("g", "m")
    keys.push(page.locator("[id^=why-] summary").first)
    expect(page.locator("[id^=why-][open]").first).to_be_visible()
    keys.follow(page.get_by_role("link", name="105", exact=True).first)
    expect(page.locator(".answer")).to_contain_text(
        "stopping every lower job would still not make enough room"
    )
    assert page_faults == []
