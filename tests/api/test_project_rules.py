"""Deadlines, rules and requests over the API: the same services, limits and audit rows as the pages."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.core import clock
from console.projects.models import Project, UrgencyRequest
from tests import factories
from tests.api.conftest import House
from tests.api.test_projects import ALPHA, PROJECTS, fields_of

RULES = "/api/v1/project-rules/"
REQUESTS = "/api/v1/project-requests/"
AsPerson = Callable[[str], APIClient]
STEPS = [{"days_left": 30, "urgency": 2}, {"days_left": 7, "urgency": 4}]


def set_rules(ada: APIClient, **changes: Any) -> Any:
    return ada.put(RULES, {**ada.get(RULES).json(), "steps": STEPS, "reason": "So agreed", **changes})


@pytest.fixture
def december(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 12, 10, 12, tzinfo=UTC))


def test_rules_are_read_and_set_with_version_reason_and_audit_row(house: House, ada: APIClient) -> None:
    response = set_rules(ada, urgency_limit=4, size_grade="bounds", size_max=50)
    assert response.status_code == 200, response.content
    body = ada.get(RULES).json()
    assert (body["steps"], body["urgency_limit"], body["size_max"], body["version"]) == (STEPS, 4, 50, 2)
    row = AuditEntry.objects.get(action="project_rules.changed")
    assert (row.actor, row.reason, row.request_id) == ("ada", "So agreed", response["X-Request-ID"])
    assert set_rules(ada, version=1, hold_days=9).status_code == 409
    assert ada.get(RULES).json() == body


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"steps": [{"days_left": 30, "urgency": 3}, {"days_left": 7, "urgency": 2}]}, "steps"),
        ({"steps": [{"days_left": -1, "urgency": 3}]}, "steps[0].days_left"),
        ({"steps": [{"days_left": 1}]}, "steps[0].urgency"),
        ({"hold_days": 400}, "hold_days"),
        ({"urgency_limit": 0}, "urgency_limit"),
        ({"size_grade": "perhaps"}, "size_grade"),
        ({"size_min": 5, "size_max": 4}, "size_max"),
        ({"reason": ""}, "reason"),
    ],
)
def test_wrong_rules_are_named_and_change_nothing(
    house: House, ada: APIClient, change: dict[str, Any], field: str
) -> None:
    before = ada.get(RULES).json()
    assert list(fields_of(set_rules(ada, **change))) == [field]
    assert ada.get(RULES).json() == before


def test_a_deadline_shows_what_counts_today_and_what_comes_next(
    house: House, ada: APIClient, december: None
) -> None:
    set_rules(ada)
    change = {"urgency": 1, "urgency_by": "deadline", "deadline": "2026-12-31", "version": 1, "reason": "Due"}
    response = ada.patch(ALPHA, change)
    assert response.status_code == 200, response.content
    body = response.json()
    assert (body["urgency"], body["urgency_by"], body["deadline"]) == (1, "deadline", "2026-12-31")
    assert (body["urgency_now"], body["score"]) == (2, 80)
    assert body["next_turn"] == {"day": "2026-12-24", "urgency": 4}
    assert ada.get(PROJECTS).json()["results"][0] == body


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"urgency_by": "deadline"}, "deadline"),
        ({"urgency_by": "moon"}, "urgency_by"),
        ({"deadline": "soon"}, "deadline"),
        ({"deadline": "1990-01-01"}, "deadline"),
    ],
)
def test_what_makes_no_deadline_is_named(
    house: House, ada: APIClient, change: dict[str, Any], field: str
) -> None:
    assert list(fields_of(ada.patch(ALPHA, {**change, "version": 1, "reason": "r"}))) == [field]


def asked(as_person: AsPerson, ada: APIClient) -> int:
    set_rules(ada, urgency_limit=4)
    response = as_person("pam").patch(ALPHA, {"urgency": 9, "version": 1, "reason": "Delivery"})
    assert response.status_code == 200, response.content
    body = response.json()
    assert (body["urgency"], body["waiting_request"]["urgency"]) == (3, 9)
    return int(body["waiting_request"]["id"])


def test_a_managers_urgency_above_the_limit_waits_and_an_administrator_approves(
    house: House, ada: APIClient, as_person: AsPerson
) -> None:
    number = asked(as_person, ada)
    [waiting] = ada.get(f"{REQUESTS}?state=waiting").json()["results"]
    assert (waiting["id"], waiting["project"], waiting["asked_by"], waiting["reason"]) == (
        number, "alpha", "pam", "Delivery",
    )  # fmt: skip
    decision = {"decision": "approve", "reason": "The customer comes"}
    assert as_person("pam").post(f"{REQUESTS}{number}/decision/", decision).status_code == 403
    assert as_person("dave").post(f"{REQUESTS}{number}/decision/", decision).status_code == 403
    assert as_person("vera").post(f"{REQUESTS}{number}/decision/", decision).status_code == 404
    response = ada.post(f"{REQUESTS}{number}/decision/", decision)
    assert (response.status_code, response.json()["state"]) == (200, "approved")
    body = ada.get(ALPHA).json()
    assert (body["urgency"], body["waiting_request"]) == (9, None)
    assert ada.post(f"{REQUESTS}{number}/decision/", decision).status_code == 409


def test_an_administrator_shortens_what_follows_a_deadline(
    house: House, ada: APIClient, as_person: AsPerson
) -> None:
    set_rules(ada, urgency_limit=4)
    day = clock.today() + timedelta(days=20)
    wish = {
        "urgency": 9,
        "urgency_by": "deadline",
        "deadline": day.isoformat(),
        "version": 1,
        "reason": "Delivery",
    }
    number = as_person("pam").patch(ALPHA, wish).json()["waiting_request"]["id"]
    at, reason = f"{REQUESTS}{number}/decision/", {"reason": "Only so long"}
    earlier = (day - timedelta(days=5)).isoformat()
    for wrong in (
        {"decision": "shorten"},
        {"decision": "approve", "until": earlier},
        {"decision": "shorten", "until": day.isoformat()},
    ):
        answer = ada.post(at, wrong | reason)
        assert (answer.status_code, list(fields_of(answer))) == (400, ["until"])
    answer = ada.post(at, {"decision": "shorten", "until": earlier} | reason)
    assert (answer.status_code, answer.json()["state"], answer.json()["deadline"]) == (
        200,
        "approved",
        earlier,
    )
    assert ada.get(ALPHA).json()["deadline"] == earlier


def test_a_manager_withdraws_what_was_asked_for(house: House, ada: APIClient, as_person: AsPerson) -> None:
    number = asked(as_person, ada)
    response = as_person("pam").post(
        f"{REQUESTS}{number}/decision/", {"decision": "withdraw", "reason": "Not needed"}
    )
    assert (response.status_code, response.json()["state"]) == (200, "withdrawn")
    assert Project.objects.get(code="alpha").urgency == 3


def test_requests_of_other_projects_are_not_there(house: House, ada: APIClient, as_person: AsPerson) -> None:
    factories.make_viewer("bea")
    factories.make_manager(house.beta, "bea")
    number = asked(as_person, ada)
    UrgencyRequest.objects.filter(pk=number).update(project=house.beta)
    assert as_person("pam").get(REQUESTS).json()["results"] == []
    assert as_person("pam").get(f"{REQUESTS}{number}/").status_code == 404
    assert as_person("dave").get(f"{REQUESTS}{number}/").json()["project"] == "beta"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"managers": ["pam", "pat"]}, "managers"),
        ({"slurm_account": "beta"}, "slurm_account"),
        ({"size": 99}, "size"),
        ({"tasks": [{"pattern": "a*", "importance": 6}]}, "tasks"),
    ],
)
def test_limits_hold_here_too(
    house: House, ada: APIClient, as_person: AsPerson, change: dict[str, Any], field: str
) -> None:
    set_rules(ada, size_grade="administrators", importance_max=5)
    body = {**change, "version": 1, "reason": "Because"}
    assert list(fields_of(as_person("pam").patch(ALPHA, body))) == [field]
    assert ada.patch(ALPHA, body).status_code == 200


def test_levels_and_work_of_a_project_are_told(house: House, ada: APIClient, as_person: AsPerson) -> None:
    levels = as_person("pam").get(f"{ALPHA}levels/").json()["partitions"]
    assert [each["partition"] for each in levels] == ["x", "y"]
    assert levels[0]["members"][0]["origin"] == "alpha: 40 ÷ 1 × 3 = 120 → P0"
    work = as_person("pam").get(f"{ALPHA}work/?days=1").json()
    assert (work["stopped"]["runs"], work["helped"]) == (0, 0)
    assert work["ran"]["words"]
    for days in ("0", "8", "x", "٣"):
        assert list(fields_of(ada.get(f"{ALPHA}work/?days={days}"))) == ["days"]
