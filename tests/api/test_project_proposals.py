"""Projects proposed over the API: the same services, bounds and audit rows as the pages."""

from typing import Any

from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.projects.models import Project
from tests import needed
from tests.api.conftest import House
from tests.api.test_project_rules import AsPerson
from tests.api.test_projects import fields_of

PROPOSALS = "/api/v1/project-proposals/"
GAMMA: dict[str, Any] = {
    "code": "gamma", "name": "Gamma", "size": 10, "grade": 2, "urgency": 1, "members": ["cy"], "managers": ["pam"],
    "share": "x: 4 nodes", "reason": "New money",
}  # fmt: skip


def test_proposed_changed_and_accepted(house: House, as_person: AsPerson, ada: APIClient) -> None:
    pam = as_person("pam")
    answer = pam.post(PROPOSALS, GAMMA)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["code"], made["state"], made["asked_by"], made["became"]) == (
        "gamma",
        "waiting",
        "pam",
        None,
    )
    assert made["project"]["size"] == 10 and made["project"]["members"] == ["cy"]
    at = f"{PROPOSALS}{made['id']}/"
    assert [each["id"] for each in ada.get(f"{PROPOSALS}?state=waiting").json()["results"]] == [made["id"]]
    sent = {"decision": "accept", "changes": {"size": 8}, "reason": "Smaller"}
    assert pam.post(f"{at}decision/", sent).status_code == 403
    done = ada.post(f"{at}decision/", sent)
    assert done.status_code == 200, done.content
    assert (done.json()["state"], done.json()["became"]["size"]) == ("approved", 8)
    assert pam.get(at).json() == done.json()
    assert Project.objects.get(code="gamma").size == 8
    row = AuditEntry.objects.get(action="project_proposal.approved")
    assert (row.actor, row.reason, row.request_id) == ("ada", "Smaller", done["X-Request-ID"])
    assert ada.post(f"{at}decision/", sent).status_code == 409


def test_rejected_and_withdrawn(house: House, as_person: AsPerson, ada: APIClient) -> None:
    ends = {"reject": ada, "withdraw": as_person("pam")}
    for decision, who in ends.items():
        at = f"{PROPOSALS}{needed.proposed(house.cluster).pk}/decision/"
        assert fields_of(who.post(at, {"decision": decision})) == {"reason": ["This field is required."]}
        wrong = who.post(at, {"decision": decision, "changes": {"size": 1}, "reason": "x"})
        assert list(fields_of(wrong)) == ["changes"]
        done = who.post(at, {"decision": decision, "reason": "No room"})
        assert (done.status_code, done.json()["decision_reason"]) == (200, "No room")
    assert not Project.objects.filter(code="gamma").exists()


def test_what_is_wrong_is_named_and_three_wait_at_most(house: House, as_person: AsPerson) -> None:
    pam = as_person("pam")
    assert list(fields_of(pam.post(PROPOSALS, {**GAMMA, "size": 1e12, "code": "a b"}))) == ["code", "size"]
    assert list(fields_of(pam.post(PROPOSALS, {**GAMMA, "privileges": "all"}))) == ["privileges"]
    for number in range(3):
        assert pam.post(PROPOSALS, {**GAMMA, "code": f"p{number}"}).status_code == 201
    refused = pam.post(PROPOSALS, GAMMA)
    assert "3 of your proposals wait already" in fields_of(refused)["code"][0]


def test_who_has_nothing_to_do_with_it(house: House, as_person: AsPerson) -> None:
    at = f"{PROPOSALS}{needed.proposed(house.cluster).pk}/"
    sent = {"decision": "withdraw", "reason": "x"}
    statuses = {
        who: (as_person(who).get(at).status_code, as_person(who).post(f"{at}decision/", sent).status_code)
        for who in ("vera", "dave", "otto")
    }
    assert statuses == {"vera": (404, 404), "dave": (200, 403), "otto": (200, 403)}
