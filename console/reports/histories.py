"""A job's or a project's whole history in one order of time: rows of the audit log, plans and checkpoints."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from console.accounts.permissions import Permission
from console.audit.models import AuditEntry
from console.audit.selectors import entry_differences, visible_entries
from console.cluster.models import Cluster, Job
from console.core.diff import KeyChange, KeyDifference
from console.core.translate import resay
from console.partitions.selectors import visible_partitions
from console.projects.selectors import visible_projects
from console.steering.models import Checkpoint, Plan, PlannedAction
from console.steering.served import plans_for

EACH = 100
"""Things of each kind that a page reads at most."""


@dataclass(frozen=True, slots=True)
class HistoryMoment:
    """One thing that happened. `row` is its number in the audit log, if it stands there."""

    at: datetime
    kind: str
    icon: str
    text: str
    detail: str = ""
    who: str = ""
    row: int | None = None
    plan: int | None = None
    job_id: str = ""
    differences: list[KeyDifference] = field(default_factory=list)
    whole: KeyChange | None = None
    """Whether it has come or gone as a whole: then the differences are its fields."""


@dataclass(frozen=True, slots=True)
class HistorySpan:
    """The time that is asked for, both ends within it, and from which end on its pages go. `each`: so many things of
    each kind a page reads at most, if not `EACH`."""

    since: datetime | None = None
    until: datetime | None = None
    oldest_first: bool = False
    each: int = 0

    @property
    def most(self) -> int:
        """So many things of each kind a page reads."""
        return self.each or EACH

    def of(self, things: QuerySet[Any], column: str) -> QuerySet[Any]:
        """The things within it by a column, in its order."""
        wanted = things.filter(**{f"{column}__isnull": False})
        if self.since:
            wanted = wanted.filter(**{f"{column}__gte": self.since})
        if self.until:
            wanted = wanted.filter(**{f"{column}__lte": self.until})
        return wanted.order_by(column, "pk") if self.oldest_first else wanted.order_by(f"-{column}", "-pk")


@dataclass(frozen=True, slots=True)
class History:
    """A page of it. `further`: where the next page begins, its `until` or with the oldest first its `since`; None:
    this is all.

    `there`: whether what it is about still has a page of its own.
    """

    moments: list[HistoryMoment]
    further: datetime | None
    there: bool = True


def job_history(user: Any, cluster: Cluster, job_id: str, stretch: HistorySpan) -> History | None:
    """What is kept of one job, as far as it is the account's to read; None when nothing is, or it is not.

    Also of a job that Slurm and the mirror have forgotten.
    """
    seen = set(Job.objects.filter(cluster=cluster, job_id=job_id).values_list("partition", flat=True))
    if not user.has_perm(Permission.JOB_VIEW) or (seen and not seen & _partitions(user)):
        return None
    rows = visible_entries(user).filter(cluster=cluster.name, job_id=job_id)
    stopped = PlannedAction.objects.filter(cluster=cluster, job_id=job_id).values("plan")
    own = [plan.pk for plan in plans_for(cluster, job_id)]
    plans = Plan.objects.filter(Q(pk__in=own) | Q(pk__in=stopped), cluster=cluster)
    checkpoints = Checkpoint.objects.filter(cluster=cluster, job_id=job_id)
    if not seen and not (rows.exists() or plans.exists()):
        return None
    return _merged(rows, plans, checkpoints, stretch, there=True)


def project_history(user: Any, cluster: Cluster, code: str, stretch: HistorySpan) -> History | None:
    """What is kept of one project: changes of it, and what became of the jobs of its that the mirror knows.

    None when there is no such project for the account. Those who read the whole log read of deleted ones too.
    """
    projects = visible_projects(user).prefetch_related(None)
    project = projects.filter(cluster=cluster, code=code).first()
    needed = Permission.PROJECT_VIEW if project else Permission.AUDIT_VIEW_ALL
    if not user.has_perm(needed, project):
        return None
    jobs = Job.objects.filter(cluster=cluster, project=code).values("job_id")
    rows = visible_entries(user).filter(Q(project=code) | Q(job_id__in=jobs), cluster=cluster.name)
    if project is None and not rows.exists():
        return None
    stopped = PlannedAction.objects.filter(cluster=cluster, job_id__in=jobs).values("plan")
    plans = Plan.objects.filter(Q(job_id__in=jobs) | Q(pk__in=stopped), cluster=cluster)
    checkpoints = Checkpoint.objects.filter(cluster=cluster, job_id__in=jobs)
    return _merged(rows, plans, checkpoints, stretch, there=project is not None)


def _partitions(user: Any) -> set[str]:
    return set(visible_partitions(user).values_list("name", flat=True))


def _merged(
    rows: QuerySet[AuditEntry],
    plans: QuerySet[Plan],
    checkpoints: QuerySet[Checkpoint],
    stretch: HistorySpan,
    *,
    there: bool,
) -> History:
    """All kinds together. A kind of which there is more than `stretch.most` ends the page where its last one stands:
    what lies beyond that is on the next page, of every kind."""
    ends: list[datetime] = []
    found = [
        *_first(rows, "at", stretch, ends, _of_row),
        *_first(plans, "created_at", stretch, ends, _of_plan),
        *_first(checkpoints, "asked_at", stretch, ends, _asked),
        *_first(checkpoints, "acknowledged_at", stretch, ends, _acknowledged),
        *_first(checkpoints, "resumed_at", stretch, ends, _resumed),
    ]
    if not ends:
        return History(_ordered(found, stretch), None, there)
    end = min(ends) if stretch.oldest_first else max(ends)
    near = [each for each in found if (each.at < end if stretch.oldest_first else each.at > end)]
    if near:
        return History(_ordered(near, stretch), end, there)
    # More at one moment than a page reads: it is shown by itself, and the next page begins beyond it.
    same = _ordered((each for each in found if each.at == end), stretch)
    beyond = timedelta(microseconds=1 if stretch.oldest_first else -1)
    return History(same, end + beyond, there)


def _first(
    things: QuerySet[Any],
    column: str,
    stretch: HistorySpan,
    ends: list[datetime],
    told: Callable[[Any], HistoryMoment],
) -> list[HistoryMoment]:
    found = list(stretch.of(things, column)[: stretch.most + 1])
    if len(found) > stretch.most:
        ends.append(getattr(found[stretch.most], column))
    return [told(each) for each in found]


def _ordered(moments: Iterable[HistoryMoment], stretch: HistorySpan) -> list[HistoryMoment]:
    """In the order asked for; what happened at once in that of the log's rows."""
    return sorted(moments, key=lambda moment: (moment.at, moment.row or 0), reverse=not stretch.oldest_first)


def _of_row(row: AuditEntry) -> HistoryMoment:
    return HistoryMoment(
        at=row.at,
        kind="audit",
        icon="clipboard-list",
        text=row.sentence,
        detail=row.told_reason if row.told_reason not in row.sentence else "",
        who=row.actor,
        row=row.sequence,
        plan=row.plan,
        job_id=row.job_id,
        differences=entry_differences(row) if row.before is not None else [],
        whole=row.whole_change,
    )


def _of_plan(plan: Plan) -> HistoryMoment:
    facts = {"n": plan.pk, "job": plan.job_id, "user": plan.user, "state": plan.get_state_display()}
    text = _("Plan %(n)d for %(job)s (%(user)s): %(state)s") % facts
    shadow = _(" In shadow: nothing was touched.") if plan.enforcement == "shadow" else ""
    detail = f"{resay(plan.explain)}{shadow}"
    return HistoryMoment(
        plan.created_at, "plan", "arrows-exchange", text, detail, plan=plan.pk, job_id=plan.job_id
    )


def _checkpoint(asked: Checkpoint, at: datetime, text: str, detail: str = "") -> HistoryMoment:
    return HistoryMoment(
        at, "checkpoint", "device-floppy", text, detail, asked.user, plan=asked.plan_id, job_id=asked.job_id
    )


def _asked(asked: Checkpoint) -> HistoryMoment:
    return _checkpoint(asked, asked.asked_at, _("%s was asked to save its state") % asked.job_id)


def _acknowledged(asked: Checkpoint) -> HistoryMoment:
    text = _("%(job)s said that its state is saved (%(via)s)")
    facts = {"job": asked.job_id, "via": asked.get_via_display()}
    return _checkpoint(asked, asked.acknowledged_at or asked.asked_at, text % facts, asked.saved)


def _resumed(asked: Checkpoint) -> HistoryMoment:
    detail = _("from %s") % asked.saved if asked.saved else ""
    return _checkpoint(
        asked, asked.resumed_at or asked.asked_at, _("%s went on where it was") % asked.job_id, detail
    )
