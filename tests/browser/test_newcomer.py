"""Whoever installs it, with the keyboard alone: the administrator's seat, the doctor, levels, projects, an invitation,
shadow, and the day on which a partition goes live.
"""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.accounts.models import User
from console.partitions.models import Partition
from console.projects.models import Project
from console.setup.examining import examine_if_asked
from console.setup.first_admin import make_code
from tests.browser.keyboard import Keyboard
from tests.steering.conftest import Sim, sim

__all__ = ["sim"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
SECRET = "a-long-enough-one"


def take_the_seat(keys: Keyboard, at: At) -> None:
    page = keys.page
    page.goto(at("/sign-in/"))
    keys.to(page.get_by_role("link", name="Create the first administrator"))
    keys.turn("Enter")
    for label, text in (("One-time code", make_code()), ("User name", "root1")):
        keys.fill(page.get_by_label(label), text)
    for label in ("Password", "Password again"):
        keys.fill(page.get_by_label(label, exact=True), SECRET)
    keys.leave("Enter")
    expect(page.get_by_role("heading", name="The first minutes")).to_be_visible()


def give_levels(keys: Keyboard) -> None:
    """Type over what is proposed, and see where everybody would stand meanwhile."""
    page = keys.page
    preview = page.locator("#levels-preview")
    expect(preview).to_contain_text(re.compile(r"physics\s*1\s*P2\s*ann"))
    keys.fill(page.get_by_label("From score, 2"), "0.5")
    expect(preview).to_contain_text("What is typed makes no levels yet")
    keys.fill(page.get_by_label("From score, 3"), "0.1")
    expect(preview).to_contain_text(re.compile(r"physics\s*1\s*P1\s*ann"))
    keys.follow(page.get_by_role("button", name="Give them levels"))
    expect(page.locator("main")).to_contain_text("partitions have levels")
    expect(page.locator("main")).not_to_contain_text("Still missing")


def go_live(keys: Keyboard) -> None:
    """From the policy's page to a partition that enforces, over a question that says what it means."""
    page = keys.page
    keys.to(page.get_by_label("Shadow:"))
    keys.press("ArrowDown", "ArrowDown")
    expect(page.get_by_label("Enforce:")).to_be_checked()
    keys.push(page.get_by_role("button", name="Put in force"))
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("The tally of a week is as it should be")
    keys.push(page.get_by_role("button", name="Put in force"))
    expect(page.get_by_role("heading", name="Enforce on x")).to_be_focused()
    keys.follow(page.get_by_role("button", name="Enforce on x"))


def test_from_an_empty_database_to_a_partition_that_enforces(
    sim: Sim, page: Page, at: At, page_faults: list[str]
) -> None:
    keys = Keyboard(page)
    take_the_seat(keys, at)
    keys.push(page.get_by_role("button", name="shadow", exact=True))
    expect(page.locator(".term-meaning").first).to_contain_text("nothing is touched on the cluster")
    keys.press("Escape")
    expect(page.locator(".term-meaning").first).to_be_hidden()

    keys.follow(page.get_by_role("link", name="Attach Slurm", exact=True))
    expect(page.locator("main")).to_contain_text("Not examined yet.")
    examine_if_asked(sim.cluster)
    sim.submit("ann", 4, account="physics")
    sim.cycle()
    keys.follow(page.get_by_role("button", name="Examine again"))
    expect(page.get_by_role("table")).to_be_visible()
    keys.follow(page.get_by_role("link", name="Go on: partitions and projects"))
    keys.to(page.get_by_label("Take, 1"))
    keys.press("Space")
    keys.fill(page.get_by_label("Reason").first, "As in Slurm")
    keys.follow(page.get_by_role("button", name="Create the chosen projects"))
    assert [project.code for project in Project.objects.all()] == ["physics"]
    give_levels(keys)

    keys.follow(page.get_by_role("link", name="Go on: invite people"))
    keys.fill(page.get_by_label("User name"), "erin")
    keys.fill(page.get_by_label("Reason"), "She manages physics")
    keys.follow(page.get_by_role("button", name="Make the link"))
    expect(page.locator(".secret")).to_contain_text("/invitation/?key=")
    keys.follow(page.get_by_role("link", name="Go on: run in shadow"))
    keys.follow(page.get_by_role("row", name="x shadow").get_by_role("link", name="policy"))
    go_live(keys)
    revision = Partition.objects.get(name="x").revision
    assert revision is not None
    assert revision.enforcement == "enforce"
    assert User.objects.get().username == "root1"
    assert [fault for fault in page_faults if "422" not in fault] == []
