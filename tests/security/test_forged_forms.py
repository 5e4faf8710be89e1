"""Forms that somebody else's page sends, and forms that are sent again."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from console.audit.models import AuditEntry
from tests.api.test_access import BODIES, TABLE
from tests.security.attacked import WRITES, address_of, api_address
from tests.ui.conftest import House
from tests.ui.test_access import CASES, Case

POSTS = [case for case in CASES if case.method == "post" and case.statuses[-1] != 404]
API_WRITES = [row for row in TABLE if row[2] in WRITES and row[0] not in {"api-token", "api-checkpoints"}]


def victim(house: House, name: str = "ada") -> Client:
    """A browser in which somebody is signed in, at a page of somebody else."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(house.people[name])
    return browser


@pytest.mark.parametrize("case", POSTS, ids=str)
def test_no_form_is_taken_without_its_token(case: Case, house: House) -> None:
    browser = victim(house)
    before = AuditEntry.objects.count()
    answer = browser.post(address_of(case, house), case.data)
    assert answer.status_code == 403 and "The form has expired" in answer.content.decode()
    assert AuditEntry.objects.count() == before


@pytest.mark.parametrize("case", POSTS, ids=str)
def test_no_form_is_taken_from_another_site_even_with_a_token(case: Case, house: House) -> None:
    browser = victim(house)
    browser.get("/account/")
    token = browser.cookies["csrftoken"].value
    sent = {**case.data, "csrfmiddlewaretoken": token}
    before = AuditEntry.objects.count()
    answer = browser.post(address_of(case, house), sent, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert AuditEntry.objects.count() == before


@pytest.mark.parametrize("row", API_WRITES, ids=lambda row: f"{row[2]} {row[0]}")
def test_no_change_by_the_api_rides_on_a_session(row: Any, house: House) -> None:
    name, _, method, _ = row
    ask = getattr(victim(house), method)
    before = AuditEntry.objects.count()
    body = BODIES.get((name, method), {})
    answer = ask(api_address(row, house), body, content_type="application/json")
    assert answer.status_code == 403 and "CSRF" in answer.json()["error"]["message"]
    assert AuditEntry.objects.count() == before


def test_a_form_of_html_does_not_reach_the_api(house: House) -> None:
    """Where a page elsewhere can send anything without asking, the API does not listen: the bodies are JSON."""
    browser = Client()
    browser.force_login(house.people["ada"])
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"):
        answer = browser.generic("POST", "/api/v1/projects/", b"code=evil", content_type=kind)
        assert answer.status_code == 415


def test_a_pause_sent_twice_counts_once(house: House, ada: Client) -> None:
    for _ in range(2):
        ada.post(reverse("pause-partition", args=["x"]), {"reason": "again"})
    assert AuditEntry.objects.filter(action="pause.set").count() == 1


def test_a_change_by_the_api_sent_twice_is_refused_the_second_time(house: House) -> None:
    from tests import factories

    client = Client(headers={"Authorization": f"Token {factories.make_token(house.people['ada'])}"})
    sent = {"urgency": 9, "version": 1, "reason": "again"}
    send = [client.patch("/api/v1/projects/alpha/", sent, content_type="application/json") for _ in range(2)]
    assert [answer.status_code for answer in send] == [200, 409]
