"""Searching the log: every row that fits is found exactly once, whatever the filter and the page, with bounded work."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.audit import search
from console.audit.forms import LogFilter
from console.audit.models import AuditEntry
from console.audit.search import AuditSearch, file_stem, place_in_log, read_page
from console.audit.services import Context, Subject
from tests.audit.rows import append, append_many
from tests.factories import NOW

pytestmark = pytest.mark.django_db
EVERYTHING = AuditEntry.objects.all


def found(wanted: AuditSearch) -> list[int]:
    """All pages, one after the other."""
    numbers: list[int] = []
    before: int | None = None
    for _ in range(1000):
        page = read_page(EVERYTHING(), wanted, before)
        numbers += [entry.sequence for entry in page.entries]
        if page.older is None:
            return numbers
        assert before is None or page.older < before, "a page that leads to itself"
        before = page.older
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        (AuditSearch(object_type="plan", object_id="77"), 1),
        (AuditSearch(object_type="plan"), 230),
        (AuditSearch(object_id="77"), 1),
        (AuditSearch(plan=77), 1),
        (AuditSearch(plan=77, actor="ada"), 0),
        (AuditSearch(job="101"), 230),
        (AuditSearch(request="none"), 0),
        (AuditSearch(since=NOW + timedelta(seconds=31), until=NOW + timedelta(seconds=150)), 120),
        (AuditSearch(since=NOW + timedelta(seconds=31), partition="x", job="101"), 200),
        (AuditSearch(until=NOW + timedelta(seconds=60), actor="giveway"), 60),
        (AuditSearch(), 230),
    ],
)
def test_pages_have_each_row_once(wanted: AuditSearch, number: int) -> None:
    append_many(230)
    numbers = found(wanted)
    assert len(numbers) == number
    assert numbers == sorted(set(numbers), reverse=True)


def test_rows_of_one_moment_are_all_on_the_pages() -> None:
    """Times do not tell rows apart: the number does."""
    append_many(120)
    from console.audit import triggers

    triggers.remove(connection)
    AuditEntry.objects.update(at=NOW)
    triggers.install(connection)
    assert found(AuditSearch(since=NOW, until=NOW)) == list(range(120, 0, -1))


@pytest.mark.parametrize(
    "words",
    ["deadline moved", "DEADLINE", "项目", "gpu-hours lost", 'a "quoted" word', "victim-9", "100%", "a_b"],
)
def test_words_are_found_wherever_they_stand(words: str) -> None:
    append(
        reason="The deadline moved",
        before={"note": 'a "quoted" word', "名": "项目"},
        after={"gpu-hours lost": 3, "victims": ["victim-9"], "x": "100% a_b"},
    )
    append(reason="Other", before={"urgency": 1}, after={"urgency": 2, "y": "1000 axb"})
    assert found(AuditSearch(text=words)) == [1]


def test_words_are_looked_for_in_portions_that_lead_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LOOK_THROUGH", 40)
    append_many(130)
    page = read_page(EVERYTHING(), AuditSearch(text="plan 5"), None)
    assert (page.entries, page.looked_from, page.looked_to, page.older) == ([], 130, 91, 91)
    # 5 and 50 to 59
    assert found(AuditSearch(text="plan 5")) == [*range(59, 49, -1), 5]
    assert found(AuditSearch(text="nowhere")) == []


def test_words_about_few_rows_are_looked_for_in_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LOOK_THROUGH", 10)
    append_many(100)
    page = read_page(EVERYTHING(), AuditSearch(text="plan 7", object_id="7"), None)
    assert [entry.sequence for entry in page.entries] == [7]
    assert page.looked_to is None


@pytest.mark.parametrize(
    "wanted",
    [
        AuditSearch(),
        AuditSearch(actor="ada"),
        AuditSearch(object_type="project", object_id="alpha"),
        AuditSearch(plan=3),
        AuditSearch(request="x"),
        AuditSearch(job="7"),
        AuditSearch(since=NOW, until=NOW + timedelta(seconds=5)),
    ],
    ids=lambda wanted: "-".join(wanted.facts) or "everything",
)
def test_an_index_finds_and_orders(wanted: AuditSearch) -> None:
    """No page sorts, and no page reads the whole table."""
    append_many(300)
    if connection.vendor != "sqlite":
        pytest.skip("the plan is read as SQLite writes it")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        read_page(EVERYTHING(), wanted, 200)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {queries[-1]['sql']}")
        plan = " ".join(str(row[-1]) for row in cursor.fetchall())
    assert "USING INDEX" in plan or "USING INTEGER PRIMARY KEY" in plan, plan
    assert "TEMP B-TREE" not in plan, plan


def test_the_place_of_a_page_is_a_number_or_nothing() -> None:
    assert [place_in_log(text) for text in ("17", "", "x", "-1", "9" * 30, "١٧")] == [17, *[None] * 5]


def test_a_file_is_named_after_its_filter_and_the_time() -> None:
    at = datetime(2026, 3, 2, 12, 0, 5, tzinfo=UTC)
    wanted = AuditSearch(partition="x", since=at).as_json
    assert file_stem(wanted, at) == "audit-since-2026-03-02T12_00_05_00_00-partition-x-20260302T120005Z"
    hostile = file_stem({"text": '../../etc/"passwd\r\nX: y;' + "z" * 10_000}, at)
    assert len(hostile) < 150
    assert not set(hostile) & set('/"\r\n;:')


def test_an_address_keeps_what_is_known_and_nothing_else() -> None:
    form = LogFilter({"partition": "x", "before": "7", "open": "1", "evil": "1", "actor": ""})
    assert form.query == "partition=x"
    assert form.search == AuditSearch(partition="x")
    assert LogFilter({"since": "2026-03-02T12:00"}).search == AuditSearch(
        since=timezone.make_aware(datetime(2026, 3, 2, 12, 0))  # noqa: DTZ001 - what the field says is local
    )
    assert LogFilter({"since": "yesterday"}).search is None
    assert LogFilter({"plan": "x"}).search is None


def test_a_row_is_found_by_its_request() -> None:
    append(context=Context(request_id="abc"))
    append(subject=Subject("project", "beta", "beta", cluster="dev", project="beta"))
    assert found(AuditSearch(request="abc")) == [1]
