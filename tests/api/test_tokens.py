"""Signing in: tokens for scripts, sessions for browsers, and what keeps guessers out."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import override_settings
from pytest_django.fixtures import DjangoAssertNumQueries
from rest_framework.test import APIClient

from console.accounts.models import ApiToken, Scope
from console.accounts.services import account_data, change_account
from console.accounts.tokens import MOST_BY_PASSWORD, find_token
from console.api.accounts import TokenView
from console.api.authentication import CHECKPOINTS
from console.audit.models import AuditEntry
from console.core import clock
from tests import factories
from tests.api.conftest import House
from tests.api.test_access import TABLE, address
from tests.factories import NOW, PASSWORD

TOKEN = "/api/v1/token/"
TOKENS = "/api/v1/tokens/"
ACCOUNT = "/api/v1/account/"


def ask(client: APIClient, username: str = "vera", password: str = PASSWORD, **wanted: Any) -> Any:
    how = {key: wanted.pop(key) for key in ("format", "headers") if key in wanted}
    return client.post(TOKEN, {"username": username, "password": password, **wanted}, **how)


@pytest.mark.parametrize("form", ["json", "multipart"])
def test_a_name_and_its_password_are_worth_a_token_that_signs_in(house: House, form: str) -> None:
    client = APIClient()
    response = ask(client, format=form)
    assert response.status_code == 200 and "no-store" in response["Cache-Control"]
    client.credentials(HTTP_AUTHORIZATION=f"Token {response.json()['token']}")
    assert client.get(ACCOUNT).json()["username"] == "vera"


def test_asking_again_gives_another_token_and_the_first_goes_on(house: House) -> None:
    first, second = (ask(APIClient()).json()["token"] for _ in range(2))
    assert first != second
    for token in (first, second):
        assert APIClient(headers={"Authorization": f"Token {token}"}).get(ACCOUNT).status_code == 200


def test_a_revoked_token_is_worth_nothing(house: House, as_person: Callable[[str], APIClient]) -> None:
    client = as_person("vera")
    assert client.delete(TOKEN).status_code == 204
    response = client.get(ACCOUNT)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "authentication_failed")
    assert not ApiToken.objects.filter(user=house.people["vera"]).exists()


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
        ("vera", "account.token_made"),
        ("vera", "account.token_revoked"),
    ]
    assert [rows[1].request_id, rows[4].request_id] == [made["X-Request-ID"], revoked["X-Request-ID"]]
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
    assert ApiToken.objects.filter(user=vera).exists() == (status == 200)


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
    assert response["Retry-After"] == "900"
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
    token = factories.make_token(house.people["ada"])
    change = {"urgency": 9, "version": 1, "reason": "for the test"}
    response = client.patch("/api/v1/projects/alpha/", change, HTTP_AUTHORIZATION=f"Token {token}")
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


# --- Scope, name and end --------------------------------------------------------------------------------------


def client_with(secret: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {secret}")
    return client


@pytest.mark.parametrize(
    ("scope", "wanted"),
    [
        # reading, changing, making a checkpoint token of one's own job, telling of a checkpoint that nobody asked for
        (Scope.READ, (200, 403, 403, 403)),
        (Scope.WRITE, (200, 200, 200, 409)),
        (Scope.CHECKPOINTS, (403, 403, 200, 409)),
    ],
)
def test_a_token_does_no_more_than_its_scope(
    house: House, scope: Scope, wanted: tuple[int, int, int, int]
) -> None:
    ada = house.people["ada"]
    ada.cluster_user = "ann"
    ada.save()
    client = client_with(factories.make_token(ada, scope=scope))
    change = {"urgency": 9, "version": 1, "reason": "for the test"}
    answers = (
        client.get("/api/v1/projects/alpha/"),
        client.patch("/api/v1/projects/alpha/", change),
        client.post("/api/v1/jobs/101/checkpoint-token/"),
        client.post("/api/v1/checkpoints/", {"job_id": "101"}),
    )
    assert tuple(answer.status_code for answer in answers) == wanted
    house.alpha.refresh_from_db()
    assert (house.alpha.urgency == 9) == (scope == Scope.WRITE)


@pytest.mark.parametrize("scope", [Scope.READ, Scope.CHECKPOINTS])
def test_no_address_forgets_the_scope(house: House, scope: Scope) -> None:
    """Every method of every address, not only those that somebody thought of."""
    client = client_with(factories.make_token(house.people["ada"], scope=scope))
    open_to = CHECKPOINTS if scope == Scope.CHECKPOINTS else frozenset()
    for name, arguments, method, _ in TABLE:
        allowed = method == "get" if scope == Scope.READ else (method.upper(), name) in open_to
        if allowed or name in {"api-docs", "api-token"}:
            continue
        answer = getattr(client, method)(address(house, name, arguments, method), {})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "permission_denied"), name
    assert client.delete(TOKEN).status_code == 403


def test_a_token_is_kept_as_a_hash_only(house: House) -> None:
    made = ask(APIClient(), name="nightly", scope="read", days=7).json()
    row = ApiToken.objects.get()
    assert made["token"].startswith("gwt_") and len(made["token"]) == 44
    assert row.digest == hashlib.sha256(made["token"].encode()).hexdigest()
    kept = ApiToken.objects.values().get()
    assert made["token"][4:] not in str(kept)
    assert (row.name, row.scope) == ("nightly", "read")
    assert row.ends_at is not None and (row.ends_at - row.created_at).days == 7
    logged = AuditEntry.objects.get(action="account.token_made").after
    assert logged is not None and (logged["name"], logged["scope"]) == ("nightly", "read")
    assert row.digest not in str(logged), "nor is what it is compared with in the log"


def test_a_token_ends_at_its_end(house: House) -> None:
    made = ask(APIClient(), days=1).json()
    client = client_with(made["token"])
    with time_machine.travel(clock.now() + timedelta(hours=23), tick=False):
        assert client.get(ACCOUNT).status_code == 200
    with time_machine.travel(clock.now() + timedelta(hours=25), tick=False):
        response = client.get(ACCOUNT)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "authentication_failed")


def test_the_digest_of_a_token_is_no_token(house: House) -> None:
    ask(APIClient())
    assert client_with(ApiToken.objects.get().digest).get(ACCOUNT).status_code == 401


def test_when_a_token_was_used_is_written_down_once_a_minute(
    house: House, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    secret = factories.make_token(house.people["vera"])
    with time_machine.travel(NOW, tick=False):
        assert find_token(secret)
    assert ApiToken.objects.get().used_at == NOW
    with time_machine.travel(NOW + timedelta(seconds=59), tick=False), django_assert_num_queries(1):
        assert find_token(secret)
    assert ApiToken.objects.get().used_at == NOW
    with time_machine.travel(NOW + timedelta(seconds=60), tick=False):
        assert find_token(secret)
    assert ApiToken.objects.get().used_at == NOW + timedelta(seconds=60)


def test_a_script_that_asks_at_every_run_leaves_no_heap(house: House) -> None:
    named = factories.make_token(house.people["vera"], "by hand")
    tokens = [ask(APIClient()).json()["token"] for _ in range(MOST_BY_PASSWORD + 2)]
    alive = [client_with(token).get(ACCOUNT).status_code == 200 for token in tokens]
    assert alive == [False] * 2 + [True] * MOST_BY_PASSWORD
    assert client_with(named).get(ACCOUNT).status_code == 200, "nobody's own token is taken"


def test_a_browsers_session_makes_lists_and_revokes(house: House) -> None:
    client = APIClient()
    client.force_login(house.people["vera"])
    made = client.post(TOKENS, {"name": "report", "scope": "read", "days": 30})
    assert made.status_code == 201
    listed = client.get(TOKENS).json()["results"]
    assert [(row["name"], row["scope"], row["used_at"]) for row in listed] == [("report", "read", None)]
    assert "token" not in listed[0]
    again = client.post(TOKENS, {"name": "report"})
    assert (again.status_code, set(again.json()["error"]["fields"])) == (400, {"name"})
    assert client.delete(f"{TOKENS}{made.json()['id']}/").status_code == 204
    assert client_with(made.json()["token"]).get(ACCOUNT).status_code == 401


def test_a_token_makes_no_token(house: House) -> None:
    """Or one that ends today would make one that ends next year."""
    client = client_with(factories.make_token(house.people["ada"]))
    assert client.post(TOKENS, {"name": "child"}).status_code == 403
    assert ApiToken.objects.count() == 1


def test_anothers_tokens_are_not_there(house: House) -> None:
    factories.make_token(house.people["ada"])
    hers = ApiToken.objects.get()
    client = client_with(factories.make_token(house.people["otto"]))
    assert client.get(f"{TOKENS}{hers.pk}/").status_code == 404
    assert client.delete(f"{TOKENS}{hers.pk}/").status_code == 404
    assert [row["name"] for row in client.get(TOKENS).json()["results"]] == ["for the test"]
    assert ApiToken.objects.filter(pk=hers.pk).exists()


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"days": 0}, "days"),
        ({"days": 367}, "days"),
        ({"days": 1.5}, "days"),
        ({"scope": "all"}, "scope"),
        ({"name": "x" * 61}, "name"),
        ({"name": "a\u202eb"}, "name"),
    ],
)
def test_what_makes_no_token_is_told_by_field(house: House, wanted: dict[str, Any], field: str) -> None:
    response = APIClient().post(TOKEN, {"username": "vera", "password": PASSWORD, **wanted})
    assert (response.status_code, set(response.json()["error"]["fields"])) == (400, {field})
    assert not ApiToken.objects.exists()


def test_signing_out_everywhere_ends_sessions_and_leaves_tokens(house: House) -> None:
    browser = APIClient()
    browser.force_login(house.people["vera"])
    client = client_with(factories.make_token(house.people["vera"]))
    assert client.delete("/api/v1/account/sessions/").status_code == 204
    assert browser.get(ACCOUNT).status_code == 401
    assert client.get(ACCOUNT).status_code == 200
    assert AuditEntry.objects.get(action="account.sessions_ended").object_id == "vera"
