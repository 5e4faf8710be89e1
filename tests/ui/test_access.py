"""Every page as everybody: who gets it, who does not see that it is there, who may look but not touch."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from console.core.htmx import PARTS
from tests.ui.conftest import ROLES, House, SignedIn, part

SIGN_IN = 302
PROBES = ("livez", "readyz", "healthz-web", "healthz-cycle", "metrics")
EVERYBODY = (SIGN_IN, 200, 200, 200, 200, 200)
ELSEWHERE = ("api/v1/",)
"""Addresses whose access is tested elsewhere: tests/api/test_access.py."""


@dataclass(frozen=True)
class Case:
    """A request to a named page, and the status it gets as each of `ROLES`. `{plan}` stands for the plan's id."""

    page: str
    method: str
    statuses: tuple[int, ...]
    args: tuple[str, ...] = ()
    query: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.method, self.page, *self.args, self.query)))


#                                                      anonymous vera pam dave otto ada
CASES = (
    Case("livez", "get", (200, 200, 200, 200, 200, 200)),
    Case("readyz", "get", (200, 200, 200, 200, 200, 200)),
    # Not for people; tests/health has who may read what.
    Case("metrics", "get", (200, 200, 200, 200, 200, 200)),
    Case("healthz-web", "get", (200, 200, 200, 200, 200, 200)),
    Case("healthz-cycle", "get", (503, 503, 503, 503, 503, 503)),
    Case("login", "get", (200, 302, 302, 302, 302, 302)),
    # Off unless the settings name a provider; tests/security has it on.
    Case("oidc", "get", (404, 404, 404, 404, 404, 404)),
    Case("oidc-callback", "get", (404, 404, 404, 404, 404, 404)),
    Case("theme", "post", (302, 302, 302, 302, 302, 302)),
    Case("language", "post", (302, 302, 302, 302, 302, 302)),
    Case("account", "get", EVERYBODY),
    Case("account-token", "post", EVERYBODY),
    # Only one's own are there.
    Case("account-token-revoke", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999999",)),
    Case("account-sessions-end", "post", (SIGN_IN, 302, 302, 302, 302, 302)),
    Case("account-password", "post", EVERYBODY),
    Case("logout", "post", (302, 302, 302, 302, 302, 302)),
    Case("overview", "get", EVERYBODY),
    Case("help", "get", EVERYBODY),
    Case("partition", "get", EVERYBODY, ("x",)),
    Case("partition", "get", EVERYBODY, ("y",)),
    Case("partition", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nowhere",)),
    Case("partition-timeline", "get", EVERYBODY, ("x",)),
    Case("partition-timeline", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nowhere",)),
    Case("jobs", "get", EVERYBODY),
    Case("node", "get", EVERYBODY, ("n1",)),
    Case("node", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nowhere",)),
    Case("my-jobs", "get", EVERYBODY),
    Case("user", "get", EVERYBODY, ("bob",)),
    Case("user", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nobody-there",)),
    Case("forecasts", "get", EVERYBODY),
    # By project only what one may see; tests/insights has it.
    Case("insights", "get", EVERYBODY),
    Case("when", "get", EVERYBODY),
    Case("when", "post", EVERYBODY),
    Case("job", "get", EVERYBODY, ("101",)),
    Case("job", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("plans", "get", EVERYBODY),
    Case("plan", "get", EVERYBODY, ("{plan}",)),
    Case("plan", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999999",)),
    Case("plan-snapshot", "get", EVERYBODY, ("{plan}",)),
    # The house's plan is being carried out: whoever may decide is told so.
    Case(
        "plan-decide",
        "post",
        (SIGN_IN, 403, 403, 409, 403, 409),
        ("{plan}",),
        data={"decision": "approve", "reason": "for the test", "seen": "x"},
    ),
    Case("plan-decide", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999999",)),
    Case("approvals", "get", (SIGN_IN, 404, 404, 200, 404, 200)),
    Case("incidents", "get", EVERYBODY),
    # The house has no incident; tests/ui/test_incidents.py has who may close one.
    Case("incident", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999999",)),
    Case("incident-close", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999999",)),
    Case("partition-shadow", "get", EVERYBODY, ("x",)),
    Case("partition-shadow", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nowhere",)),
    Case("partition-power", "get", EVERYBODY, ("x",)),
    Case("partition-power", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nowhere",)),
    Case("partition-power-losses", "get", EVERYBODY, ("x",)),
    # There is none in this house; tests/power has one.
    Case("power-incident", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("x", "9")),
    Case("power-incident-drain", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("x", "9")),
    Case("power-incident-put-back", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("x", "9")),
    Case("power-incident-leave", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("x", "9")),
    Case("partition-power-rule", "post", (SIGN_IN, 403, 403, 422, 403, 422), ("x",)),
    Case("partition-power-measure", "post", (SIGN_IN, 403, 403, 302, 403, 302), ("x",)),
    Case("partition-power-figures", "post", (SIGN_IN, 403, 403, 422, 403, 422), ("x",)),
    Case("pause-partition", "post", (SIGN_IN, 403, 403, 302, 403, 302), ("x",)),
    Case("pause-partition", "post", (SIGN_IN, 403, 403, 403, 403, 302), ("y",)),
    Case("resume-partition", "post", (SIGN_IN, 403, 403, 302, 403, 302), ("x",)),
    Case("resume-partition", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("nowhere",)),
    Case("pause-all", "post", (SIGN_IN, 403, 403, 403, 403, 302)),
    Case("resume-all", "post", (SIGN_IN, 403, 403, 403, 403, 302)),
    Case("partition-policy", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("x",)),
    Case("partition-policy", "post", (SIGN_IN, 404, 404, 200, 403, 200), ("x",)),
    Case("partition-policy", "get", (SIGN_IN, 404, 404, 404, 200, 200), ("y",)),
    Case("partition-policy", "post", (SIGN_IN, 404, 404, 404, 403, 200), ("y",)),
    Case("partition-hindsight", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("x",)),
    Case("partition-hindsight", "post", (SIGN_IN, 404, 404, 302, 403, 302), ("x",)),
    Case("partition-hindsight", "get", (SIGN_IN, 404, 404, 404, 200, 200), ("y",)),
    Case("partition-hindsight", "post", (SIGN_IN, 404, 404, 404, 403, 302), ("y",)),
    Case("policy-what-if", "post", (SIGN_IN, 404, 404, 200, 403, 200), ("x",)),
    Case("policy-what-if", "post", (SIGN_IN, 404, 404, 404, 403, 200), ("y",)),
    Case("task-types-trial", "post", (SIGN_IN, 404, 404, 200, 403, 200), ("x",)),
    Case("task-types-trial", "post", (SIGN_IN, 404, 404, 404, 403, 200), ("y",)),
    Case("partition-quotas", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("x",)),
    Case("partition-quotas", "post", (SIGN_IN, 404, 404, 200, 403, 200), ("x",)),
    Case("partition-quotas", "get", (SIGN_IN, 404, 404, 404, 200, 200), ("y",)),
    Case("partition-quotas", "post", (SIGN_IN, 404, 404, 404, 403, 200), ("y",)),
    Case("quotas-what-if", "post", (SIGN_IN, 404, 404, 200, 403, 200), ("x",)),
    Case("quotas-what-if", "post", (SIGN_IN, 404, 404, 404, 403, 200), ("y",)),
    Case("partition-revisions", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("x",)),
    Case("partition-revisions", "get", (SIGN_IN, 404, 404, 404, 200, 200), ("y",)),
    Case("partition-compare", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("x",)),
    Case("partition-compare", "get", (SIGN_IN, 404, 404, 404, 200, 200), ("y",)),
    Case("partition-activate", "post", (SIGN_IN, 404, 404, 200, 403, 200), ("x",)),
    Case("partition-activate", "post", (SIGN_IN, 404, 404, 404, 403, 200), ("y",)),
    # The house has no draft; tests/ui/test_drafts.py has who may see and change one.
    Case("partition-draft", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("x", "1")),
    Case("partition-draft", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("x", "1")),
    Case("partition-draft-delete", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("x", "1")),
    # There is an administrator in the house: the seat is taken.
    Case("setup-administrator", "get", (404, 404, 404, 404, 404, 404)),
    Case("setup-administrator", "post", (404, 404, 404, 404, 404, 404)),
    Case("invitation", "get", (404, 404, 404, 404, 404, 404)),
    Case("invitation", "post", (404, 404, 404, 404, 404, 404)),
    Case("setup", "get", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-cluster", "get", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-cluster", "post", (SIGN_IN, 404, 404, 404, 404, 302)),
    Case("setup-import", "get", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-import", "post", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-sign-in", "get", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-people", "get", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-people", "post", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-withdraw", "post", (SIGN_IN, 403, 403, 403, 403, 302)),
    Case("people", "get", (SIGN_IN, 404, 404, 404, 200, 200)),
    Case("person", "get", (SIGN_IN, 404, 404, 404, 200, 200), ("vera",)),
    Case("person", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nobody",)),
    Case("person", "post", (SIGN_IN, 404, 404, 404, 403, 200), ("vera",)),
    Case("person-sessions-end", "post", (SIGN_IN, 404, 404, 404, 403, 302), ("vera",)),
    Case("person-token-revoke", "post", (SIGN_IN, 404, 404, 404, 403, 404), ("vera", "999999")),
    Case("setup-shadow", "get", (SIGN_IN, 404, 404, 404, 404, 200)),
    Case("setup-later", "post", (SIGN_IN, 403, 403, 403, 403, 302)),
    Case("projects", "get", (SIGN_IN, 404, 200, 200, 200, 200)),
    Case("new-project", "get", (SIGN_IN, 403, 403, 403, 403, 200)),
    Case("new-project", "post", (SIGN_IN, 403, 403, 403, 403, 200)),
    Case("project", "get", (SIGN_IN, 404, 200, 200, 200, 200), ("alpha",)),
    Case("project", "post", (SIGN_IN, 404, 200, 403, 403, 200), ("alpha",)),
    Case("project", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("beta",)),
    Case("project", "post", (SIGN_IN, 404, 404, 403, 403, 200), ("beta",)),
    Case("project-what-if", "post", (SIGN_IN, 404, 200, 403, 403, 200), ("alpha",)),
    Case("project-what-if", "post", (SIGN_IN, 404, 404, 403, 403, 200), ("beta",)),
    Case("new-project-what-if", "post", (SIGN_IN, 403, 200, 403, 403, 200)),
    Case("studies", "get", EVERYBODY),
    # The house has no study; tests/history/test_studies.py has who may see and cancel one.
    Case("study", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("study-cancel", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-delete", "get", (SIGN_IN, 404, 403, 403, 403, 200), ("alpha",)),
    Case("project-delete", "post", (SIGN_IN, 404, 403, 403, 403, 200), ("alpha",)),
    Case("project-history", "get", (SIGN_IN, 404, 200, 200, 200, 200), ("alpha",)),
    Case("project-history", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("beta",)),
    Case("project-levels", "get", (SIGN_IN, 404, 200, 200, 200, 200), ("alpha",)),
    Case("project-levels", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("beta",)),
    Case("project-work", "get", (SIGN_IN, 404, 200, 200, 200, 200), ("alpha",)),
    Case("project-work", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("beta",)),
    Case("project-rules", "get", (SIGN_IN, 404, 200, 200, 200, 200)),
    Case("project-rules", "post", (SIGN_IN, 404, 403, 403, 403, 200)),
    Case("project-requests", "get", (SIGN_IN, 404, 200, 200, 200, 200)),
    # The house has no request; tests/ui/test_deadlines.py has what happens to one.
    Case("project-request", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-request", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("request-what-if", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-request-withdraw", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-request-withdraw", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("propose-project", "get", (SIGN_IN, 404, 200, 403, 403, 403)),
    Case("propose-project", "post", (SIGN_IN, 404, 200, 403, 403, 403)),
    # The house has no proposal; tests/ui/test_proposals.py has what happens to one.
    Case("project-proposal", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-proposal", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-proposal-withdraw", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-proposal-withdraw", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("levels-preview", "post", (SIGN_IN, 404, 200, 200, 200, 200)),
    Case("audit", "get", (SIGN_IN, 404, 200, 200, 200, 200)),
    Case("audit-verify", "post", (SIGN_IN, 404, 404, 404, 200, 200)),
    Case("audit-entry", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("1",)),
    Case("audit-entry", "get", (SIGN_IN, 404, 200, 404, 200, 200), ("2",)),
    Case("audit-entry", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999999",)),
    Case("audit-export", "post", (SIGN_IN, 404, 200, 200, 200, 200), data={"format": "csv"}),
    Case("audit-export", "post", (SIGN_IN, 404, 400, 400, 400, 400), data={"format": "xls"}),
    Case("audit-save-search", "post", (SIGN_IN, 404, 302, 302, 302, 302), data={"name": "mine"}),
    Case("audit-delete-search", "post", (SIGN_IN, 404, 404, 404, 404, 404), ("999999",)),
    Case("job-whole-history", "get", EVERYBODY, ("88",)),
    Case("job-whole-history", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("999",)),
    Case("project-whole-history", "get", (SIGN_IN, 404, 200, 200, 200, 200), ("alpha",)),
    Case("project-whole-history", "get", (SIGN_IN, 404, 404, 200, 200, 200), ("beta",)),
    Case("project-whole-history", "get", (SIGN_IN, 404, 404, 404, 404, 404), ("nowhere",)),
    Case("priority-file", "get", (SIGN_IN, 404, 404, 200, 200, 200)),
    Case("priority-file-export", "get", (SIGN_IN, 404, 404, 404, 200, 200)),
    Case("priority-file-export", "get", (SIGN_IN, 404, 404, 200, 200, 200), query="partition=x"),
    Case("priority-file-export", "get", (SIGN_IN, 404, 404, 404, 200, 200), query="partition=y"),
    # dave's files hold x only: tests/ui/test_priority_file_page.py.
    Case("priority-file-what-if", "post", (SIGN_IN, 403, 403, 200, 403, 200)),
    Case("priority-file-propose", "post", (SIGN_IN, 403, 403, 400, 403, 400)),
    Case("priority-file-confirm", "post", (SIGN_IN, 403, 403, 400, 403, 400)),
)
NOT_FOR_ALL = [case for case in CASES if {403, 404} & set(case.statuses)]


def named_pages(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, str | None]]:
    """Address and name of everything there is."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from named_pages(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern):
            yield address, pattern.name


def test_every_page_has_its_row_in_the_table() -> None:
    tested = {case.page for case in CASES}
    untested = [
        address for address, name in named_pages() if not address.startswith(ELSEWHERE) and name not in tested
    ]
    assert not untested, f'no row in CASES for {untested} (docs/development.md, "Add a page")'


def test_every_page_that_takes_posts_is_posted_to_in_the_table(house: House, signed_in: SignedIn) -> None:
    posted = {case.page for case in CASES if case.method == "post"}
    for case in CASES:
        if case.page not in posted and case.page not in {"login", *PROBES}:
            answer = signed_in("ada").post(_address(case, house))
            assert answer.status_code == 405, f"{case.page} takes posts, and no row says from whom"


def _address(case: Case, house: House) -> str:
    args = [arg.format(plan=house.plan.pk) for arg in case.args]
    address = reverse(case.page, args=args)
    return f"{address}?{case.query}" if case.query else address


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_page_is_for_whom_it_is_for(case: Case, house: House, signed_in: SignedIn) -> None:
    answers = {
        role: getattr(signed_in(role), case.method)(_address(case, house), case.data) for role in ROLES
    }
    assert {role: answer.status_code for role, answer in answers.items()} == dict(
        zip(ROLES, case.statuses, strict=True)
    )
    if case.statuses[0] == SIGN_IN and case.page not in {"theme", "language", "logout"}:
        assert answers["anonymous"].url.startswith("/sign-in/?next=")


@pytest.mark.parametrize("case", NOT_FOR_ALL, ids=str)
def test_asking_for_a_part_opens_no_other_door(case: Case, house: House, signed_in: SignedIn) -> None:
    targets = ("partition-now", "policy-form", "project-form")
    assert set(targets) <= {target for targets in PARTS.values() for target in targets}
    for role, status in zip(ROLES, case.statuses, strict=True):
        if status in {403, 404}:
            browser = signed_in(role)
            ask = getattr(browser, case.method)
            found = {
                ask(_address(case, house), case.data, headers=part(target)).status_code for target in targets
            }
            assert found == {status}, role


@pytest.mark.parametrize("role", ROLES[1:])
def test_the_navigation_leads_only_where_one_may_go(role: str, signed_in: SignedIn) -> None:
    browser = signed_in(role)
    page = browser.get("/").content.decode()
    for name in ("approvals", "projects", "audit", "priority-file"):
        address = reverse(name)
        assert (f'href="{address}"' in page) == (browser.get(address).status_code == 200), name


@pytest.mark.parametrize(("role", "seen"), [("vera", False), ("pam", False), ("dave", True), ("otto", True)])
def test_the_policy_tab_is_for_those_who_may_read_it(role: str, seen: bool, signed_in: SignedIn) -> None:
    page = signed_in(role).get("/partitions/x/").content.decode()
    assert ("/partitions/x/policy/" in page) is seen


def test_posts_need_the_token_against_forgery(house: House) -> None:
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(house.people["ada"])
    answer = browser.post("/projects/alpha/", {"size": 1})
    assert answer.status_code == 403
    assert "The form has expired" in answer.content.decode()


def test_a_poll_without_a_session_reloads_its_page(house: House, signed_in: SignedIn) -> None:
    answer = signed_in("anonymous").get("/partitions/x/", headers=part("partition-now"), follow=True)
    assert answer.headers["HX-Refresh"] == "true"
    assert b"<html" not in answer.content


def test_refusals_look_like_the_rest(signed_in: SignedIn) -> None:
    missing = signed_in("vera").get("/audit/")
    assert b"Not here" in missing.content
    assert b"css/frame" in missing.content
    refused = signed_in("otto").post("/projects/alpha/")
    assert b"Your role does not include this" in refused.content
