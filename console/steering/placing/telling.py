"""The audit rows of jobs that are placed, and a line in the log for each."""

from functools import partial

import structlog
from django.db import transaction

from console.audit.services import SYSTEM, Context, Subject, record
from console.steering.models import ChosenPlace

log = structlog.get_logger(__name__)


def tell_placed(row: ChosenPlace, action: str, reason: str = "") -> None:
    """Write down what became of a job that is to be placed. Renewals of its begin time are not told."""
    told: dict[str, object] = {"nodes": row.nodes}
    if row.got:
        told["runs_on"] = row.got
    where = {"cluster": row.cluster.name, "partition": row.partition}
    record(
        actor=SYSTEM,
        action=action,
        subject=Subject(
            type="job", id=row.job_id, label=f"{row.job_id} ({row.user})", job_id=row.job_id, **where
        ),
        after=told,
        reason=reason or row.explain,
        context=Context(cycle=row.cluster.cycle),
    )
    transaction.on_commit(partial(log.info, action, **where, job=row.job_id, **told))
