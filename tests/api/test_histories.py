"""The order and the pages of a history over the API; what stands in one: tests/ui/test_audit_export.py."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from console.audit.services import Context, Subject, record
from console.core import clock
from console.reports import histories
from console.steering.models import Checkpoint
from tests import factories
from tests.api.conftest import House

AT = "/api/v1/jobs/88/history/"


@pytest.fixture
def told(house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """More than two pages about job 88, of every kind."""
    monkeypatch.setattr(histories, "EACH", 5)
    run = {"job_id": "88", "run_start": 1, "run_restarts": 0, "user": "bob"}
    seen = {"asked_at": factories.NOW, "acknowledged_at": clock.now(), "via": "api"}
    Checkpoint.objects.create(plan=house.plan, cluster=house.cluster, **run, **seen)
    look(house, 12)
    return house


@transaction.atomic
def look(house: House, times: int) -> None:
    """Rows about job 88."""
    for i in range(times):
        record(
            actor="giveway",
            action="action.verified",
            subject=Subject("job", "88@1#0", f"look {i}", cluster="dev", partition="x", job_id="88"),
            context=Context(plan=house.plan.pk),
        )


def pages(ada: APIClient, goes_on: str, edge: str, **asked: Any) -> list[dict[str, Any]]:
    """All moments, page by page; `goes_on` names where the next page begins, `edge` is the parameter for it."""
    found: list[dict[str, Any]] = []
    for _ in range(20):
        page = ada.get(AT, asked).json()
        found += page["moments"]
        if page[goes_on] is None:
            return found
        asked[edge] = page[goes_on]
    raise AssertionError("the pages do not end")


def test_the_oldest_come_first_when_asked_page_by_page(told: House, ada: APIClient) -> None:
    newest = pages(ada, "older", "until")
    assert len([moment for moment in newest if moment["row"]]) == 12
    assert {moment["kind"] for moment in newest} == {"audit", "plan", "checkpoint"}
    assert pages(ada, "older", "until", ordering="-at") == newest
    oldest = pages(ada, "newer", "since", ordering="at")
    times = [datetime.fromisoformat(moment["at"]) for moment in oldest]
    assert times == sorted(times)
    assert sorted(oldest, key=str) == sorted(newest, key=str), "the same, the other way round"
    assert [moment["row"] for moment in oldest if moment["row"]] == [
        moment["row"] for moment in reversed(newest) if moment["row"]
    ]


def test_more_at_one_moment_than_a_page_reads_do_not_stop_the_pages(
    told: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = clock.now() + timedelta(minutes=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    look(told, 9)
    monkeypatch.setattr(clock, "now", lambda: later + timedelta(minutes=1))
    look(told, 1)
    for goes_on, edge, ordering in (("newer", "since", "at"), ("older", "until", "-at")):
        rows = [m["row"] for m in pages(ada, goes_on, edge, ordering=ordering) if m["row"]]
        assert len(rows) == len(set(rows)), ordering
        assert len(rows) == 12 + histories.EACH + 1 + 1, "as many as a page reads of the nine, and all others"


def test_both_ends_hold_in_both_orders(told: House, ada: APIClient) -> None:
    soon = (clock.now() + timedelta(hours=1)).isoformat()
    long_ago = "2001-01-01T00:00:00Z"
    for ordering in ("at", "-at"):
        assert ada.get(AT, {"ordering": ordering, "since": soon}).json()["moments"] == []
        assert ada.get(AT, {"ordering": ordering, "until": long_ago}).json()["moments"] == []
        assert ada.get(AT, {"ordering": ordering, "since": long_ago, "until": soon}).json()["moments"]


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ({"ordering": "row"}, "Must be one of -at, at."),
        ({"since": "soon"}, "Must be a time with its zone"),
        ({"until": "2026-03-02T12:00:00"}, "Must be a time with its zone"),
        ({"order": "at"}, "No such query parameter here"),
    ],
)
def test_what_is_wrong_is_named(house: House, ada: APIClient, asked: dict[str, str], fault: str) -> None:
    answer = ada.get(AT, asked)
    assert answer.status_code == 400
    assert fault in str(answer.json())
    assert next(iter(asked)) in str(answer.json())
