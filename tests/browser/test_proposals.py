"""A manager proposes a project, is told what is wrong and what it would bring; an administrator accepts it smaller."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.accounts.models import User
from console.projects.models import Project, ProjectProposal
from tests.browser.conftest import enter
from tests.browser.looking import look
from tests.history.test_pages import people
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


def enter_as(page: Page, at: At, name: str) -> None:
    enter(page.context, at(""), User.objects.get(username=name))


def test_proposed_by_a_manager_and_accepted_smaller_by_an_administrator(
    people: Sim, page: Page, at: At, page_faults: list[str]
) -> None:
    people.submit("newcomer", 6)
    people.port.advance(61)
    people.cycle()
    enter_as(page, at, "pam")
    page.goto(at("/projects/"))
    page.get_by_role("link", name="Propose a project").click()
    propose(page)
    made = ProjectProposal.objects.get()
    page.wait_for_url(at(f"/project-proposals/{made.pk}/"))
    expect(page.locator("main")).to_contain_text("Project gamma has been proposed.")
    assert look(page) == []
    page.goto(at("/"))
    expect(page.locator("#needs")).to_contain_text("No administrator has decided yet on the project gamma.")

    enter_as(page, at, "ada")
    page.goto(at("/"))
    page.locator("#needs").get_by_role("link", name="pam proposes the project gamma").click()
    expect(page.locator("main")).to_contain_text("Its score of 60 would be the highest of all")
    assert look(page) == []
    accept(page)
    page.wait_for_url(at("/project-requests/"))
    expect(page.locator("main")).to_contain_text("Accepted: project gamma has been made.")
    assert Project.objects.get(code="gamma").size == 10

    enter_as(page, at, "pam")
    page.goto(at(f"/project-proposals/{made.pk}/"))
    expect(page.locator("main")).to_contain_text("Accepted with changes")
    page.goto(at("/projects/gamma/"))
    expect(page.get_by_role("button", name="Save").last).to_be_visible()
    assert [fault for fault in page_faults if "422" not in fault] == [], "a form that is refused is one"


def propose(page: Page) -> None:
    """With a mistake first: it stands beside its field, and what was typed is still there."""
    for label, value in {
        "Code": "alpha",
        "Name": "Gamma",
        "Size": "60",
        "Grade": "1",
        "Urgency": "1",
    }.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Members").fill("newcomer")
    page.get_by_label("Share it needs").fill("x: 4 nodes")
    page.get_by_label("Reason").fill("New money")
    expect(page.locator("#levels-preview")).to_contain_text("P0")
    page.get_by_role("button", name="Propose").click()
    expect(page.locator("#project-form")).to_contain_text("There is a project alpha already.")
    assert look(page) == []
    page.get_by_label("Code", exact=True).fill("gamma")
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator("#what-if")).to_contain_text("Stops 1 more job (of beta)")
    assert not ProjectProposal.objects.exists(), "nothing is kept by asking"
    page.get_by_role("button", name="Propose").click()
    expect(page.locator("main")).to_contain_text("Project gamma has been proposed.")


def accept(page: Page) -> None:
    """The page has all of it in a form, which is changed before it is accepted."""
    page.get_by_label("Size", exact=True).fill("10")
    page.get_by_label("Reason").fill("Agreed, smaller")
    page.get_by_role("button", name="Accept as it stands here").click()


def test_withdrawn_by_whoever_proposed_it(people: Sim, page: Page, at: At, page_faults: list[str]) -> None:
    people.submit("newcomer", 6)
    people.port.advance(61)
    people.cycle()
    enter_as(page, at, "pam")
    page.goto(at("/propose-project/"))
    propose(page)
    page.get_by_role("link", name="Withdraw").click()
    assert look(page) == []
    page.get_by_label("Reason").fill("Not yet")
    page.get_by_role("button", name="Withdraw").click()
    expect(page.locator("main")).to_contain_text("The proposal has been withdrawn.")
    assert ProjectProposal.objects.get().state == "withdrawn"
    assert [fault for fault in page_faults if "422" not in fault] == [], "a form that is refused is one"
