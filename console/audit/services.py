"""Writing the audit log: one door, in the caller's transaction."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from dataclasses import field as item
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils.translation import gettext as _

from console.audit.anchors import anchor_soon
from console.audit.canonical import FIELDS, GENESIS, SAID, clean, row_hash, storable
from console.audit.models import SYSTEM_ACTOR, AuditEntry, AuditHead
from console.audit.registry import known
from console.audit.told import sentences_in
from console.audit.verification import verify_chain
from console.core import clock
from console.core.limits import beyond
from scheduler.model.sentence import Sentence, to_json

__all__ = [
    "NO_CONTEXT",
    "SYSTEM",
    "AuditError",
    "Context",
    "Subject",
    "reason_of",
    "record",
    "recorded_together",
    "verify_chain",
]

SYSTEM = SYSTEM_ACTOR
"""The actor of what Giveway does by itself."""
HEAD = 1
ROWS_AT_ONCE = 300
"""Per statement: SQLite takes about 32,000 values in one."""


class AuditError(Exception):
    """The log is not in a state to be appended to."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a row is about; `label` is kept as text so that the row stays readable when the object is gone."""

    type: str
    id: str
    label: str
    cluster: str = ""
    partition: str = ""
    project: str = ""
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """Where a change comes from: the request, the cycle and plan, the policy revision in force."""

    request_id: str = ""
    cycle: int | None = None
    plan: int | None = None
    policy_revision: int | None = None


NO_CONTEXT = Context()


def reason_of(actor: str, reason: str) -> str:
    """The reason that a person's change must carry, trimmed; `ValidationError` on `reason` when there is none.

    What the system does by itself needs none here: it follows from a plan or from the cluster.
    """
    reason = reason.strip()
    if not reason and actor != SYSTEM:
        raise ValidationError({"reason": _("Say why; it stands in the audit log.")})
    if too_long := beyond("reason", len(reason)):
        raise ValidationError({"reason": too_long})
    return reason


def in_transaction() -> bool:
    """Whether a change is under way that a row can belong to."""
    return transaction.get_connection().in_atomic_block


def record(  # noqa: PLR0913 - a row has this many facts, and each is named at the call
    *,
    actor: str,
    action: str,
    subject: Subject,
    before: Any = None,
    after: Any = None,
    reason: str = "",
    context: Context = NO_CONTEXT,
) -> AuditEntry:
    """Append one row. Must run inside the transaction of the change it tells of, after that change.

    1. Refuse an action that is not registered, a fact that it requires and lacks, a text that is too long.
    2. Lock the head of the log until the transaction ends: rows get their numbers one after the other,
       without gaps and forks. (Change first, record last: whoever held the head and waited for a row of
       something else would stop everybody.)
    3. Store the row with the hash of the one before it, and move the head.
    Within `recorded_together` 2. and 3. come at its end; the row that is returned has its number from then on.

    `before` and `after` are JSON values. Raises `ValueError` for 1. and `TransactionManagementError` outside
    a transaction.
    """
    facts = _facts(actor, subject, before, after, reason, context)
    _check(action, facts)
    if not in_transaction():
        raise transaction.TransactionManagementError(
            "record() must be called in the transaction of the change that it tells of."
        )
    entry = AuditEntry(action=action, at=clock.now(), **facts)
    batch = _BATCH.get()
    if batch is None or batch.depth != len(transaction.get_connection().savepoint_ids):
        _append([entry])
    else:
        batch.rows.append(entry)
    return entry


@dataclass(slots=True)
class _Batch:
    """Rows that are to be appended together. `depth`: savepoints that were open when it began; what is recorded within
    a further one may be rolled back by itself, and is appended there."""

    depth: int
    rows: list[AuditEntry] = item(default_factory=list)


_BATCH: ContextVar[_Batch | None] = ContextVar("audit_batch", default=None)


@contextmanager
def recorded_together() -> Iterator[None]:
    """What is recorded inside is appended at the end, in its order: one look at the head and one statement for all.

    Must be in the transaction of all changes that it tells of. After an exception nothing is appended; who catches it
    outside must have rolled the changes back.
    """
    batch = _Batch(len(transaction.get_connection().savepoint_ids))
    token = _BATCH.set(batch)
    try:
        yield
    finally:
        _BATCH.reset(token)
    if batch.rows:
        _append(batch.rows)


def _append(entries: Sequence[AuditEntry]) -> None:
    """Chain the rows to the one before them, and move the head."""
    head = _locked_head()
    had = head.sequence
    for entry in entries:
        entry.id = entry.sequence = head.sequence + 1
        entry.previous_hash = head.hash
        entry.hash = row_hash({name: getattr(entry, name) for name in (*FIELDS, SAID)})
        head.sequence, head.hash = entry.sequence, entry.hash
    AuditEntry.objects.bulk_create(entries, batch_size=ROWS_AT_ONCE)
    head.save(update_fields=["sequence", "hash"])
    anchor_soon(head, had)


def _facts(
    actor: str, subject: Subject, before: Any, after: Any, reason: str, context: Context
) -> dict[str, Any]:
    facts = {
        "actor": actor,
        "object_type": subject.type,
        "object_id": subject.id,
        "object_label": _shortened(str(subject.label)),
        "cluster": subject.cluster,
        "partition": subject.partition,
        "project": subject.project,
        "job_id": subject.job_id,
        "reason": reason.strip(),
        SAID: _said(before, after, object_label=subject.label, reason=reason),
        **asdict(context),
    }
    facts = {name: clean(fact) if isinstance(fact, str) else fact for name, fact in facts.items()}
    return {**facts, "before": storable(before), "after": storable(after)}


def _said(before: Any, after: Any, **texts: str) -> dict[str, Any] | None:
    """Those that are sentences, for reading them in another language; of documents each with its place in it."""
    said: dict[str, Any] = {name: to_json(text) for name, text in texts.items() if isinstance(text, Sentence)}
    for name, document in (("before", before), ("after", after)):
        if found := [[place, to_json(sentence)] for place, sentence in sentences_in(document)]:
            said[name] = found
    return storable(said) or None


def _shortened(label: str) -> str:
    longest = _longest("object_label") or 0
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def _longest(field: str) -> int | None:
    column = AuditEntry._meta.get_field(field)  # noqa: SLF001 - Django's documented name
    return column.max_length if isinstance(column, models.CharField) else None


def _check(action: str, facts: dict[str, Any]) -> None:
    missing = known(action).missing(facts, by_person=facts["actor"] != SYSTEM)
    missing += [field for field in ("actor", "object_type", "object_id", "object_label") if not facts[field]]
    if missing:
        raise ValueError(f"An audit row of {action} must not be without: {', '.join(missing)}.")
    for field, fact in facts.items():
        longest = _longest(field)
        if longest is not None and len(fact) > longest:
            raise ValueError(f"In an audit row, {field} has at most {longest} characters, not {len(fact)}.")


def _locked_head() -> AuditHead:
    """The head, ours until the transaction ends (SQLite: the whole database is, by BEGIN IMMEDIATE)."""
    head = AuditHead.objects.select_for_update().filter(pk=HEAD).first()
    if head is None:
        AuditHead.objects.get_or_create(pk=HEAD, defaults={"hash": GENESIS})
        head = AuditHead.objects.select_for_update().get(pk=HEAD)
        if head.sequence == 0 and AuditEntry.objects.exists():
            raise AuditError("The head of the audit log is gone; see `manage.py audit verify`.")
    return head
