"""A plan's page, wide and on a phone: nodes before and after, steps on their axis, nobody's fault."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from console.steering.models import Plan
from tests import factories
from tests.browser.looking import look
from tests.ui.conftest import House
from tests.ui.test_plan_pictures import keep_input, running

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def test_it_fits_and_has_no_fault(house: House, ada: Page, at: At, page_faults: list[str]) -> None:
    factories.make_action(
        house.plan, "prioritise", order=1, job_id="101", state="verified", issued_at=factories.NOW
    )
    Plan.objects.update(
        started_at=factories.NOW + timedelta(seconds=2.6),
        passed_over=[{"job": str(n), "reason": "equal_or_higher"} for n in range(300)],
    )
    house.plan.refresh_from_db()
    keep_input(house.plan, [running("88", {"n1": 4, "n2": 8}), running("90", {"n1": 2}, 0)], ["n1", "n2"])
    ada.goto(at(f"/plans/{house.plan.pk}/"))
    expect(ada.locator(".rooms svg.cells")).to_have_count(4)
    ada.get_by_text("300 jobs").click()
    expect(ada.get_by_role("link", name="299", exact=True)).to_be_visible()
    assert look(ada) == []
    ada.locator(".rooms a[href='/jobs/88/']").first.click()
    expect(ada).to_have_url(at("/jobs/88/"))
    assert page_faults == []
