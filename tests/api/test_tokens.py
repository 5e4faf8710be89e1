"""Signing in: tokens for scripts, sessions for browsers, and what keeps guessers out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

from console.accounts.services import account_data, change_account
from console.api.account import TokenView
from console.audit.models import AuditEntry
from tests import factories
from tests.api.conftest import House
from tests.factories import PASSWORD

TOKEN = "/api/v1/token/"
ACCOUNT = "/api/v1/account/"


def ask(client: APIClient, username: str = "vera", password: str = PASSWORD, **how: Any) -> Any:
    return client.post(TOKEN, {"username": username, "password": password}, **how)


@pytest.mark.parametrize("form", ["json", "multipart"])
def test_a_name_and_its_password_are_worth_a_token_that_signs_in(house: House, form: str) -> None:
    client = APIClient()
    response = ask(client, format=form)
    assert response.status_code == 200 and "no-store" in response["Cache-Control"]
    client.credentials(HTTP_AUTHORIZATION=f"Token {response.json()['token']}")
    assert client.get(ACCOUNT).json()["username"] == "vera"


def test_asking_again_returns_the_same_token(house: House) -> None:
    assert ask(APIClient()).json() == ask(APIClient()).json()


def test_a_revoked_token_is_worth_nothing(house: House, as_person: Callable[[str], APIClient]) -> None:
    client = as_person("vera")
    assert client.delete(TOKEN).status_code == 204
    response = client.get(ACCOUNT)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "authentication_failed")
    assert not Token.objects.filter(user=house.people["vera"]).exists()


def test_revoking_twice_is_no_error(house: House) -> None:
    client = APIClient()
    client.force_authenticate(house.people["vera"])
    assert [client.delete(TOKEN).status_code for _ in range(2)] == [204, 204]


def test_the_audit_log_knows_of_tokens(house: House) -> None:
    client = APIClient()
    made = ask(client)
    ask(client)
    client.credentials(HTTP_AUTHORIZATION=f"Token {made.json()['token']}")
    revoked = client.delete(TOKEN)
    rows = AuditEntry.objects.filter(object_type="account", object_id="vera").order_by("sequence")
    assert list(rows.values_list("actor", "action")) == [
        ("vera", "account.signed_in"),
        ("vera", "account.token_made"),
        ("vera", "account.signed_in"),
        ("vera", "account.token_revoked"),
    ]
    assert [rows[1].request_id, rows[3].request_id] == [made["X-Request-ID"], revoked["X-Request-ID"]]
    assert made.json()["token"] not in str(list(rows.values()))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"password": "another long password"}, 401),
        ({"active": False}, 401),
        ({"email": "vera@example.org"}, 200),
    ],
)
def test_a_token_does_not_outlive_the_password_or_the_account(
    house: House, as_person: Callable[[str], APIClient], change: dict[str, Any], status: int
) -> None:
    client = as_person("vera")
    vera = house.people["vera"]
    password = change.pop("password", None)
    data = replace(account_data(vera), **change)
    change_account(actor="ada", user=vera, data=data, password=password)
    assert client.get(ACCOUNT).status_code == status
    assert Token.objects.filter(user=vera).exists() == (status == 200)


@pytest.mark.parametrize(
    ("username", "password"),
    [("vera", "wrong"), ("nobody", PASSWORD), ("retired", PASSWORD), ("vera", PASSWORD + " ")],
)
def test_a_wrong_pair_says_nothing_about_which_half_is_wrong(
    house: House, username: str, password: str
) -> None:
    factories.make_user("retired", is_active=False)
    response = ask(APIClient(), username, password)
    assert response.status_code == 400
    assert response.json() == {
        "error": {"code": "invalid", "message": "No active account has this name and password.", "fields": {}}
    }


def test_who_was_switched_off_is_out_with_a_token_too(
    house: House, as_person: Callable[[str], APIClient]
) -> None:
    client = as_person("vera")
    house.people["vera"].is_active = False
    house.people["vera"].save(update_fields=["is_active"])
    assert client.get(ACCOUNT).status_code == 401


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"username", "password"}),
        ({"username": "vera"}, {"password"}),
        ({"username": "a\0b", "password": "c"}, {"username"}),
    ],
)
def test_half_a_pair_names_what_is_missing(house: House, body: dict[str, str], fields: set[str]) -> None:
    response = APIClient().post(TOKEN, body)
    assert (response.status_code, set(response.json()["error"]["fields"])) == (400, fields)


@override_settings(AXES_ENABLED=True, AXES_FAILURE_LIMIT=3)
def test_guessing_locks_the_name_out_in_the_apis_own_words(house: House) -> None:
    client = APIClient()
    statuses = [ask(client, password=f"guess {i}").status_code for i in range(4)]
    assert statuses[:2] == [400, 400] and statuses[-1] == 429
    response = ask(client)
    assert response.status_code == 429, "the right password must not help while the name is locked"
    assert response["Content-Type"] == "application/json"
    assert response.json()["error"]["code"] == "locked_out"
    assert ask(client, "pam").status_code == 200, "another name from the same address is not locked"


@override_settings(AXES_ENABLED=True, AXES_FAILURE_LIMIT=3)
def test_a_success_forgets_the_failures_before_it(house: House) -> None:
    client = APIClient()
    for _ in range(3):
        assert ask(client, password="wrong").status_code == 400
        assert ask(client).status_code == 200


def test_tries_are_throttled_per_address(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from rest_framework.throttling import ScopedRateThrottle

    monkeypatch.setattr(ScopedRateThrottle, "THROTTLE_RATES", {TokenView.throttle_scope: "3/min"})
    client = APIClient()
    assert [ask(client, "nobody").status_code for _ in range(4)] == [400, 400, 400, 429]
    response = ask(client)
    assert (response.status_code, response.json()["error"]["code"]) == (429, "throttled")
    assert int(response["Retry-After"]) > 0


def test_who_invents_addresses_is_throttled_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rest_framework.throttling import ScopedRateThrottle

    monkeypatch.setattr(ScopedRateThrottle, "THROTTLE_RATES", {TokenView.throttle_scope: "3/min"})
    client = APIClient()
    invented = [{"X-Forwarded-For": f"10.0.0.{i}"} for i in range(4)]
    assert [ask(client, "nobody", headers=headers).status_code for headers in invented] == [
        400,
        400,
        400,
        429,
    ]


def test_a_session_reads_without_more(house: House) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(house.people["vera"])
    assert client.get(ACCOUNT).json()["username"] == "vera"


def test_a_session_writes_with_the_csrf_token_only(house: House) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(house.people["ada"])
    change = {"urgency": 9, "version": 1, "reason": "for the test"}
    refused = client.patch("/api/v1/projects/alpha/", change)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "permission_denied")
    assert "CSRF" in refused.json()["error"]["message"]
    house.alpha.refresh_from_db()
    assert house.alpha.urgency == 3
    script = client.get("/api/v1/docs/?script=").content.decode()
    secret = script.split('request.headers["X-CSRFTOKEN"] = "')[1].split('"')[0]
    accepted = client.patch("/api/v1/projects/alpha/", change, HTTP_X_CSRFTOKEN=secret)
    assert accepted.status_code == 200, accepted.content


def test_a_token_writes_without_csrf(house: House) -> None:
    client = APIClient(enforce_csrf_checks=True)
    token = Token.objects.create(user=house.people["ada"])
    change = {"urgency": 9, "version": 1, "reason": "for the test"}
    response = client.patch("/api/v1/projects/alpha/", change, HTTP_AUTHORIZATION=f"Token {token.key}")
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("role", "wanted"),
    [
        ("vera", {"role": "viewer", "administers": [], "manages": []}),
        ("pam", {"role": "viewer", "administers": [], "manages": ["alpha"]}),
        ("dave", {"role": "viewer", "administers": ["x"], "manages": []}),
        ("ada", {"role": "administrator", "administers": [], "manages": []}),
    ],
)
def test_the_own_account_says_what_one_is(
    house: House, as_person: Callable[[str], APIClient], role: str, wanted: dict[str, Any]
) -> None:
    account = as_person(role).get(ACCOUNT).json()
    assert {key: account[key] for key in wanted} == wanted
    assert account["username"] == account["cluster_user"] == role
    assert ("config.import" in account["permissions"]) == (role == "ada")
    assert ("partitions.change_policy" in account["permissions"]) == (role in {"ada", "dave"})
