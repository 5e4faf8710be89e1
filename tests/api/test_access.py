"""Who gets what from every address of the API: one table, and a walk that finds what the table forgot."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.api import urls
from tests.api.conftest import ROLES, House, offered_methods

Row = tuple[str, dict[str, Any], str, tuple[int, int, int, int, int, int]]

EVERYBODY = (401, 200, 200, 200, 200, 200)
SETS_POLICY = {"policy": {"mode": "task"}, "based_on": 1, "reason": "for the test"}
NEW_PROJECT = {
    "code": "gamma",
    "name": "Gamma",
    "size": 1,
    "grade": 1,
    "urgency": 1,
    "reason": "for the test",
}
ALPHA = {
    **NEW_PROJECT,
    "code": "alpha",
    "name": "Alpha",
    "slurm_account": "alpha",
    "size": 40,
    "managers": ["pam"],
    "version": 1,
}
DECIDES = {"decision": "approve", "seen": "x", "reason": "for the test"}
FILE = {"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": []}
IMPORTS = {"config": FILE, "dry_run": True, "reason": "for the test"}

# Address, its arguments, method; then what anonymous, viewer, alpha's manager, x's administrator, auditor and
# administrator are answered. 404 = not there for you; 403 = you may read it but not do this.
TABLE: list[Row] = [
    ("api-account", {}, "get", EVERYBODY),
    ("api-token", {}, "post", (400, 400, 400, 400, 400, 400)),
    ("api-token", {}, "delete", (401, 204, 204, 204, 204, 204)),
    ("api-sessions", {}, "delete", (401, 204, 204, 204, 204, 204)),
    ("api-account-password", {}, "put", (401, 400, 400, 400, 400, 400)),
    ("api-setup", {}, "get", (401, 404, 404, 404, 404, 200)),
    ("api-setup", {}, "post", (401, 404, 404, 404, 404, 200)),
    ("api-invitations-list", {}, "get", (401, 404, 404, 404, 404, 200)),
    ("api-invitations-list", {}, "post", (401, 404, 404, 404, 404, 201)),
    ("api-invitations-detail", {"pk": 999999}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-invitations-detail", {"pk": 999999}, "delete", (401, 404, 404, 404, 404, 400)),
    ("api-people-list", {}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-people-detail", {"username": "vera"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-people-detail", {"username": "vera"}, "patch", (401, 404, 404, 404, 403, 400)),
    ("api-people-sessions", {"username": "vera"}, "delete", (401, 404, 404, 404, 403, 400)),
    ("api-people-token", {"username": "vera", "pk": 999999}, "delete", (401, 404, 404, 404, 403, 404)),
    ("api-tokens-list", {}, "get", EVERYBODY),
    # Made with a session only; these come with a token.
    ("api-tokens-list", {}, "post", (401, 403, 403, 403, 403, 403)),
    # Only one's own are there.
    ("api-tokens-detail", {"pk": 999999}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-tokens-detail", {"pk": 999999}, "delete", (401, 404, 404, 404, 404, 404)),
    ("api-cluster", {}, "get", EVERYBODY),
    # Who acts on nothing gets an empty list; tests/api/test_needs.py has who gets what.
    ("api-needs", {}, "get", EVERYBODY),
    ("api-nodes-list", {}, "get", EVERYBODY),
    ("api-nodes-detail", {"name": "n1"}, "get", EVERYBODY),
    ("api-jobs-list", {}, "get", EVERYBODY),
    ("api-jobs-detail", {"job_id": "101"}, "get", EVERYBODY),
    ("api-job-why", {"job_id": "88"}, "get", EVERYBODY),
    ("api-checkpoint-token", {"job_id": "101"}, "post", (401, 403, 403, 403, 403, 403)),
    ("api-checkpoints", {}, "post", (401, 400, 400, 400, 400, 400)),
    # With a measurement's own token only; tests/power has what it tells.
    ("api-measurements", {}, "post", (400, 400, 400, 400, 400, 400)),
    ("api-power", {"name": "x"}, "get", EVERYBODY),
    ("api-power", {"name": "x"}, "post", (401, 403, 403, 400, 403, 400)),
    ("api-power-rule", {"name": "x"}, "get", EVERYBODY),
    ("api-power-rule", {"name": "x"}, "put", (401, 403, 403, 400, 403, 400)),
    ("api-power-incidents", {"name": "x"}, "get", EVERYBODY),
    ("api-power-drivers", {"name": "x"}, "post", (401, 403, 403, 400, 403, 400)),
    ("api-power-losses", {"name": "x"}, "get", EVERYBODY),
    # There is none in this house; tests/power has what is done about one.
    ("api-power-incident-drain", {"name": "x", "pk": 9}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-power-incident-put-back", {"name": "x", "pk": 9}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-power-incident-leave", {"name": "x", "pk": 9}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-power-measurements", {"name": "x"}, "get", EVERYBODY),
    # Nobody has switched measuring on in the house.
    ("api-power-measurements", {"name": "x"}, "post", (401, 403, 403, 409, 403, 409)),
    ("api-my-jobs", {}, "get", EVERYBODY),
    ("api-forecasts", {}, "get", EVERYBODY),
    # By project only what one may see; tests/insights has it.
    ("api-insights", {}, "get", EVERYBODY),
    ("api-insights-file", {"question": "waits"}, "get", EVERYBODY),
    # The house has no forecast; tests/forecasts/test_pages.py has what it says.
    ("api-job-forecast", {"job_id": "101"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-job-start", {"job_id": "101"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-job-stop-chance", {"job_id": "88"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-starts", {}, "get", EVERYBODY),
    # Each for himself; tests/ui/test_expected_starts.py has what is answered.
    ("api-start-questions", {}, "post", (401, 400, 400, 400, 400, 400)),
    ("api-start-question", {"pk": 999999}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-plans-list", {}, "get", EVERYBODY),
    ("api-plans-detail", {"pk": "plan"}, "get", EVERYBODY),
    ("api-plans-snapshot", {"pk": "plan"}, "get", EVERYBODY),
    # The house's plan is being carried out: whoever may decide is told so.
    ("api-plans-decision", {"pk": "plan"}, "get", EVERYBODY),
    ("api-plans-decision", {"pk": "plan"}, "post", (401, 403, 403, 409, 403, 409)),
    ("api-incidents-list", {}, "get", EVERYBODY),
    # The house has no incident; tests/api/test_incidents.py has who may close one.
    ("api-incidents-detail", {"pk": 999999}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-incidents-close", {"pk": 999999}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-pause", {}, "get", EVERYBODY),
    ("api-pause", {}, "put", (401, 403, 403, 403, 403, 200)),
    ("api-pause", {}, "delete", (401, 403, 403, 403, 403, 204)),
    ("api-partition-pause", {"name": "x"}, "get", EVERYBODY),
    ("api-partition-pause", {"name": "x"}, "put", (401, 403, 403, 200, 403, 200)),
    ("api-partition-pause", {"name": "y"}, "put", (401, 403, 403, 403, 403, 200)),
    ("api-partition-pause", {"name": "x"}, "delete", (401, 403, 403, 204, 403, 204)),
    ("api-partition-tally", {"name": "x"}, "get", EVERYBODY),
    ("api-partition-timeline", {"name": "x"}, "get", EVERYBODY),
    ("api-partition-lanes", {"name": "x"}, "get", EVERYBODY),
    ("api-partition-lanes", {"name": "nowhere"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-partition-squares", {"name": "x"}, "get", EVERYBODY),
    ("api-partition-squares", {"name": "nowhere"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-partitions-list", {}, "get", EVERYBODY),
    ("api-partitions-detail", {"name": "x"}, "get", EVERYBODY),
    ("api-policy", {"name": "x"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-policy", {"name": "y"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-policy", {"name": "x"}, "put", (401, 404, 404, 200, 403, 200)),
    ("api-policy", {"name": "y"}, "put", (401, 404, 404, 404, 403, 200)),
    ("api-policy", {"name": "x"}, "patch", (401, 404, 404, 200, 403, 200)),
    ("api-policy", {"name": "y"}, "patch", (401, 404, 404, 404, 403, 200)),
    # Without the policy: what holds for one's own jobs.
    ("api-quotas", {"name": "x"}, "get", EVERYBODY),
    ("api-quotas", {"name": "nowhere"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-quota-times", {"name": "x"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-quota-times", {"name": "y"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-revisions-list", {"name": "x"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-revisions-list", {"name": "y"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-revisions-detail", {"name": "x", "number": 1}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-revisions-detail", {"name": "y", "number": 1}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-revisions-rollback", {"name": "x", "number": 1}, "post", (401, 404, 404, 400, 403, 400)),
    ("api-drafts-list", {"name": "x"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-drafts-list", {"name": "y"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-drafts-list", {"name": "x"}, "post", (401, 404, 404, 201, 403, 201)),
    ("api-drafts-list", {"name": "y"}, "post", (401, 404, 404, 404, 403, 201)),
    # The house has no draft; tests/api/test_drafts.py has what happens to one.
    ("api-drafts-detail", {"name": "x", "pk": "plan"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-drafts-detail", {"name": "x", "pk": "plan"}, "put", (401, 404, 404, 404, 404, 404)),
    ("api-drafts-detail", {"name": "x", "pk": "plan"}, "delete", (401, 404, 404, 404, 404, 404)),
    ("api-drafts-activate", {"name": "x", "pk": "plan"}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-partition-hindsight", {"name": "x"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-partition-hindsight", {"name": "y"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-partition-hindsight", {"name": "x"}, "post", (401, 404, 404, 201, 403, 201)),
    ("api-partition-hindsight", {"name": "y"}, "post", (401, 404, 404, 404, 403, 201)),
    ("api-compare", {"name": "x"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-compare", {"name": "y"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-projects-list", {}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-projects-list", {}, "post", (401, 404, 403, 403, 403, 201)),
    ("api-projects-detail", {"code": "alpha"}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-projects-detail", {"code": "beta"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-projects-detail", {"code": "alpha"}, "put", (401, 404, 200, 403, 403, 200)),
    ("api-projects-detail", {"code": "beta"}, "put", (401, 404, 404, 403, 403, 200)),
    ("api-projects-detail", {"code": "alpha"}, "patch", (401, 404, 200, 403, 403, 200)),
    ("api-projects-detail", {"code": "beta"}, "patch", (401, 404, 404, 403, 403, 200)),
    ("api-projects-detail", {"code": "alpha"}, "delete", (401, 404, 403, 403, 403, 204)),
    ("api-projects-detail", {"code": "beta"}, "delete", (401, 404, 404, 403, 403, 204)),
    ("api-project-levels", {"code": "alpha"}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-project-levels", {"code": "beta"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-project-work", {"code": "alpha"}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-project-work", {"code": "beta"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-project-rules", {}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-project-rules", {}, "put", (401, 404, 403, 403, 403, 400)),
    ("api-project-requests-list", {}, "get", (401, 404, 200, 200, 200, 200)),
    # The house has no request; tests/api/test_project_rules.py has what happens to one.
    ("api-project-requests-detail", {"pk": "plan"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-project-requests-decision", {"pk": "plan"}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-project-proposals-list", {}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-project-proposals-list", {}, "post", (401, 404, 400, 403, 403, 403)),
    # The house has no proposal; tests/api/test_project_proposals.py has what happens to one.
    ("api-project-proposals-detail", {"pk": "plan"}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-project-proposals-decision", {"pk": "plan"}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-audit-list", {}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-audit-export", {}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-audit-chain", {}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-audit-chain", {}, "post", (401, 404, 404, 404, 200, 200)),
    ("api-audit-searches", {}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-audit-searches", {}, "post", (401, 404, 201, 201, 201, 201)),
    ("api-audit-search", {"pk": "plan"}, "delete", (401, 404, 404, 404, 404, 404)),
    ("api-job-history", {"job_id": "88"}, "get", EVERYBODY),
    ("api-project-history", {"code": "alpha"}, "get", (401, 404, 200, 200, 200, 200)),
    ("api-project-history", {"code": "beta"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-audit-detail", {"sequence": "x"}, "get", (401, 404, 404, 200, 200, 200)),
    ("api-audit-detail", {"sequence": "y"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-audit-detail", {"sequence": "alpha"}, "get", (401, 404, 200, 404, 200, 200)),
    ("api-audit-detail", {"sequence": "beta"}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-audit-detail", {"sequence": "cluster"}, "get", (401, 404, 404, 404, 200, 200)),
    # No cluster has been seen in the house: whoever may ask is told so.
    ("api-what-if", {}, "post", (401, 404, 404, 409, 403, 409)),
    ("api-studies-list", {}, "get", EVERYBODY),
    ("api-studies-list", {}, "post", (401, 404, 404, 201, 403, 201)),
    # The house has no study; tests/history/test_studies.py has who may see and cancel one.
    ("api-studies-detail", {"pk": 999999}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-study-file", {"pk": 999999}, "get", (401, 404, 404, 404, 404, 404)),
    ("api-studies-cancel", {"pk": 999999}, "post", (401, 404, 404, 404, 404, 404)),
    ("api-config", {}, "get", (401, 404, 404, 404, 200, 200)),
    ("api-config", {}, "post", (401, 403, 403, 200, 403, 200)),
    ("api-schema", {}, "get", EVERYBODY),
    ("api-docs", {}, "get", (302, 200, 200, 200, 200, 200)),
    ("api-no-such-address", {}, "get", (401, 404, 404, 404, 404, 404)),
]
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("api-policy", "put"): SETS_POLICY,
    ("api-policy", "patch"): SETS_POLICY,
    ("api-revisions-rollback", "post"): {"based_on": 1, "reason": "for the test"},
    ("api-drafts-list", "post"): {"name": "Weekend", "policy": {"mode": "task"}, "reason": "for the test"},
    ("api-projects-list", "post"): NEW_PROJECT,
    ("api-projects-detail", "put"): ALPHA,
    ("api-projects-detail", "patch"): {"urgency": 9, "version": 1, "reason": "for the test"},
    ("api-config", "post"): IMPORTS,
    ("api-what-if", "post"): {"partitions": [{"name": "x", "mode": "task"}]},
    ("api-studies-list", "post"): {"partitions": [{"name": "x", "mode": "task"}], "days": 7},
    ("api-partition-hindsight", "post"): {"days": 30},
    ("api-plans-decision", "post"): DECIDES,
    ("api-audit-searches", "post"): {"name": "mine", "query": "partition=x"},
    ("api-invitations-list", "post"): {"username": "nora", "reason": "for the test"},
    ("api-pause", "put"): {"reason": "for the test"},
    ("api-partition-pause", "put"): {},
}


def address(house: House, name: str, arguments: dict[str, Any], method: str) -> str:
    """The path, with the row of the house where an argument only hints at it."""
    found = dict(arguments)
    if found.get("pk") == "plan":
        found["pk"] = house.plan.pk
    if "sequence" in found:
        found["sequence"] = house.entries[found["sequence"]].sequence
    query = "?version=1&reason=test" if (name, method) == ("api-projects-detail", "delete") else ""
    return reverse(name, kwargs=found) + query


@pytest.mark.parametrize(
    ("name", "arguments", "method", "role", "wanted"),
    [
        pytest.param(
            name, arguments, method, role, status, id=f"{role}-{method}-{name}-{'-'.join(arguments.values())}"
        )
        for name, arguments, method, statuses in [
            (name, {k: str(v) for k, v in arguments.items()}, method, statuses)
            for name, arguments, method, statuses in TABLE
        ]
        for role, status in zip(ROLES, statuses, strict=True)
    ],
)
def test_every_role_gets_what_the_table_says(
    house: House,
    as_person: Callable[[str], APIClient],
    name: str,
    arguments: dict[str, str],
    method: str,
    role: str,
    wanted: int,
) -> None:
    client = as_person(role)
    if name == "api-docs" and role != "anonymous":
        client.force_login(house.people[role])
    body = BODIES.get((name, method))
    if body is ALPHA:
        body = {**body, "code": arguments["code"]}
    response = getattr(client, method)(address(house, name, arguments, method), body)
    assert response.status_code == wanted, response.content
    if wanted == 401:
        assert response["WWW-Authenticate"] == "Token"
    if wanted >= 400:
        error = response.json()["error"]
        assert set(error) == {"code", "message", "fields"} and error["message"]


def test_the_table_knows_every_address_and_method() -> None:
    """A new address, or a new method of an old one, must come with a row above."""
    offered = {(pattern.name, method) for pattern in urls.urlpatterns for method in offered_methods(pattern)}
    # The last one answers 404 to everything before it looks at the method.
    offered.add(("api-no-such-address", "get"))
    tabled = {(name, method) for name, _, method, _ in TABLE}
    assert offered == tabled, (
        f'no row, or one too many: {offered ^ tabled} (docs/development.md, "Add a page")'
    )


def test_no_method_writes_without_a_row_of_its_own(ada: APIClient, house: House) -> None:
    """What is only read refuses writing, whoever asks."""
    read_only = {name for name, *_ in TABLE} - {name for name, _, method, _ in TABLE if method != "get"}
    for name, arguments, method, _ in TABLE:
        if name in read_only - {"api-docs", "api-no-such-address"}:
            path = address(house, name, arguments, method)
            assert [getattr(ada, m)(path, {}).status_code for m in ("post", "put", "patch", "delete")] == [
                405
            ] * 4
