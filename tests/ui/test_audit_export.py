"""What the auditor does with the log: exports what a filter finds, keeps searches, reads one row and a whole history.

And what nobody can do: change or hide a row. Every address is asked with every method, and the log is as it was.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.http import StreamingHttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from console.accounts.models import User
from console.audit.canonical import FIELDS
from console.audit.models import AuditEntry, ChainCheck, SavedSearch
from console.audit.services import Context, Subject, record
from console.audit.shown import side_by_side
from console.audit.verification import verify_chain
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn
from tests.ui.test_checkpoints import make_checkpoint

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
BODIES = ("application/json", "application/x-www-form-urlencoded")
WITHOUT_BODY = {"get", "head", "options"}


def text_of(answer: Any) -> str:
    assert isinstance(answer, StreamingHttpResponse)
    return answer.getvalue().decode()


# --- Export --------------------------------------------------------------------------------------------------


def test_what_the_page_finds_is_what_the_file_has(house: House, signed_in: SignedIn) -> None:
    otto = signed_in("otto")
    answer = otto.post("/audit/export/", {"query": "partition=x&actor=ada", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(text_of(answer).removeprefix("\ufeff"))))
    assert [row["reason"] for row in rows] == ["about x"]
    disposition = answer["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="audit-actor-ada-partition-x-\d{8}T\d{6}Z\.csv"', disposition)
    told = AuditEntry.objects.get(action="log.exported")
    assert told.after is not None
    assert (told.actor, told.after["filter"]) == ("otto", {"actor": "ada", "partition": "x"})
    assert "otto exported 1 row of the log." in words_of(otto.get("/audit/").content.decode())


@pytest.mark.parametrize(("role", "reasons"), [("pam", {"about alpha"}), ("dave", {"about x"})])
def test_one_exports_ones_own_rows_only(
    role: str, reasons: set[str], house: House, signed_in: SignedIn
) -> None:
    answer = signed_in(role).post("/audit/export/", {"query": "actor=ada", "format": "jsonl"})
    rows = [json.loads(line) for line in text_of(answer).splitlines()]
    assert {row["reason"] for row in rows} == reasons
    over_api = signed_in(role).get("/api/v1/audit/export/?actor=ada")
    assert {json.loads(line)["reason"] for line in text_of(over_api).splitlines()} == reasons


@pytest.mark.parametrize("data", [{"format": "xls"}, {"format": "csv", "query": "since=yesterday"}, {}])
def test_an_export_that_makes_no_sense_is_refused_and_not_recorded(
    data: dict[str, str], house: House, ada: Client
) -> None:
    assert ada.post("/audit/export/", data).status_code == 400
    assert not AuditEntry.objects.filter(action="log.exported").exists()


def test_the_api_exports_by_the_filters_of_its_list(house: House, ada: Client) -> None:
    answer = ada.get(
        "/api/v1/audit/export/?kind=csv&project=alpha&text=about", headers={"Accept": "text/csv"}
    )
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(text_of(answer).removeprefix("\ufeff"))))
    assert [row["project"] for row in rows] == ["alpha"]
    told = AuditEntry.objects.get(action="log.exported")
    assert told.after and told.after["filter"] == {"project": "alpha", "text": "about"}
    for query in ("kind=xls", "sinec=2026-01-01", "since=yesterday"):
        assert ada.get(f"/api/v1/audit/export/?{query}").status_code == 400
    followed = ada.get("/api/v1/audit/export/", headers={"Sec-Fetch-Site": "cross-site"})
    assert followed.status_code == 403
    assert AuditEntry.objects.filter(action="log.exported").count() == 1


# --- Saved searches ------------------------------------------------------------------------------------------


def test_a_search_is_kept_opened_replaced_and_removed(house: House, ada: Client) -> None:
    kept = ada.post(
        "/audit/searches/", {"name": "x lately", "query": "partition=x&before=7&evil=1"}, follow=True
    )
    assert 'href="/audit/?partition=x"' in kept.content.decode()
    ada.post("/audit/searches/", {"name": "x lately", "query": "partition=x&actor=ada"})
    search = SavedSearch.objects.get()
    assert search.query == "actor=ada&partition=x"
    assert "about x" in ada.get(f"/audit/?{search.query}").content.decode()
    ada.post(f"/audit/searches/{search.pk}/delete/")
    assert not SavedSearch.objects.exists()


def test_a_search_is_its_owners_alone(house: House, signed_in: SignedIn) -> None:
    signed_in("ada").post("/audit/searches/", {"name": "secret plan", "query": ""})
    search = SavedSearch.objects.get()
    otto = signed_in("otto")
    assert "secret plan" not in otto.get("/audit/").content.decode()
    assert otto.post(f"/audit/searches/{search.pk}/delete/").status_code == 404
    assert otto.delete(f"/api/v1/audit/searches/{search.pk}/").status_code == 404
    assert otto.get("/api/v1/audit/searches/").json()["results"] == []
    assert SavedSearch.objects.exists()


@pytest.mark.parametrize("data", [{"name": ""}, {"name": "n" * 61}, {"name": "  "}])
def test_a_search_without_a_sensible_name_is_not_kept(
    data: dict[str, str], house: House, ada: Client
) -> None:
    page = ada.post("/audit/searches/", {**data, "query": "partition=x"}, follow=True).content.decode()
    assert "needs a name" in page
    assert not SavedSearch.objects.exists()


def test_there_is_an_end_to_keeping(house: House, ada: Client) -> None:
    SavedSearch.objects.bulk_create(SavedSearch(owner=house.people["ada"], name=str(i)) for i in range(50))
    assert (
        "remove one first" in ada.post("/audit/searches/", {"name": "one more"}, follow=True).content.decode()
    )
    answer = ada.post("/api/v1/audit/searches/", {"name": "again"}, content_type="application/json")
    assert answer.status_code == 400
    assert ada.post("/audit/searches/", {"name": "7"}, follow=True).status_code == 200
    assert SavedSearch.objects.count() == 50


def test_the_api_refuses_a_filter_that_the_page_does_not_have(house: House, ada: Client) -> None:
    for query in ("evil=1", "since=yesterday"):
        answer = ada.post(
            "/api/v1/audit/searches/", {"name": "n", "query": query}, content_type="application/json"
        )
        assert answer.status_code == 400, query
    assert not SavedSearch.objects.exists()


# --- One row, the chain, histories ---------------------------------------------------------------------------


def test_a_row_on_its_own_page_side_by_side(house: House, ada: Client) -> None:
    row = AuditEntry.objects.get(reason="about alpha")
    page = ada.get(f"/audit/{row.pk}/").content.decode()
    assert "urgency: 3 → 5" in words_of(page)
    assert '<td class="gone"><del>  &quot;urgency&quot;: 3</del></td>' in page
    assert '<td class="come"><ins>  &quot;urgency&quot;: 5</ins></td>' in page
    assert "Its hash fits" in page
    assert row.previous_hash in page


def test_a_key_that_comes_after_a_line_is_no_change_of_that_line() -> None:
    lines = side_by_side({"urgency": 1}, {"urgency": 1, "urgency_by": "deadline"})
    assert lines is not None
    assert [line.after for line in lines if line.changed] == ['  "urgency_by": "deadline"']


def test_the_page_says_up_to_where_the_chain_is_good(house: House, signed_in: SignedIn) -> None:
    otto = signed_in("otto")
    assert "Not verified yet" in otto.get("/audit/").content.decode()
    answer = otto.post("/api/v1/audit/chain/").json()
    last = AuditEntry.objects.count()
    assert (answer["broken"], answer["latest"]["last"], answer["latest"]["by"]) == (False, last, "otto")
    page = words_of(signed_in("pam").get("/audit/").content.decode())
    assert f"Verified up to row {last}" in page and "by otto" in page


def test_a_broken_chain_is_told_on_every_page_of_those_who_read_the_log(
    house: House, signed_in: SignedIn
) -> None:
    now = factories.NOW
    ChainCheck.objects.create(
        kind="new",
        by="giveway",
        begun_at=now,
        finished_at=now,
        last_hash="0" * 64,
        faults=["Row 7 was <b>changed</b>."],
    )
    for role, told in (("ada", True), ("otto", True), ("dave", False), ("vera", False)):
        page = signed_in(role).get("/").content.decode()
        assert ("The audit log is not whole." in page) is told, role
        assert ("Row 7 was &lt;b&gt;changed" in page) is told, role
    assert "The audit log is not whole." in signed_in("dave").get("/audit/").content.decode()


@pytest.fixture
def eventful(house: House) -> House:
    """Job 88 was stopped for 101, said that its state is saved, and went on."""
    make_checkpoint(house, acknowledged_at=timezone.now(), via="api", saved="epoch=10")
    with transaction.atomic():
        record(
            actor="giveway",
            action="action.issued",
            subject=Subject(
                "job", "88@1#0", "requeue_hold 88 (bob)", cluster="dev", partition="x", job_id="88"
            ),
            after={"kind": "requeue_hold"},
            context=Context(plan=house.plan.pk, cycle=7),
        )
    return house


def test_a_jobs_whole_history_is_on_one_page_in_order(eventful: House, signed_in: SignedIn) -> None:
    page = words_of(signed_in("otto").get("/history/jobs/88/").content.decode())
    assert "giveway told the cluster: requeue_hold 88 (bob)." in page
    assert f"Plan {eventful.plan.pk} for 101" in page
    assert "88 said that its state is saved" in page and "epoch=10" in page
    moments = signed_in("otto").get("/api/v1/jobs/88/history/").json()["moments"]
    assert {moment["kind"] for moment in moments} == {"audit", "plan", "checkpoint"}
    assert [moment["at"] for moment in moments] == sorted((moment["at"] for moment in moments), reverse=True)
    strangers = signed_in("vera").get("/api/v1/jobs/88/history/").json()["moments"]
    assert {moment["kind"] for moment in strangers} == {"plan", "checkpoint"}, "rows of the log are not hers"


def test_a_projects_whole_history_has_its_changes_and_its_jobs(eventful: House, signed_in: SignedIn) -> None:
    page = words_of(signed_in("pam").get("/history/projects/alpha/").content.decode())
    assert "ada changed the project alpha." in page
    assert "urgency: 3 → 5" in page
    assert f"Plan {eventful.plan.pk} for 101 (ann)" in page


def test_the_history_of_a_deleted_project_stays_for_the_auditor(house: House, signed_in: SignedIn) -> None:
    house.alpha.delete()
    assert "ada changed the project" in words_of(
        signed_in("otto").get("/history/projects/alpha/").content.decode()
    )
    assert signed_in("pam").get("/history/projects/alpha/").status_code == 404


def test_a_long_history_goes_on_page_by_page(house: House, ada: Client) -> None:
    with transaction.atomic():
        for i in range(250):
            record(
                actor="giveway",
                action="action.verified",
                subject=Subject("job", "88@1#0", f"look {i}", cluster="dev", partition="x", job_id="88"),
                context=Context(plan=house.plan.pk),
            )
    rows: list[int] = []
    until = ""
    for _ in range(10):
        answer = ada.get("/api/v1/jobs/88/history/", {"until": until} if until else {}).json()
        rows += [moment["row"] for moment in answer["moments"] if moment["row"]]
        until = answer["older"]
        if until is None:
            break
    assert len(rows) == len(set(rows)) == 250
    assert ada.get("/api/v1/jobs/88/history/?until=soon").status_code == 400


# --- Nobody changes or hides a row ---------------------------------------------------------------------------


def addresses(patterns: Any = None, prefix: str = "/") -> Iterator[str]:
    """Every address of pages and API, with something that exists in place of each argument."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern):
            yield address


def filled(address: str, house: House) -> str:
    values = {"job_id": "101", "code": "alpha", "name": "x", "pk": str(house.plan.pk), "sequence": "1"}
    return re.sub(r"<\w+:(\w+)>", lambda match: values.get(match[1], "1"), address)


def kept() -> list[tuple[Any, ...]]:
    return list(AuditEntry.objects.order_by("sequence").values_list(*FIELDS, "hash"))


@pytest.mark.parametrize("method", METHODS)
def test_no_address_changes_or_hides_a_row(method: str, house: House, signed_in: SignedIn) -> None:
    """As the administrator, who may do everything there is: what was in the log is in it afterwards, and is shown."""
    SavedSearch.objects.create(owner=house.people["ada"], name="mine", query="")
    before = kept()
    asked = 0
    for address in addresses():
        place = filled(address, house)
        for content in BODIES[:1] if method in WITHOUT_BODY else BODIES:
            browser = signed_in("ada")
            body = {"format": "csv", "reason": "for the test", "sequence": 1, "confirm": "1", "dry_run": "0"}
            data = (
                json.dumps(body)
                if content.endswith("json")
                else "&".join(f"{k}={v}" for k, v in body.items())
            )
            ask: Callable[..., Any] = browser.generic
            ask(method.upper(), place, data, content_type=content)
            asked += 1
        house.people["ada"] = User.objects.get(username="ada")
    assert asked > 120
    assert kept()[: len(before)] == before
    assert verify_chain().faults == []
    shown = signed_in("ada").get("/api/v1/audit/?limit=500").json()
    assert shown["count"] == AuditEntry.objects.count()


def test_that_walk_would_notice(house: House) -> None:
    """A row that is changed behind the guards is seen by the comparison and by the chain."""
    from django.db import connection

    from console.audit import triggers

    before = kept()
    triggers.remove(connection)
    AuditEntry.objects.filter(sequence=1).update(reason="other")
    triggers.install(connection)
    assert kept() != before
    assert verify_chain().faults
