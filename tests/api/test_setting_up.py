"""The first minutes and the own password over the API: the pages' services, rules and audit rows."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.accounts.models import User
from console.accounts.tokens import TokenData, make_token
from console.audit.models import AuditEntry
from console.core import clock
from console.partitions.models import PartitionAdmin
from console.projects.models import Membership
from console.setup.inviting import accept
from console.setup.models import Examination, Invitation
from tests import factories
from tests.api.conftest import House

INVITATIONS = "/api/v1/invitations/"
PASSWORD = "/api/v1/account/password/"
NORA: dict[str, Any] = {
    "username": "nora",
    "partitions": ["x"],
    "projects": ["alpha"],
    "reason": "Runs the demo",
}


def session(house: House, name: str) -> APIClient:
    client = APIClient()
    client.force_login(house.people[name])
    return client


def test_an_invitation_is_made_used_and_taken_back(house: House, ada: APIClient) -> None:
    answer = ada.post(INVITATIONS, NORA, headers={"Idempotency-Key": "one"})
    assert answer.status_code == 201 and answer.json()["mailed"] is None
    key = answer.json()["link"].partition("key=")[2]
    assert key and key not in str(ada.get(INVITATIONS).content), "the link is told once"
    again = ada.post(INVITATIONS, NORA, headers={"Idempotency-Key": "one"})
    assert again.status_code == 409 and again.json()["error"]["code"] == "answer_not_kept"
    assert PartitionAdmin.objects.filter(partition=house.x, username="nora").exists()
    assert Membership.objects.filter(project=house.alpha, username="nora", role="manager").exists()
    row = AuditEntry.objects.get(action="account.invited")
    assert (row.actor, row.reason) == ("ada", "Runs the demo")
    assert accept(key=key, password="a long enough one").username == "nora"

    other = ada.post(INVITATIONS, {"username": "otis", "reason": "Reads"}).json()["id"]
    assert ada.delete(f"{INVITATIONS}{other}/").status_code == 400, "a reason is asked for"
    assert ada.delete(f"{INVITATIONS}{other}/?reason=Left").status_code == 204
    assert ada.delete(f"{INVITATIONS}{other}/?reason=Left").status_code == 404
    assert AuditEntry.objects.get(action="account.invitation_withdrawn").reason == "Left"


def test_what_an_invitation_may_not_be(house: House, ada: APIClient) -> None:
    wrong: list[dict[str, Any]] = [
        {"username": "vera"},
        {"partitions": ["nowhere"]},
        {"projects": ["none"]},
        {"days": 99},
        {"reason": " "},
    ]
    faults = [ada.post(INVITATIONS, {**NORA, **change}).json()["error"]["fields"].keys() for change in wrong]
    assert [next(iter(each)) for each in faults] == ["username", "partitions", "projects", "days", "reason"]
    promoted = {**NORA, "role": "administrator"}
    refused = ada.post(INVITATIONS, promoted)
    assert refused.status_code == 403 and "viewers only" in refused.json()["error"]["message"]
    assert not Invitation.objects.exists()
    assert session(house, "ada").post(INVITATIONS, promoted).status_code == 201


def test_the_set_up_is_told_and_examined(house: House, ada: APIClient) -> None:
    accounts = [{"name": "optics", "parent": "physics", "users": ["ann", "bob"]}]
    empty: dict[str, Any] = {"levels": [], "quotas": {}, "user_overrides": {}, "task_overrides": {}}
    factories.make_partition(house.cluster, "bare", **empty)
    Examination.objects.create(
        cluster=house.cluster,
        examined_at=clock.now(),
        findings=[{"check": "worker", "level": "OK", "what": "It runs.", "fix": ""}],
        accounts={"kept": True, "fault": "", "accounts": accounts},
    )
    told = ada.get("/api/v1/setup/").json()
    assert told["waits"] is False and told["findings"][0]["check"] == "worker" and told["accounting"] is True
    optics = {"name": "optics", "below": "physics", "users": ["ann", "bob"], "jobs": 0}
    assert optics in told["unknown_accounts"]
    # Slurm makes the letters of accounts small, whatever somebody has typed for the project.
    factories.make_project(house.cluster, "light", slurm_account="Optics")
    assert optics not in ada.get("/api/v1/setup/").json()["unknown_accounts"]
    assert told["done"].keys() == {"cluster", "import", "sign-in", "people", "shadow"}
    assert "bare" in told["partitions_without_levels"]
    assert ada.post("/api/v1/setup/").json()["waits"] is True
    assert Examination.objects.get().waits


def test_the_own_password(house: House, as_person: Callable[[str], APIClient]) -> None:
    vera, browser = as_person("vera"), session(house, "vera")
    change = {"old_password": factories.PASSWORD, "new_password": "quite another one"}
    for wrong, field in (
        ({"old_password": "guess"}, "old_password"),
        ({"new_password": "vera"}, "new_password"),
    ):
        assert list(vera.put(PASSWORD, {**change, **wrong}).json()["error"]["fields"]) == [field]
    other = session(house, "vera")
    assert browser.put(PASSWORD, change).status_code == 204
    assert User.objects.get(username="vera").check_password("quite another one")
    assert browser.get("/api/v1/account/").status_code == 200, "the session that asked goes on"
    assert other.get("/api/v1/account/").status_code == 401, "others end"
    row = AuditEntry.objects.get(action="account.changed")
    assert row.after and row.after["password"] == "changed" and "another one" not in str(row.after)
    read_only = make_token(User.objects.get(username="vera"), TokenData("r", "read", 1), actor="vera")[1]
    reader = APIClient(headers={"Authorization": f"Token {read_only}"})
    assert reader.put(PASSWORD, change).status_code == 403
    User.objects.filter(username="pam").update(password="!")
    assert as_person("pam").put(PASSWORD, change).status_code == 403


@pytest.mark.parametrize("way", ["token", "session"])
def test_guessing_the_own_password_is_counted(
    house: House, as_person: Callable[[str], APIClient], settings: Any, way: str
) -> None:
    settings.AXES_ENABLED, settings.AXES_FAILURE_LIMIT = True, 2
    thief = as_person("vera") if way == "token" else session(house, "vera")
    body = {"new_password": "quite another one"}
    assert [thief.put(PASSWORD, {**body, "old_password": f"g{n}"}).status_code for n in (1, 2)] == [400, 429]
    assert thief.put(PASSWORD, {**body, "old_password": factories.PASSWORD}).status_code == 429
    assert User.objects.get(username="vera").check_password(factories.PASSWORD)
