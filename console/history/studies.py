"""Questions about the last days that take longer than a request: asked here, worked off by a worker, kept for a while.

A page or a program writes a row; `studying.py` works it off. Asking and cancelling stand in the audit log.
"""

import json
from collections.abc import Sized
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.accounts.models import Role
from console.audit.services import Context, Subject, record
from console.cluster.models import Cluster
from console.core import clock, l10n_format
from console.core.limits import no_room
from console.history.changes import HypotheticalChange, decode_change, differing, encode_change
from console.history.models import OPEN_STUDIES, RecordedObservation, Study, StudyKind, StudyState
from console.history.what_if import NotNowError
from console.partitions.models import Partition
from console.partitions.selectors import administered_partitions
from scheduler.model.words import names

AT_ONCE = 20_000
"""What a page answers while one waits: jobs of all looks together. A job of a look takes about 0.2 ms to be decided
twice, so this is about four seconds."""
EACH_LOOK = 50
"""What a look takes beside its jobs, counted in jobs."""


def takes_too_long(cluster: Cluster, days: int) -> bool:
    """Whether a question about so many last days is one for the worker. One query."""
    since = clock.now() - timedelta(days=days)
    looks = RecordedObservation.objects.filter(cluster=cluster, at__gte=since).order_by()
    found = looks.aggregate(looks=Count("pk"), jobs=Sum("jobs"))
    return (found["jobs"] or 0) + EACH_LOOK * found["looks"] > AT_ONCE


def ask(
    *, actor: str, cluster: Cluster, change: HypotheticalChange, days: int, request_id: str = ""
) -> Study:
    """Put a question to the worker; the same question that is still open is not put twice.

    Whether the person may make the change is checked by the caller, as for the question about now. Raises
    `NotNowError` when the person has too many open already.
    """
    question = json.loads(json.dumps(encode_change(differing(cluster, change))))
    with transaction.atomic():
        waiting = open_studies(cluster, actor)
        for study in waiting:
            if (study.kind, study.question, study.days) == (StudyKind.LOOKS, question, days):
                return study
        return put(waiting, Study(cluster=cluster, asked_by=actor, question=question, days=days), request_id)


def open_studies(cluster: Cluster, actor: str) -> list[Study]:
    """What a person has asked and that is not over."""
    return list(Study.objects.filter(cluster=cluster, asked_by=actor, state__in=OPEN_STUDIES))


def put(waiting: Sized, study: Study, request_id: str) -> Study:
    """Put a new question, beside those of the person that wait. Raises `NotNowError` when these are too many."""
    if full := no_room("studies", len(waiting)):  # the worker takes one at a time
        raise NotNowError(full)
    study.asked_at = clock.now()
    study.save()
    _tell("study.asked", study, study.asked_by, request_id)
    return study


def cancel(*, actor: str, study: Study, request_id: str = "") -> bool:
    """Cancel a study that is not over; False when it is over already. Its worker sees it at the next look."""
    with transaction.atomic():
        open_row = Study.objects.filter(pk=study.pk, state__in=OPEN_STUDIES)
        cancelled = open_row.update(
            state=StudyState.CANCELLED, holder="", ended_at=clock.now(), version=F("version") + 1
        )
        if cancelled:
            _tell("study.cancelled", study, actor, request_id)
    study.refresh_from_db()
    return bool(cancelled)


def visible_studies(user: Any) -> QuerySet[Study]:
    """One's own, and those of finished jobs of the partitions that one administers; all for who reads everything."""
    rows = Study.objects.select_related("cluster")
    if not user.is_authenticated:
        return rows.none()
    if user.role in {Role.ADMINISTRATOR, Role.AUDITOR}:
        return rows
    own = Partition.objects.filter(pk__in=administered_partitions(user), cluster=OuterRef("cluster"))
    theirs = Exists(own.filter(name=OuterRef("partition")))
    return rows.filter(Q(kind=StudyKind.LOOKS, asked_by=user.username) | Q(theirs, kind=StudyKind.HINDSIGHT))


def title_of(study: Study) -> str:
    """What the study is about: `the policy of x`, `the projects alpha and beta`."""
    if study.kind == StudyKind.HINDSIGHT:
        return _("the finished jobs of %(partition)s") % {"partition": study.partition}
    policies, projects = list(study.question["policies"]), list(study.question["projects"])
    told = []
    if policies:
        text = ngettext("the policy of %(names)s", "the policies of %(names)s", len(policies))
        told.append(text % {"names": l10n_format.names(policies)})
    if projects:
        text = ngettext("the project %(names)s", "the projects %(names)s", len(projects))
        told.append(text % {"names": l10n_format.names(projects)})
    if len(told) == 2:
        return _("%(policies)s; %(projects)s") % {"policies": told[0], "projects": told[1]}
    return told[0] if told else _("no change")


def change_of(study: Study) -> HypotheticalChange:
    """The change that is asked about."""
    return decode_change(study.question)


def _tell(action: str, study: Study, actor: str, request_id: str) -> None:
    policies, projects = list(study.question["policies"]), list(study.question["projects"])
    record(
        actor=actor,
        action=action,
        subject=Subject(
            "study",
            str(study.pk),
            f"study {study.pk}: {names([*policies, *projects])}",
            cluster=study.cluster.name,
            partition=policies[0] if len(policies) == 1 else "",
            project=projects[0] if len(projects) == 1 else "",
        ),
        after={"days": study.days, "policies": policies, "projects": projects},
        context=Context(request_id=request_id),
    )
