"""Asking what the last month would have been, and what is kept of the answers: one per partition, policy and time."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.core import clock
from console.forecasts.models import KeptRun
from console.history.changes import HypotheticalChange, encode_change
from console.history.models import OPEN_STUDIES, Study, StudyKind, StudyState
from console.history.studies import open_studies, put
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from scheduler.model.policy import PartitionPolicy

SPANS = (7, 30, 90)
"""Days that are offered, as far as finished jobs are known."""
USUAL = 30


def ask_hindsight(
    *, actor: str, partition: Partition, policy: PartitionPolicy, days: int, request_id: str = ""
) -> Study:
    """Put the question to the worker; the same one that is still open is not put twice, whoever put it.

    Whether the person may change the policy is checked by the caller. Raises `NotNowError` when the person has too many
    open already.
    """
    cluster, question = partition.cluster, _question(partition.name, policy)
    with transaction.atomic():
        for study in _of(partition.cluster, partition.name).filter(state__in=OPEN_STUDIES, days=days):
            if study.question == question:
                return study
        new = Study(
            cluster=cluster,
            kind=StudyKind.HINDSIGHT,
            partition=partition.name,
            asked_by=actor,
            question=question,
            days=days,
        )
        return put(open_studies(cluster, actor), new, request_id)


def forget_same(study: Study) -> None:
    """Of a policy and a time the last answer is kept; also forget what failed or was cancelled before it."""
    if study.kind != StudyKind.HINDSIGHT:
        return
    older = (
        _of(study.cluster, study.partition)
        .filter(pk__lt=study.pk, days=study.days)
        .exclude(state__in=OPEN_STUDIES)
    )
    same = [each.pk for each in older.defer("result") if each.question == study.question]
    Study.objects.filter(pk__in=same).delete()


@dataclass(frozen=True, slots=True)
class Kept:
    """The studies of a partition, the newest first. `shown`: the one that its page shows; `in_force`: whether that one
    asked about the policy in force."""

    shown: Study | None
    in_force: bool
    others: tuple[Study, ...]


def kept_for(partition: Partition) -> Kept:
    """An open one before one that is done, and of those the newest of the policy in force. Without the answers."""
    rows = list(_of(partition.cluster, partition.name).defer("result")[:MOST_LISTED])
    now = _question(partition.name, policy_of(partition))
    force = [each for each in rows if each.question == now]
    order = [each for each in rows if each.open] + [each for each in force if each.state == StudyState.DONE]
    shown = next(iter(order or force), None)
    others = tuple(each for each in rows if each != shown)
    return Kept(shown, shown in force, others)


MOST_LISTED = 20


def newest_done(partition: Partition) -> Study | None:
    """The last answer about the policy in force."""
    now = _question(partition.name, policy_of(partition))
    return next(
        (
            each
            for each in _of(partition.cluster, partition.name).filter(state=StudyState.DONE)
            if each.question == now
        ),
        None,
    )


def days_known(partition: Partition) -> int:
    """How many days back finished jobs of a partition are known, at most the longest span; 0: none is. One query."""
    now = clock.now()
    since = int((now - timedelta(days=max(SPANS))).timestamp())
    rows = KeptRun.objects.filter(cluster=partition.cluster, partition=partition.name, end__gte=since)
    first = rows.order_by("end").values_list("end", flat=True).first()
    return 0 if first is None else max(1, -(-(int(now.timestamp()) - first) // 86_400))


def spans_for(known: int) -> list[int]:
    """The spans to choose from: those that are full, and the first that holds all."""
    offered = [days for number, days in enumerate(SPANS) if not number or SPANS[number - 1] < known]
    return offered if known else []


def asked_span(value: str) -> int:
    """The days that a form asks about; 0 when it asks about none that is offered."""
    return int(value) if value in map(str, SPANS) else 0


def is_in_force(study: Study) -> bool:
    """Whether a study asks about the policy that is in force now. One query."""
    rows = Partition.objects.filter(cluster=study.cluster, name=study.partition, revision__isnull=False)
    partition = rows.select_related("revision").first()
    return partition is not None and study.question == _question(partition.name, policy_of(partition))


def _of(cluster: Cluster, partition: str) -> QuerySet[Study]:
    rows = Study.objects.filter(cluster=cluster, partition=partition, kind=StudyKind.HINDSIGHT)
    return rows.select_related("cluster")


def _question(name: str, policy: PartitionPolicy) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(encode_change(HypotheticalChange({name: policy}))))
    return found
