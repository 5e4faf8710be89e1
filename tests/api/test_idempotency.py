"""A write that is sent again is done once, also when both arrive at the same moment."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from rest_framework.test import APIClient

from console.api import parsers, repeats
from console.api.models import IdempotencyKey
from console.audit.models import AuditEntry
from console.projects.models import Project
from tests.api.conftest import House
from tests.plugins.database import SharedDatabase

PROJECTS = "/api/v1/projects/"
ALPHA = f"{PROJECTS}alpha/"
GAMMA = {"code": "gamma", "name": "Gamma", "size": 1, "grade": 1, "urgency": 1, "reason": "for the test"}
URGENT = {"urgency": 5, "version": 1, "reason": "for the test"}


def under(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_the_second_time_gets_the_first_answer(house: House, ada: APIClient) -> None:
    first = ada.post(PROJECTS, GAMMA, headers=under("a"))
    again = ada.post(PROJECTS, dict(reversed(GAMMA.items())), headers=under("a"))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert (first.get("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (None, "true")
    assert AuditEntry.objects.filter(action="project.created", object_id="gamma").count() == 1
    assert ada.post(PROJECTS, GAMMA).status_code == 400, "without a key it is a request of its own"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("patch", ALPHA, URGENT),
        ("put", "/api/v1/pause/", {"reason": "Maintenance"}),
        ("delete", f"{ALPHA}?version=1&reason=test", None),
        (
            "patch",
            "/api/v1/partitions/x/policy/",
            {"policy": {"grace_s": 9}, "based_on": 1, "reason": "test"},
        ),
    ],
)
def test_whatever_the_method(house: House, ada: APIClient, method: str, path: str, body: Any) -> None:
    first, again = (getattr(ada, method)(path, body, headers=under("a")) for _ in range(2))
    assert first.status_code == again.status_code and first.status_code < 300
    assert again.content == first.content and again["Idempotency-Replayed"] == "true"


def test_a_repeated_change_heeds_no_tag_that_it_has_itself_outdated(house: House, ada: APIClient) -> None:
    headers = {**under("a"), "If-Match": ada.get(ALPHA)["ETag"]}
    first, again = (ada.patch(ALPHA, URGENT, headers=headers) for _ in range(2))
    assert [first.status_code, again.status_code] == [200, 200]
    assert again["ETag"] == first["ETag"]


@pytest.mark.parametrize(("path", "body"), [(ALPHA, {**URGENT, "urgency": 4}), (f"{PROJECTS}beta/", URGENT)])
def test_another_request_under_the_key(house: House, ada: APIClient, path: str, body: Any) -> None:
    ada.patch(ALPHA, URGENT, headers=under("a"))
    other = ada.patch(path, body, headers=under("a"))
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert sorted(Project.objects.values_list("urgency", flat=True)) == [1, 5]


def test_a_key_is_ones_own(house: House, ada: APIClient, as_person: Callable[[str], APIClient]) -> None:
    ada.patch(ALPHA, URGENT, headers=under("a"))
    pam = as_person("pam").patch(ALPHA, URGENT, headers=under("a"))
    assert pam.status_code == 409, "the version is not 1 any more: it was looked at"


def test_what_failed_has_kept_nothing(house: House, ada: APIClient) -> None:
    refused = ada.post(PROJECTS, {**GAMMA, "size": -1}, headers=under("a"))
    assert refused.status_code == 400 and not IdempotencyKey.objects.exists()
    assert ada.post(PROJECTS, GAMMA, headers=under("a")).status_code == 201


def test_a_defect_undoes_the_change_and_the_key(
    house: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may die between the change and the answer: then there is neither."""

    def die(*args: Any) -> None:
        raise RuntimeError("gone")

    monkeypatch.setattr(repeats, "_keep", die)
    ada.raise_request_exception = False
    assert ada.post(PROJECTS, GAMMA, headers=under("a")).status_code == 500
    assert not Project.objects.filter(code="gamma").exists() and not IdempotencyKey.objects.exists()


def test_it_is_kept_for_a_day(house: House, ada: APIClient) -> None:
    with time_machine.travel(timezone.now() - timedelta(hours=25), tick=False):
        ada.patch(ALPHA, URGENT, headers=under("a"))
        ada.patch(f"{PROJECTS}beta/", URGENT, headers=under("b"))
    assert ada.patch(ALPHA, URGENT, headers=under("a")).status_code == 409, "the day is over"
    with time_machine.travel(timezone.now() - timedelta(hours=23), tick=False):
        ada.patch(ALPHA, {**URGENT, "version": 2, "urgency": 7}, headers=under("c"))
    ada.patch(f"{PROJECTS}beta/", {**URGENT, "version": 2, "urgency": 6}, headers=under("d"))
    assert sorted(IdempotencyKey.objects.values_list("key", flat=True)) == ["c", "d"]
    again = ada.patch(ALPHA, {**URGENT, "version": 2, "urgency": 7}, headers=under("c"))
    assert (again.status_code, again["Idempotency-Replayed"]) == (200, "true")


@pytest.mark.parametrize("key", ["", "k" * 201, "a\x7fb", "ä"])
def test_what_is_no_key(house: House, ada: APIClient, key: str) -> None:
    answer = ada.patch(ALPHA, URGENT, headers=under(key))
    assert (answer.status_code, set(answer.json()["error"]["fields"])) == (400, {"Idempotency-Key"})
    assert Project.objects.get(code="alpha").urgency == 3


def test_a_secret_is_not_written_down(house: House, as_person: Callable[[str], APIClient]) -> None:
    from console.cluster.models import Job

    Job.objects.filter(job_id="88").update(user="vera")
    vera = as_person("vera")
    path = "/api/v1/jobs/88/checkpoint-token/"
    first = vera.post(path, headers=under("a"))
    assert first.status_code == 200
    again = vera.post(path, headers=under("a"))
    assert (again.status_code, again.json()["error"]["code"]) == (409, "answer_not_kept")
    assert first.json()["token"] not in str(list(IdempotencyKey.objects.values()))


def test_who_may_not_any_more_is_not_answered_from_memory(
    house: House, as_person: Callable[[str], APIClient]
) -> None:
    ada = as_person("ada")
    ada.patch(ALPHA, URGENT, headers=under("a"))
    house.people["ada"].is_active = False
    house.people["ada"].save()
    assert ada.patch(ALPHA, URGENT, headers=under("a")).status_code == 401


def test_what_was_sent_is_checked_before_anybody_has_to_wait(
    house: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long body is read and checked first; the key, and with it the database's lock, is taken after that."""
    seen: list[int] = []
    checked = parsers.valid

    def valid(*values: Any) -> None:
        seen.append(IdempotencyKey.objects.count())
        checked(*values)

    monkeypatch.setattr("console.api.base.valid", valid)
    assert ada.patch(ALPHA, URGENT, headers=under("a")).status_code == 200
    assert ada.post(PROJECTS, GAMMA, headers=under("b")).status_code == 201
    assert seen == [0, 1] and IdempotencyKey.objects.count() == 2


def test_who_comes_second_gets_the_answer_of_the_first(
    house: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked for the key and not found it."""
    ada.patch(ALPHA, URGENT, headers=under("a"))
    monkeypatch.setattr("console.api.base.first_answer", lambda *_: None)
    again = ada.patch(ALPHA, URGENT, headers=under("a"))
    assert (again.status_code, again["Idempotency-Replayed"]) == (200, "true")
    other = ada.patch(ALPHA, {**URGENT, "urgency": 9}, headers=under("a"))
    assert other.status_code == 422


PEOPLE = "from tests import factories; factories.make_cluster(); factories.make_administrator()"
SENDER = """
import time
from rest_framework.test import APIClient
from console.accounts.models import User
from console.projects import services
create = services.create_project
def slowly(**values):
    print("doing it")
    time.sleep(1.5)
    return create(**values)
services.create_project = slowly
client = APIClient()
client.force_authenticate(User.objects.get())
answer = client.post("/api/v1/projects/", {body}, headers={{"Idempotency-Key": "a"}})
print(answer.status_code, answer.get("Idempotency-Replayed"), answer.json()["code"])
"""
COUNT = "from console.audit.models import AuditEntry as A; print(A.objects.filter(object_id='gamma').count())"


def test_two_at_once(shared_database: SharedDatabase) -> None:
    """Two processes, the same request: one does it, the other waits for that and has the same answer."""
    shared_database.python(PEOPLE)
    for _ in range(2):
        shared_database.start(SENDER.format(body=GAMMA))
    printed = shared_database.go()
    answers = sorted(text[text.find("201") :] for text in printed)
    assert answers == ["201 None gamma\n", "201 true gamma\n"], printed
    assert "".join(printed).count("doing it") == 1
    assert shared_database.python(COUNT).split()[-1] == "1"
