"""Rows of the audit log for tests: real ones, through the one door, and many at once."""

from datetime import timedelta
from typing import Any

from django.db import transaction

from console.audit.canonical import GENESIS, row_hash
from console.audit.models import AuditEntry, AuditHead
from console.audit.services import Context, Subject, record
from tests.factories import NOW

PROJECT = Subject("project", "alpha", "alpha (Alpha)", cluster="dev", project="alpha")


def append(number: int = 1, /, **facts: Any) -> AuditEntry:
    """`number` changes of project alpha, by ada; the last one is returned."""
    defaults: dict[str, Any] = {
        "actor": "ada",
        "action": "project.changed",
        "subject": PROJECT,
        "before": {"urgency": 3},
        "after": {"urgency": 5.5},
        "reason": "The date moved.",
        "context": Context(request_id="0123456789abcdef"),
    }
    with transaction.atomic():
        return [record(**{**defaults, **facts}) for _ in range(number)][-1]


def append_many(number: int) -> None:
    """As `append`, in bulk, for tests about long logs; into an empty log only."""
    rows, previous = [], GENESIS
    for sequence in range(1, number + 1):
        facts: dict[str, Any] = {
            "sequence": sequence,
            "at": NOW + timedelta(seconds=sequence),
            "actor": "giveway",
            "action": "plan.proposed",
            "object_type": "plan",
            "object_id": str(sequence),
            "object_label": f"plan {sequence}",
            "cluster": "dev",
            "partition": "x",
            "project": "",
            "job_id": "101",
            "before": None,
            "after": {"victims": ["88", "91"], "explain": "x" * 300},
            "reason": "",
            "cycle": sequence,
            "plan": sequence,
            "policy_revision": 1,
            "request_id": "",
            "previous_hash": previous,
        }
        previous = row_hash(facts)
        rows.append(AuditEntry(id=sequence, hash=previous, **facts))
        if len(rows) == 2000:
            AuditEntry.objects.bulk_create(rows)
            rows = []
    AuditEntry.objects.bulk_create(rows)
    AuditHead.objects.create(pk=1, sequence=number, hash=previous)
