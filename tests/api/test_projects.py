"""Changing projects: through the services, with a reason, and not over somebody else's change."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.projects.models import Project
from tests.api.conftest import House
from tests.api.test_details import HOSTILE

NOTHING_MORE = {"one_request": False, "elastic_min": None, "elastic_wish": None}

PROJECTS = "/api/v1/projects/"
ALPHA = f"{PROJECTS}alpha/"
GAMMA = {
    "code": "gamma",
    "name": "Gamma",
    "size": 10,
    "grade": 2,
    "urgency": 4,
    "slurm_account": "gamma",
    "members": ["ann"],
    "managers": ["pam"],
    "tasks": [{"pattern": "g_eval*", "importance": 2}, {"pattern": "g_run*", "level": "P0"}],
    "reason": "A new customer",
}


def fields_of(response: Any) -> dict[str, list[str]]:
    """The fields at fault of a refused request."""
    assert response.status_code == 400, response.content
    return dict(response.json()["error"]["fields"])


def test_a_project_is_created_with_people_tasks_and_an_audit_row(house: House, ada: APIClient) -> None:
    response = ada.post(PROJECTS, GAMMA)
    assert response.status_code == 201, response.content
    created = response.json()
    assert (created["score"], created["version"], created["members"], created["managers"]) == (
        20.0,
        1,
        ["ann"],
        ["pam"],
    )
    assert created["tasks"] == [
        {"pattern": "g_eval*", "importance": 2.0, "level": None, **NOTHING_MORE},
        {"pattern": "g_run*", "importance": 1.0, "level": "P0", **NOTHING_MORE},
    ]
    assert ada.get(f"{PROJECTS}gamma/").json() == created
    row = AuditEntry.objects.get(action="project.created", project="gamma")
    assert (row.actor, row.reason, row.request_id) == ("ada", "A new customer", response["X-Request-ID"])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"size": 0}, "size"),
        ({"size": -1}, "size"),
        ({"size": "large"}, "size"),
        ({"grade": None}, "grade"),
        ({"urgency": 1e300}, "urgency"),
        ({"code": "a b"}, "code"),
        ({"code": "alpha"}, "code"),
        ({"code": "c" * 65}, "code"),
        ({"name": ""}, "name"),
        ({"members": ["ann", "ann"]}, "members"),
        ({"members": "ann"}, "members"),
        ({"members": ["ann", 7.5, {}]}, "members[2]"),
        ({"managers": ["p am"]}, "managers"),
        ({"tasks": [{"importance": 1}]}, "tasks[0].pattern"),
        ({"tasks": [{"pattern": "a*", "importance": 0}]}, "tasks"),
        ({"tasks": [{"pattern": "a*"}, {"pattern": "a*"}]}, "tasks"),
        ({"reason": "  "}, "reason"),
        ({"name": "nul \0"}, "name"),
    ],
)
def test_a_wrong_value_is_named_and_changes_nothing(
    house: House, ada: APIClient, change: dict[str, Any], field: str
) -> None:
    rows = AuditEntry.objects.count()
    assert field in fields_of(ada.post(PROJECTS, {**GAMMA, **change}))
    assert not Project.objects.filter(code="gamma").exists()
    assert AuditEntry.objects.count() == rows


def test_half_a_character_is_refused(house: House, ada: APIClient) -> None:
    body = json.dumps({**GAMMA, "name": "half \ud83d", "members": ["\udc00"]})
    faults = fields_of(ada.generic("POST", PROJECTS, body, content_type="application/json"))
    assert set(faults) == {"name", "members[0]"}


def test_a_key_that_stands_twice_is_refused(house: House, ada: APIClient) -> None:
    body = '{"size": 1, "size": 2, "tasks": [{"pattern": "a", "pattern": "b"}]}'
    faults = fields_of(ada.generic("POST", PROJECTS, body, content_type="application/json"))
    assert set(faults) == {"size", "tasks[0].pattern"}


def test_what_was_read_can_be_written_back_and_changes_nothing(house: House, ada: APIClient) -> None:
    read = ada.get(ALPHA).json()
    rows = AuditEntry.objects.count()
    response = ada.put(ALPHA, {**read, "reason": "Just looking"})
    assert (response.status_code, response.json()) == (200, read)
    assert AuditEntry.objects.count() == rows


def test_a_put_sets_the_whole(house: House, ada: APIClient) -> None:
    whole = {
        "code": "alpha",
        "name": "A",
        "size": 1,
        "grade": 1,
        "urgency": 1,
        "version": 1,
        "reason": "Start again",
    }
    changed = ada.put(ALPHA, whole).json()
    assert (changed["version"], changed["members"], changed["tasks"], changed["slurm_account"]) == (
        2,
        [],
        [],
        "",
    )


def test_a_patch_leaves_what_it_does_not_name(house: House, ada: APIClient) -> None:
    before = ada.get(ALPHA).json()
    response = ada.patch(ALPHA, {"urgency": 5, "version": 1, "reason": "Delivery on Friday"})
    after = response.json()
    assert (after["urgency"], after["score"], after["version"]) == (5.0, 200.0, 2)
    same = {"code", "name", "size", "grade", "slurm_account", "members", "managers", "tasks"}
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    row = AuditEntry.objects.get(action="project.changed", project="alpha")
    assert row.before is not None and row.after is not None
    assert (row.before["urgency"], row.after["urgency"], row.reason) == (3, 5, "Delivery on Friday")


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_an_old_version_is_a_conflict_and_changes_nothing(house: House, ada: APIClient, method: str) -> None:
    assert ada.patch(ALPHA, {"urgency": 5, "version": 1, "reason": "First"}).status_code == 200
    late = {**ada.get(ALPHA).json(), "urgency": 1, "version": 1, "reason": "Late"}
    response = (
        ada.delete(f"{ALPHA}?version=1&reason=Late")
        if method == "delete"
        else getattr(ada, method)(ALPHA, late)
    )
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (409, "changed_since")
    assert "you saw version 1, now it is 2" in error["message"]
    assert ada.get(ALPHA).json()["urgency"] == 5


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"urgency": 5, "reason": "r"}, "version"),
        ({"urgency": 5, "version": 1}, "reason"),
        ({"urgency": 5, "version": "one", "reason": "r"}, "version"),
        ({"urgency": 5, "version": 10**12, "reason": "r"}, "version"),
        ({"code": "omega", "version": 1, "reason": "r"}, "code"),
    ],
)
def test_a_change_says_what_it_is_based_on_and_why(
    house: House, ada: APIClient, body: dict[str, Any], field: str
) -> None:
    assert list(fields_of(ada.patch(ALPHA, body))) == [field]


@pytest.mark.parametrize(
    ("query", "field"), [("", "version"), ("?version=1", "reason"), ("?version=x&reason=r", "version")]
)
def test_a_deletion_says_so_too(house: House, ada: APIClient, query: str, field: str) -> None:
    assert field in fields_of(ada.delete(f"{ALPHA}{query}"))
    assert Project.objects.filter(code="alpha").exists()


def test_a_deleted_project_is_gone_and_remembered(house: House, ada: APIClient) -> None:
    assert ada.delete(f"{ALPHA}?version=1&reason=Delivered").status_code == 204
    assert ada.get(ALPHA).status_code == 404
    row = AuditEntry.objects.get(action="project.deleted", project="alpha")
    assert row.before is not None
    assert (row.before["size"], row.reason) == (40, "Delivered")


def test_a_manager_changes_the_own_project_in_the_own_name(
    house: House, as_person: Callable[[str], APIClient]
) -> None:
    response = as_person("pam").patch(ALPHA, {"urgency": 4, "version": 1, "reason": "The demo is near"})
    assert response.status_code == 200
    assert AuditEntry.objects.get(action="project.changed").actor == "pam"


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.isprintable()])
def test_a_hostile_name_is_stored_and_returned_as_it_is(house: House, ada: APIClient, text: str) -> None:
    response = ada.post(PROJECTS, {**GAMMA, "name": text, "reason": text})
    assert response.status_code == 201, response.content
    assert ada.get(f"{PROJECTS}gamma/").json()["name"] == text
    assert ada.get("/api/v1/audit/?project=gamma").json()["results"][0]["reason"] == text


@pytest.mark.parametrize("text", [text for text in HOSTILE if not text.isprintable()])
def test_a_name_that_would_disturb_a_terminal_is_refused(house: House, ada: APIClient, text: str) -> None:
    assert list(fields_of(ada.post(PROJECTS, {**GAMMA, "name": text}))) == ["name"]
