"""The audit log in the browser: filters, pages by number, what changed in words, and only what is one's own."""

import re
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from django.test import Client

from console.audit.models import AuditEntry
from console.audit.registry import ACTIONS
from console.audit.services import Context, Subject, record
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, part


def rows(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="row-(\d+)"', page)]


@pytest.fixture
def many(house: House) -> int:
    """More rows than a page."""
    with transaction.atomic():
        for i in range(60):
            record(
                actor="giveway",
                action="cluster.degraded",
                subject=Subject("cluster", "dev", f"cluster dev {i}", cluster="dev"),
                reason=f"look {i}",
            )
    return AuditEntry.objects.count()


def test_a_row_opens_to_what_it_changed(house: House, ada: Client) -> None:
    text = words_of(ada.get("/audit/?project=alpha").content.decode())
    assert "ada changed the project alpha." in text
    assert "urgency: 3 → 5" in text
    assert "Reason about alpha" in text


def test_a_new_thing_is_added_once_with_its_fields_underneath(house: House, ada: Client) -> None:
    subject = Subject("project", "gamma", "gamma", cluster="dev", project="gamma")
    fields = {"code": "gamma", "size": 4, "grade": 2}
    changes = {
        "project.created": (None, fields, "added: code: gamma size: 4 grade: 2"),
        "project.deleted": (fields, None, "removed: code: gamma size: 4 grade: 2"),
        "project.changed": ({"size": 4}, {"size": 4, "grade": 2}, "grade: added 2"),
    }
    for action, (before, after, told) in changes.items():
        with transaction.atomic():
            row = record(actor="ada", action=action, subject=subject, before=before, after=after, reason="so")
        for address in (f"/audit/?action={action}&project=gamma", f"/audit/{row.sequence}/"):
            assert told in words_of(ada.get(address).content.decode()), address
            assert words_of(ada.get(address).content.decode()).count(told.split(":")[0]) < 4, address


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ("actor=ada", {"about x", "about alpha"}),
        ("actor=nobody", set()),
        ("by=people", {"about x", "about alpha"}),
        ("by=giveway&text=about", set()),
        ("by=nonsense", set()),
        ("action=policy.activated", {"about x"}),
        ("partition=x", {"about x"}),
        ("project=alpha", {"about alpha"}),
        ("text=ALPH", {"about alpha"}),
        ("text=about x", {"about x"}),
        ("job=88", set()),
        ("since=2020-01-01T00:00&actor=ada", {"about x", "about alpha"}),
        ("until=2020-01-01T00:00", set()),
        ("action=no.such.action", set()),
        ("since=yesterday", set()),
    ],
)
def test_filters(query: str, reasons: set[str], house: House, ada: Client) -> None:
    page = ada.get(f"/audit/?{query}").content.decode()
    shown = {entry.reason for entry in AuditEntry.objects.filter(sequence__in=rows(page))}
    assert shown - {""} == reasons, "signing in has no reason"


def test_a_filter_that_makes_no_sense_is_said(house: House, ada: Client) -> None:
    assert "Enter a valid date/time." in ada.get("/audit/?since=yesterday").content.decode()


def test_pages_go_by_number_and_new_rows_move_nothing(many: int, ada: Client) -> None:
    many = AuditEntry.objects.count()
    first = ada.get("/audit/").content.decode()
    assert rows(first) == list(range(many, many - 50, -1))
    older = re.search(r'href="(\?before=\d+)"', first)
    assert older
    second = ada.get(f"/audit/{older.group(1)}", headers=part("audit-rows")).content.decode()
    assert rows(second) == list(range(many - 50, 0, -1))
    assert "<html" not in second
    assert "Newest" in second


@pytest.mark.parametrize("before", ["x", "-1", "0", "9" * 30, ""])
def test_a_place_that_makes_no_sense_is_no_fault(before: str, house: House, ada: Client) -> None:
    assert ada.get("/audit/", {"before": before}).status_code == 200


@pytest.mark.parametrize(("role", "reasons"), [("pam", {"about alpha"}), ("dave", {"about x"})])
def test_one_sees_ones_own_rows_only(role: str, reasons: set[str], house: House, signed_in: SignedIn) -> None:
    page = signed_in(role).get("/audit/?actor=ada").content.decode()
    assert {entry.reason for entry in AuditEntry.objects.filter(sequence__in=rows(page))} == reasons
    assert "Rows about your own partitions and projects." in page
    assert "Verify the chain" not in page


def test_every_known_action_can_be_told(house: House, ada: Client) -> None:
    """Each sentence of the registry finds the facts it speaks of."""
    with transaction.atomic():
        for name in ACTIONS:
            record(
                actor="ada",
                action=name,
                subject=Subject(
                    "thing", "1", "a thing", cluster="dev", partition="x", project="alpha", job_id="101"
                ),
                before={"a": None, "b": True, "c": [], "d": {"e": 1}},
                after={"a": 1, "b": False, "c": ["f"], "d": {}},
                reason="because",
                context=Context(cycle=1, plan=1, policy_revision=1),
            )
    page = ada.get("/audit/?text=a thing").content.decode()
    assert len(rows(page)) == min(50, len(ACTIONS))
    assert "{" not in words_of(page[page.index('id="audit-rows"') :])
    assert "b: yes → no" in words_of(page)


def test_the_chain_is_verified_on_request(house: House, ada: Client) -> None:
    page = ada.post("/audit/verify/").content.decode()
    assert "whole and in order" in page


def test_a_broken_chain_is_named(house: House, ada: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_auditentry'"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP TRIGGER "{name}"')
        cursor.execute("UPDATE audit_auditentry SET reason = 'something else' WHERE sequence = 1")
    page = ada.post("/audit/verify/").content.decode()
    assert "The log is not whole." in page
    assert re.search(r"row 1\b", page, re.IGNORECASE)


def test_times_are_local_to_the_installation(house: House, ada: Client, settings: object) -> None:
    entry = AuditEntry.objects.order_by("sequence").first()
    assert entry is not None
    assert f"{entry.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}" in ada.get("/audit/").content.decode()
    assert entry.at <= datetime.now(UTC)


def test_rows_that_say_the_same_one_after_the_other_are_told_as_one(house: House, ada: Client) -> None:
    with transaction.atomic():
        for i in range(5):
            subject = Subject("node", f"n{i}", f"n{i}", cluster="dev")
            record(actor="giveway", action="cluster.degraded", subject=subject, reason="the same")
    page = ada.get("/audit/").content.decode()
    newest = AuditEntry.objects.latest("sequence").sequence
    assert rows(page)[:5] == list(range(newest, newest - 5, -1)), "each is there, and can be unfolded"
    assert "5 ×" in words_of(page) and f"rows {newest - 4} to {newest}" in words_of(page)
    assert f'id="fold-{newest}">' in page, "folded"
    assert f'id="fold-{newest}" open>' in ada.get("/audit/?open=1").content.decode()


def test_two_alike_or_other_reasons_are_not_folded(house: House, ada: Client, many: int) -> None:
    assert "log-fold" not in ada.get("/audit/").content.decode()


def test_what_people_did_is_looked_for_in_a_bounded_number_of_rows(
    house: House, ada: Client, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.audit.search.LOOK_THROUGH", 20)
    page = words_of(ada.get("/audit/?by=people").content.decode())
    assert f"looked through rows {many - 19} to {many}" in page and "Look further back" in page
