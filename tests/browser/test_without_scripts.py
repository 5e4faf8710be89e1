"""With scripts off: the first administrator, tables and paging, forms with rows, a request, what if, a draft, an
approval, a pause, an export. Only what lives by itself needs a script.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from console.accounts.models import User
from console.cluster.models import Cluster
from console.projects.models import Project, ProjectRules, UrgencyRequest
from console.projects.rulebook import DEFAULT_SCHEDULE, ManagerLimits, Rules, encode_rules
from console.setup.first_admin import make_code
from console.steering.models import Plan, PlanState
from tests import factories
from tests.browser.conftest import enter
from tests.history.test_pages import LEVELS, people
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    """A page of a browser that runs no scripts."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).last.click()


def test_the_administrator_of_a_partition_drafts_tries_activates_approves_and_pauses(
    people: Sim, plain: Page, at: At
) -> None:
    people.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    enter(plain.context, at(""), User.objects.get(username="dave"))
    main = plain.locator("main")
    plain.goto(at("/partitions/x/policy/"))
    plain.get_by_label("Approve:").check()
    plain.locator("#overrides > summary").click()
    press(plain, "Add a user")
    plain.get_by_label("User, 1").fill("alpha")
    plain.get_by_label("Level, 1").fill("P0")
    press(plain, "Show what would change")
    expect(main).to_contain_text("Stops 1 more job (of beta)")
    press(plain, "Back to the form")
    expect(plain.get_by_label("User, 1")).to_have_value("alpha")
    expect(plain.get_by_label("Approve:")).to_be_checked()
    plain.get_by_label("Reason").fill("Alpha delivers on Friday")
    plain.get_by_text("Not yet: save it as a draft").click()
    plain.get_by_label("Name of the draft").fill("Friday")
    press(plain, "Save as a draft")
    plain.get_by_role("link", name="Compare with what is in force").first.click()
    plain.get_by_label("Reason").fill("Agreed")
    press(plain, "Put in force")
    expect(plain.get_by_text("The policy of x is in force.")).to_be_visible()
    people.cycle()

    plan = Plan.objects.get()
    plain.goto(at("/approvals/"))
    plain.get_by_role("link", name="Look and decide").click()
    plain.get_by_label("Reason").fill("Delivery is on Friday")
    press(plain, "Approve: stop 1 job")
    expect(main).to_contain_text(f"Plan {plan.pk} is approved")
    assert Plan.objects.get().state == PlanState.APPROVED
    plain.goto(at("/partitions/x/"))
    press(plain, "Pause partition")
    expect(plain.locator("#pauses")).to_contain_text("dave paused it")
    press(plain, "Resume")
    expect(plain.locator("#pauses")).not_to_contain_text("is paused")


def test_a_manager_changes_rows_and_asks_for_more_than_the_limit(people: Sim, plain: Page, at: At) -> None:
    rules = Rules(DEFAULT_SCHEDULE, ManagerLimits(urgency_limit=6))
    ProjectRules.objects.create(pk=1, document=encode_rules(rules), version=2)
    enter(plain.context, at(""), User.objects.get(username="pam"))
    plain.goto(at("/projects/alpha/"))
    press(plain, "Add a pattern")
    plain.get_by_label("Job names, 1").fill("alpha_fast*")
    plain.get_by_label("Urgency", exact=True).fill("5")
    plain.get_by_label("Reason").fill("without scripts")
    press(plain, "Save")
    expect(plain.get_by_text("Project alpha has been saved.")).to_be_visible()
    expect(plain.locator("#levels-preview")).to_contain_text("50 score")
    assert Project.objects.get(code="alpha").tasks.count() == 1
    plain.goto(at("/projects/alpha/"))
    plain.get_by_label("Urgency", exact=True).fill("9")
    plain.get_by_label("Reason").fill("The customer comes")
    press(plain, "Save")
    expect(plain.get_by_text("waits for an administrator's approval")).to_be_visible()
    assert UrgencyRequest.objects.get().urgency == 9


def test_tables_are_filtered_paged_and_read_and_the_log_is_exported(people: Sim, plain: Page, at: At) -> None:
    cluster = Cluster.objects.get()
    for n in range(60):
        factories.make_job(cluster, str(500 + n), user="zoe", place=n + 2)
    enter(plain.context, at(""), User.objects.get(username="ada"))
    plain.goto(at("/partitions/x/"))
    now = plain.locator("#partition-now")
    expect(plain.locator("[data-pause]")).to_be_hidden()
    expect(plain.locator("#lanes")).to_be_hidden()
    expect(plain.locator("[data-map] .cells").first).to_be_visible()
    expect(now.get_by_role("link", name="559", exact=True)).to_have_count(0)
    now.get_by_role("link", name="Next").first.click()
    expect(now.get_by_role("link", name="559", exact=True)).to_have_count(1)
    plain.locator("#job-filter").fill("nobody")
    plain.locator("#job-filter").press("Enter")
    expect(now).to_contain_text("No waiting job fits the filter.")
    plain.goto(at("/audit/"))
    plain.locator(".log-row summary").first.click()
    expect(plain.locator(".log-row .inside").first).to_be_visible()
    with plain.expect_download() as begun:
        press(plain, "CSV")
    assert "policy.activated" in Path(begun.value.path()).read_text("utf-8-sig")


def test_the_first_administrator_and_the_first_invitation(db: None, plain: Page, at: At) -> None:
    code = make_code()
    plain.goto(at("/sign-in/"))
    plain.get_by_role("link", name="Create the first administrator").click()
    for label, text in (("One-time code", code), ("User name", "root1")):
        plain.get_by_label(label).fill(text)
    for label in ("Password", "Password again"):
        plain.get_by_label(label, exact=True).fill("a-long-enough-one")
    plain.keyboard.press("Enter")
    expect(plain.get_by_role("heading", name="The first minutes")).to_be_visible()
    plain.get_by_role("link", name="Invite people").first.click()
    plain.get_by_label("User name").fill("erin")
    plain.get_by_label("Reason").fill("She audits")
    press(plain, "Make the link")
    link = plain.locator(".secret").inner_text()
    plain.context.clear_cookies()
    plain.goto(link)
    for label in ("Password", "Password again"):
        plain.get_by_label(label, exact=True).fill("a-longer-one-yet")
    plain.keyboard.press("Enter")
    expect(plain.get_by_text("Welcome, erin.")).to_be_visible()
