"""Appending to the log: complete rows only, inside the change's own transaction, numbered without gaps."""

import json
from enum import StrEnum
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import translation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.audit.canonical import GENESIS, row_hash, storable
from console.audit.models import AuditEntry, AuditHead
from console.audit.services import SYSTEM, AuditError, Context, Subject, reason_of, record, recorded_together
from console.audit.verification import verify_chain
from scheduler.model.sentence import Listed, say, to_json
from tests.audit.rows import PROJECT, append

pytestmark = pytest.mark.django_db


class Colour(StrEnum):
    RED = "red"


def stored(sequence: int) -> dict[str, Any]:
    return dict(AuditEntry.objects.values().get(sequence=sequence))


def test_a_row_keeps_every_fact() -> None:
    context = Context(request_id="abc", cycle=7, plan=8, policy_revision=9)
    subject = Subject("plan", "8", "plan 8", cluster="dev", partition="x", project="alpha", job_id="101")
    append(
        action="plan.approved",
        subject=subject,
        before={"a": 1},
        after=["b"],
        reason=" Because. ",
        context=context,
    )
    row = stored(1)
    told = {
        key: row[key] for key in ("actor", "action", "object_type", "object_id", "object_label", "reason")
    }
    assert told == {
        "actor": "ada",
        "action": "plan.approved",
        "object_type": "plan",
        "object_id": "8",
        "object_label": "plan 8",
        "reason": "Because.",
    }
    assert (row["cluster"], row["partition"], row["project"], row["job_id"]) == ("dev", "x", "alpha", "101")
    assert (row["before"], row["after"]) == ({"a": 1}, ["b"])
    assert (row["request_id"], row["cycle"], row["plan"], row["policy_revision"]) == ("abc", 7, 8, 9)


def test_rows_are_chained_from_the_genesis() -> None:
    append(3)
    rows = list(AuditEntry.objects.order_by("sequence").values())
    assert [row["sequence"] for row in rows] == [row["id"] for row in rows] == [1, 2, 3]
    assert [row["previous_hash"] for row in rows] == [GENESIS, rows[0]["hash"], rows[1]["hash"]]
    assert all(row_hash(row) == row["hash"] for row in rows)
    head = AuditHead.objects.get()
    assert (head.sequence, head.hash) == (3, rows[2]["hash"])


def test_a_change_that_is_taken_back_leaves_no_row_and_no_gap() -> None:
    append()
    with transaction.atomic():
        append(2)
        transaction.set_rollback(True)
    append()
    assert list(AuditEntry.objects.order_by("sequence").values_list("sequence", flat=True)) == [1, 2]


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_nothing_is_recorded() -> None:
    with pytest.raises(transaction.TransactionManagementError, match="in the transaction of the change"):
        record(actor="ada", action="project.created", subject=PROJECT, after={"code": "alpha"}, reason="New.")
    assert not AuditEntry.objects.exists()


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ValueError, match=r"knows no action 'project\.painted'"):
        append(action="project.painted")


@pytest.mark.parametrize(
    ("facts", "lacking"),
    [
        ({"reason": "  "}, "reason"),
        ({"before": None}, "before"),
        ({"actor": ""}, "actor"),
        ({"subject": Subject("project", "alpha", "alpha", cluster="dev")}, "project"),
        ({"subject": Subject("project", "alpha", "", cluster="dev", project="alpha")}, "object_label"),
        ({"action": "plan.failed", "actor": SYSTEM, "reason": ""}, "partition, job_id, plan, reason"),
    ],
)
def test_a_row_that_lacks_a_fact_is_refused(facts: dict[str, Any], lacking: str) -> None:
    with pytest.raises(ValueError, match=f"must not be without: {lacking}\\.$"):
        append(**facts)
    assert not AuditEntry.objects.exists()


def test_the_system_needs_no_reason_where_people_do() -> None:
    assert append(actor=SYSTEM, reason="").reason == ""


def test_a_long_label_is_shortened_and_a_long_name_refused() -> None:
    long = Subject("project", "alpha", "a" * 400, cluster="dev", project="alpha")
    assert append(subject=long).object_label == "a" * 299 + "…"
    with pytest.raises(ValueError, match="job_id has at most 40 characters, not 41"):
        append(subject=Subject("project", "alpha", "alpha", cluster="dev", project="alpha", job_id="1" * 41))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        append(after={"x": value})


def test_what_postgresql_cannot_store_is_replaced() -> None:
    append(after={"na\x00me": "half \ud800", "colour": Colour.RED, "pair": (1, 2)}, reason="why\x00")
    row = stored(1)
    assert row["after"] == {"na\ufffdme": "half \ufffd", "colour": "red", "pair": [1, 2]}
    assert row["reason"] == "why\ufffd"


def test_a_log_whose_head_is_gone_is_not_appended_to() -> None:
    append(2)
    AuditHead.objects.all().delete()
    with pytest.raises(AuditError, match="audit verify"):
        append()


def test_people_say_why_and_the_system_need_not() -> None:
    assert reason_of("ada", " The date moved. ") == "The date moved."
    assert reason_of(SYSTEM, "") == ""
    with pytest.raises(ValidationError) as refused:
        reason_of("ada", " \n")
    assert list(refused.value.message_dict) == ["reason"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=json_values, label=st.text(st.characters(codec=None), min_size=1, max_size=40))
def test_whatever_is_recorded_reads_back_with_the_same_hash(before: Any, label: str) -> None:
    subject = Subject("account", "ada", label, cluster="dev")
    entry = append(action="account.signed_in", subject=subject, before=before, after=None)
    row = stored(entry.sequence)
    assert row["before"] == storable(before)
    assert row_hash(row) == row["hash"]


def told(entry: AuditEntry, language: str) -> tuple[str, str]:
    """Label and reason as a reader of this language has them."""
    with translation.override(language):
        read = AuditEntry.objects.get(pk=entry.pk)
        return read.told_label, read.told_reason


def test_a_sentence_is_kept_as_data_beside_its_english_and_both_are_hashed() -> None:
    reason = say("doctor.incidents.open", n=2, names=Listed(["7", "8"]))
    entry = append(actor="giveway", reason=reason)
    assert entry.reason == "2 stopped jobs did not come back: 7 and 8."
    assert entry.said is not None and set(entry.said) == {"reason"}
    assert told(entry, "en") == ("alpha (Alpha)", str(reason))
    assert told(entry, "zh-hans") == ("alpha（Alpha）", "2 个被停止的作业未能恢复：7 和 8。")
    row = AuditEntry.objects.values().get(pk=entry.pk)
    assert row_hash(row) == row["hash"]
    for changed in (None, {}, {"reason": {**entry.said["reason"], "params": {}}}):
        assert row_hash({**row, "said": changed}) != row["hash"]


def test_a_persons_own_words_are_nobodys_sentence() -> None:
    words = json.dumps(to_json(say("doctor.worker.never")))
    for reason in (words, "No cycle has ever run."):
        entry = append(reason=reason)
        assert entry.said is None
        assert told(entry, "zh-hans")[1] == reason


def test_a_sentence_of_another_release_is_read_in_english() -> None:
    entry = AuditEntry(
        reason="It was odd.", said={"reason": {"code": "no.such", "params": {}, "en": "It was odd."}}
    )
    with translation.override("zh-hans"):
        assert entry.told_reason == "It was odd."


def one_row(number: str = "1", *, fails: bool = False) -> AuditEntry:
    """One row of the system's, in the caller's transaction itself; `fails`: and then an error."""
    subject = Subject("cluster", number, number, cluster="dev")
    entry = record(actor=SYSTEM, action="cluster.degraded", subject=subject, reason="x")
    if fails:
        raise RuntimeError
    return entry


def test_rows_that_are_recorded_together_are_appended_at_the_end_and_chained() -> None:
    append()
    with transaction.atomic():
        with recorded_together():
            first, second = one_row(), one_row("2")
            assert AuditEntry.objects.count() == 1
        assert (first.sequence, second.sequence) == (2, 3)
    assert AuditEntry.objects.count() == AuditHead.objects.get().sequence == 3
    assert stored(3)["previous_hash"] == stored(2)["hash"]
    assert not verify_chain().faults


def test_of_what_is_given_up_in_between_nothing_is_recorded() -> None:
    with pytest.raises(RuntimeError), transaction.atomic(), recorded_together():
        one_row(fails=True)
    append()
    assert AuditEntry.objects.count() == 1


def test_what_is_rolled_back_by_itself_is_not_recorded_with_the_rest() -> None:
    with transaction.atomic(), recorded_together():
        one_row()
        with pytest.raises(RuntimeError), transaction.atomic():
            one_row("2", fails=True)
        append()
    assert [entry.object_id for entry in AuditEntry.objects.order_by("sequence")] == ["alpha", "1"]
    assert not verify_chain().faults


def test_many_rows_at_once_are_anchored_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.audit.anchors.ROWS", 3)
    asked: list[Any] = []
    monkeypatch.setattr("console.audit.anchors.transaction.on_commit", lambda *a, **_: asked.append(a))
    for count in (2, 1, 4, 1):
        with transaction.atomic(), recorded_together():
            for _ in range(count):
                one_row()
    assert len(asked) == 2, "rows 3 and 6 are among them; 8 are not 9"
