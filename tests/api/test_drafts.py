"""Drafts over the API: the same rules, reasons and rows in the audit log as on the pages."""

from collections.abc import Callable
from typing import Any

from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.partitions.models import PolicyDraft
from tests.api.conftest import House

DRAFTS, POLICY = "/api/v1/partitions/x/drafts/", "/api/v1/partitions/x/policy/"
Person = Callable[[str], APIClient]


def make(client: APIClient, name: str = "Weekend", **policy: Any) -> dict[str, Any]:
    body = {"name": name, "policy": {"mode": "task", **policy}, "reason": "Let us talk"}
    response = client.post(DRAFTS, body)
    assert response.status_code == 201, response.content
    return dict(response.json())


def test_a_draft_is_kept_read_changed_and_deleted(house: House, as_person: Person) -> None:
    dave = as_person("dave")
    draft = make(dave, grace_s=45)
    at = f"{DRAFTS}{draft['id']}/"
    assert dave.get(at).json() == draft
    assert [row["name"] for row in dave.get(DRAFTS).json()["results"]] == ["Weekend"]
    assert dave.get(POLICY).json()["revision"] == 1, "nothing is in force"
    body = {"name": "Weekends", "policy": {"mode": "user"}, "version": 1, "reason": "Better"}
    changed = as_person("ada").put(at, body).json()
    assert (changed["name"], changed["version"], changed["authors"]) == ("Weekends", 2, ["dave", "ada"])
    assert changed["policy"]["grace_s"] == 30, "a key that is left out takes its default"
    assert dave.put(at, body).status_code == 409
    assert dave.delete(f"{at}?version=1&reason=old").status_code == 409
    assert dave.delete(f"{at}?version=2").status_code == 400, "a reason is asked for"
    assert dave.delete(f"{at}?version=2&reason=old").status_code == 204
    assert not PolicyDraft.objects.exists()
    assert list(
        AuditEntry.objects.filter(action__startswith="policy.draft")
        .order_by("sequence")
        .values_list("actor", "action", "reason")
    ) == [
        ("dave", "policy.draft_saved", "Let us talk"),
        ("ada", "policy.draft_saved", "Better"),
        ("dave", "policy.draft_deleted", "old"),
    ]


def test_a_draft_is_put_in_force_and_taken_back(house: House, as_person: Person) -> None:
    dave = as_person("dave")
    before = dave.get(POLICY).json()
    draft = make(dave)
    words = {"based_on": 1, "version": 1, "reason": "Agreed"}
    at = f"{DRAFTS}{draft['id']}/activate/"
    assert dave.post(at, {**words, "based_on": 9}).status_code == 409
    assert dave.post(at, {**words, "version": 9}).status_code == 409
    now = dave.post(at, words).json()
    assert (now["revision"], now["policy"]["mode"], now["reason"]) == (2, "task", "Agreed")
    assert dave.get(f"{DRAFTS}{draft['id']}/").status_code == 404
    back = "/api/v1/partitions/x/revisions/1/rollback/"
    assert dave.post(back, {"based_on": 1, "reason": "Harm"}).status_code == 409
    after = dave.post(back, {"based_on": 2, "reason": "Harm"}).json()
    assert (after["revision"], after["policy"]["mode"]) == (3, before["policy"]["mode"])


def test_any_two_are_compared(house: House, as_person: Person) -> None:
    dave = as_person("dave")
    draft = make(dave, levels=[{"name": "P0", "min_score": 60, "keyword": "p0"}])
    at = f"/api/v1/partitions/x/compare/?to=draft-{draft['id']}"
    found = {row["path"]: row for row in dave.get(at).json()["differences"]}
    assert found["mode"] == {"path": "mode", "change": "changed", "before": "user_then_task", "after": "task"}
    assert found["levels.P1"]["change"] == "removed"
    assert dave.get("/api/v1/partitions/x/compare/?to=99").status_code == 404


def test_what_is_wrong_stands_at_its_key(house: House, as_person: Person) -> None:
    body = {"name": " ", "policy": {"mode": "chance"}, "reason": "x"}
    fields = as_person("dave").post(DRAFTS, body).json()["error"]["fields"]
    assert "name" in fields
    fields = as_person("dave").post(DRAFTS, {**body, "name": "Odd"}).json()["error"]["fields"]
    assert list(fields) == ["policy.mode"]
    make(as_person("dave"))
    again = {"name": "Weekend", "policy": {"mode": "task"}, "reason": "x"}
    assert list(as_person("dave").post(DRAFTS, again).json()["error"]["fields"]) == ["name"]
