"""What a manager asks for, in front of the administrator: from the overview to the decision and back."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from console.core import clock
from console.projects.models import Project, UrgencyRequest
from tests.browser.furnished import asked_urgency
from tests.browser.hands import Hands
from tests.browser.looking import look
from tests.browser.test_phone import PHONE, SMALL
from tests.ui.conftest import House

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


@pytest.fixture
def asked(house: House) -> UrgencyRequest:
    """Pam asks for nine."""
    return asked_urgency(house)


@pytest.mark.parametrize("by_keyboard", [True, False], ids=["keyboard", "pointer"])
def test_it_is_approved_with_two_clicks(
    asked: UrgencyRequest, ada: Page, at: At, page_faults: list[str], by_keyboard: bool
) -> None:
    hands = Hands(ada, by_keyboard=by_keyboard)
    hands.open(at("/"))
    hands.follow(ada.locator(f"#needs a[href='/project-requests/{asked.pk}/']"))
    expect(ada.locator("main")).to_contain_text("The customer comes")
    expect(ada.locator("main")).to_contain_text("9 the way that is asked for")
    assert look(ada) == []
    hands.write(ada.get_by_label("Reason"), "She does")
    hands.follow(ada.get_by_role("button", name="Approve"))
    assert hands.clicks == 2
    expect(ada.get_by_role("row", name="alpha")).to_contain_text("She does")
    assert Project.objects.get(code="alpha").urgency == 9
    assert page_faults == []


def test_a_rejection_without_a_reason_is_not_taken(asked: UrgencyRequest, ada: Page, at: At) -> None:
    ada.goto(at(f"/project-requests/{asked.pk}/"))
    ada.get_by_role("button", name="Reject").click()
    assert ada.get_by_label("Reason").evaluate("field => field.validity.valueMissing") is True
    ada.get_by_label("Reason").fill("Nobody comes")
    ada.get_by_role("button", name="Reject").click()
    expect(ada).to_have_url(at("/project-requests/"))
    asked.refresh_from_db()
    assert (asked.state, asked.decision_reason) == ("rejected", "Nobody comes")


def test_a_deadline_is_seen_as_a_curve_and_shortened_on_a_phone(
    asked: UrgencyRequest, ada: Page, at: At
) -> None:
    day = clock.today() + timedelta(days=30)
    UrgencyRequest.objects.update(urgency_by="deadline", deadline=day)
    ada.set_viewport_size(PHONE)
    ada.goto(at(f"/project-requests/{asked.pk}/"))
    expect(ada.locator("main svg[role=img]")).to_be_visible()
    assert ada.evaluate(SMALL) == []
    assert look(ada, [("light", 390)]) == []
    sooner = day - timedelta(days=10)
    ada.locator("[name=until]").fill(sooner.isoformat())
    ada.get_by_label("Reason").fill("Ten days must do")
    ada.get_by_role("button", name="Approve until that day").click()
    expect(ada).to_have_url(at("/project-requests/"))
    assert Project.objects.get(code="alpha").deadline == sooner
