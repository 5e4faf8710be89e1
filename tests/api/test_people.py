"""Accounts of others over the API: who reads, who changes, and what a token may not."""

from collections.abc import Callable

from rest_framework.test import APIClient

from console.accounts.models import Role, User
from console.accounts.tokens import TokenData, make_token
from console.audit.models import AuditEntry
from tests.api.conftest import House
from tests.api.test_setting_up import session

PEOPLE = "/api/v1/people/"


def test_the_list_has_what_the_page_has(house: House, as_person: Callable[[str], APIClient]) -> None:
    make_token(house.people["pam"], TokenData("nightly"), actor="pam")
    otto = as_person("otto")
    told = otto.get(PEOPLE, {"q": "pam"}).json()
    assert told["count"] == 1
    (pam,) = told["results"]
    assert (pam["username"], pam["manages"], pam["administers"]) == ("pam", ["alpha"], [])
    assert pam["signs_in"] == "password"
    assert [token["name"] for token in pam["tokens"]] == ["nightly"]
    assert "digest" not in str(pam)
    assert otto.get(PEOPLE, {"role": "auditor"}).json()["count"] == 1
    assert otto.get(PEOPLE, {"nam": "pam"}).status_code == 400


def test_a_token_changes_much_but_promotes_nobody(house: House, ada: APIClient) -> None:
    place = f"{PEOPLE}vera/"
    answer = ada.patch(place, {"role": "administrator", "reason": "for me"})
    assert answer.status_code == 403 and "promotes nobody" in answer.json()["error"]["message"]
    assert ada.patch(place, {"email": "v@example.org"}).status_code == 400, "a reason is asked for"
    told = ada.patch(place, {"email": "v@example.org", "active": False, "reason": "has left"}).json()
    assert (told["email"], told["active"], told["role"]) == ("v@example.org", False, "viewer")
    row = AuditEntry.objects.filter(action="account.changed").latest("sequence")
    assert (row.actor, row.reason) == ("ada", "has left")


def test_with_a_session_a_role_rises_and_the_last_administrator_stays(house: House) -> None:
    ada = session(house, "ada")
    assert (
        ada.patch(f"{PEOPLE}vera/", {"role": "auditor", "reason": "reads"}, format="json").status_code == 200
    )
    assert User.objects.get(username="vera").role == Role.AUDITOR
    answer = ada.patch(f"{PEOPLE}ada/", {"role": "viewer", "reason": "tired"}, format="json")
    assert answer.status_code == 400 and "role" in answer.json()["error"]["fields"]


def test_sessions_and_tokens_end_with_a_reason(house: House, ada: APIClient) -> None:
    token, _secret = make_token(house.people["vera"], TokenData("nightly"), actor="vera")
    before = User.objects.get(username="vera").session_generation
    assert ada.delete(f"{PEOPLE}vera/sessions/").status_code == 400
    assert ada.delete(f"{PEOPLE}vera/sessions/?reason=lost").status_code == 204
    assert User.objects.get(username="vera").session_generation == before + 1
    assert ada.delete(f"{PEOPLE}pam/tokens/{token.pk}/?reason=lost").status_code == 404, "it is vera's"
    assert ada.delete(f"{PEOPLE}vera/tokens/{token.pk}/?reason=found").status_code == 204
    row = AuditEntry.objects.get(action="account.token_revoked")
    assert (row.actor, row.reason, row.object_id) == ("ada", "found", "vera")
