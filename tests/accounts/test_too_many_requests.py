"""The processor time of one account's changes: counted by address, refused when spent, given back with time."""

from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import resolve
from rest_framework.test import APIClient

from console.accounts import too_many_requests
from console.accounts.too_many_requests import charge_allowance, seconds_until_allowed, wait_for_allowance
from tests import factories

ALPHA = "/api/v1/projects/alpha/"
PER_MINUTE = 6.0


class Time:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_an_allowance_is_spent_and_fills_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Time()
    monkeypatch.setattr(too_many_requests, "time", clock)
    pam, dave = ("pam", "projects/"), ("dave", "projects/")
    assert seconds_until_allowed(pam, PER_MINUTE) == 0
    charge_allowance(pam, 1.5, PER_MINUTE)
    assert seconds_until_allowed(pam, PER_MINUTE) == 0, "a quarter of a minute's is there at once"
    charge_allowance(pam, 1.0, PER_MINUTE)
    assert seconds_until_allowed(pam, PER_MINUTE) == pytest.approx(10.0)
    assert seconds_until_allowed(dave, PER_MINUTE) == 0
    assert seconds_until_allowed(("pam", "pause/"), PER_MINUTE) == 0
    clock.now += 4
    assert seconds_until_allowed(pam, PER_MINUTE) == pytest.approx(6.0)
    clock.now += 3600
    charge_allowance(pam, 2.0, PER_MINUTE)
    assert seconds_until_allowed(pam, PER_MINUTE) == pytest.approx(5.0), (
        "no more than a quarter of a minute's is saved up"
    )


@pytest.fixture
def people(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """pam manages alpha, ada everything; one change spends what there is."""
    cluster = factories.make_cluster()
    factories.make_manager(factories.make_project(cluster))
    settings.GIVEWAY_CHANGES_S = 1e-6
    monkeypatch.setattr(too_many_requests, "HELD_BACK_S", 0)
    return {"pam": factories.make_viewer("pam"), "ada": factories.make_administrator()}


def change(client: Any, urgency: float) -> Any:
    version = client.get(ALPHA).json()["version"]
    body = {"urgency": urgency, "version": version, "reason": "for the test"}
    return client.patch(ALPHA, body, content_type="application/json")


def signed_in(person: Any) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_the_api_refuses_who_has_spent_it(people: dict[str, Any]) -> None:
    pam = signed_in(people["pam"])
    assert change(pam, 2).status_code == 200
    refused = change(pam, 3)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "allowance_spent")
    assert int(refused["Retry-After"]) > 0
    assert refused["Retry-After"] in refused.json()["error"]["message"]
    assert pam.get(ALPHA).json()["urgency"] == 2, "and reading goes on"
    search = {"name": "mine", "query": "actor=pam"}
    other = pam.post("/api/v1/audit/searches/", search, content_type="application/json")
    assert other.status_code == 201, "another address has its own"


def test_a_token_spends_the_same_as_the_session(people: dict[str, Any]) -> None:
    script = APIClient()
    script.credentials(HTTP_AUTHORIZATION=f"Token {factories.make_token(people['pam'])}")
    body = {"urgency": 4, "version": 1, "reason": "for the test"}
    assert script.patch(ALPHA, body, format="json").status_code == 200
    assert change(signed_in(people["pam"]), 5).status_code == 429


def test_who_does_not_heed_the_pause_is_held_back_one_at_a_time(
    people: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that asks without a pause would make up in refusals what it may not do in changes."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:  # another one comes meanwhile, and is not held back
            assert change(signed_in(people["pam"]), 9).status_code == 429

    monkeypatch.setattr("console.accounts.too_many_requests.time.sleep", sleep)
    pam = signed_in(people["pam"])
    assert [change(pam, urgency).status_code for urgency in (2, 3)] == [200, 429]
    assert slept == [0]


def test_a_page_refuses_too(people: dict[str, Any]) -> None:
    pam = signed_in(people["pam"])
    pam.post("/projects/alpha/", {})
    refused = pam.post("/projects/alpha/", {})
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    assert "so this was not done" in refused.content.decode()
    assert pam.get("/projects/alpha/").status_code == 200


def test_forms_have_more_than_the_api(people: dict[str, Any], settings: Any) -> None:
    """The same work at once; then there is some left of the one allowance and none of the other."""
    settings.GIVEWAY_CHANGES_S = PER_MINUTE
    asked = {path: RequestFactory().post(path) for path in ("/projects/alpha/", ALPHA)}
    for path, request in asked.items():
        request.resolver_match = resolve(path)
        key, more = ("pam", request.resolver_match.route), too_many_requests._per_minute(request)
        charge_allowance(key, PER_MINUTE, more)
    waits = [wait_for_allowance(request, people["pam"]) for request in asked.values()]
    assert waits[0] == 0 and waits[1] > 0


def test_administrators_are_never_kept_from_acting(people: dict[str, Any]) -> None:
    ada = signed_in(people["ada"])
    assert [change(ada, urgency).status_code for urgency in (2, 3, 4)] == [200, 200, 200]


def test_a_question_is_no_change(people: dict[str, Any]) -> None:
    """What if? saves nothing: whoever asks a lot is told why there is no answer yet, each time."""
    pam = signed_in(people["pam"])
    asked = {"project": {"code": "alpha", "urgency": 7}}
    answers = [pam.post("/api/v1/what-if/", asked, content_type="application/json") for _ in range(3)]
    assert 429 not in [answer.status_code for answer in answers]
