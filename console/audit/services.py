"""Writing the audit log: one door, in the caller's transaction."""

from dataclasses import dataclass
from typing import Any

from console.audit.models import AuditEntry

SYSTEM = "giveway"
"""The actor of what Giveway does by itself."""


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
    """Append one row. Must run inside the transaction of the change it tells of.

    Raises `ValueError` when `action` is not registered or a fact that the action requires is missing.
    """
    raise NotImplementedError
