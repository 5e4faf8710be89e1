"""What enforcing would have done: the plans made in shadow, added up.

Each beneficiary counts once, by its last plan; each run of a victim counts once, on the day of its first plan. The work
is what each victim had done when the plan was made. Two queries, however many jobs: what is old is left out, and what
is too much, and then the tally says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.core import clock, l10n_format
from console.partitions.models import Partition
from console.steering.models import Plan, PlanKind
from console.steering.work import Work, add_work, hours, work_of, work_words
from scheduler.model.plan import Shrinking
from scheduler.model.policy import Enforcement

DAYS = 30
MOST_PLANS = 5000
MOST_NAMED = 10

Run = tuple[str, int, int]


@dataclass(slots=True)
class TallySum:
    """Jobs that would have got room, runs that would have been stopped, and the work lost with them.

    `shrinks`: workers that elastic jobs would have given up, which are no stops; their work is lost, too. `kept`: the
    work of the workers that stay, which would have been lost had these jobs been stopped instead. `grows`: jobs that
    would have been started again on more nodes, in all only.
    """

    jobs: int = 0
    stops: int = 0
    shrinks: int = 0
    grows: int = 0
    work: Work = field(default_factory=dict)
    kept: Work = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The work, for people."""
        return work_words(self.work)

    @property
    def kept_words(self) -> str:
        """The work that is kept, for people."""
        return work_words(self.kept)

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        stops = ngettext(
            "%(n)d job would have been stopped", "%(n)d jobs would have been stopped", self.stops
        )
        jobs = ngettext("for %(n)d job", "for %(n)d jobs", self.jobs)
        text = _("%(stops)s %(jobs)s.")
        if self.work:
            text = _("%(stops)s %(jobs)s, and %(work)s lost where nothing was saved.")
        told = text % {
            "stops": stops % {"n": self.stops},
            "jobs": jobs % {"n": self.jobs},
            "work": self.words,
        }
        return l10n_format.one_after_the_other((told, self.shrunk, self.grown))

    @property
    def grown(self) -> str:
        """How many jobs would have got nodes back, in one sentence; empty when that is none."""
        text = ngettext(
            "%(n)d job would have been started again on more nodes.",
            "%(n)d jobs would have been started again on more nodes.",
            self.grows,
        )
        return text % {"n": self.grows} if self.grows else ""

    @property
    def shrunk(self) -> str:
        """What elastic jobs would have given up, in one sentence; empty when that is nothing."""
        if not self.shrinks:
            return ""
        text = ngettext(
            "Elastic jobs would have given up %(n)d worker, which keeps %(work)s.",
            "Elastic jobs would have given up %(n)d workers, which keeps %(work)s.",
            self.shrinks,
        )
        return text % {"n": self.shrinks, "work": self.kept_words}

    @property
    def gpu_hours(self) -> float:
        return hours(self.work, "gpu")

    @property
    def cpu_hours(self) -> float:
        return hours(self.work, "cpu")


@dataclass(frozen=True, slots=True)
class ShadowTally:
    """The totals since `since`. `by_user`: beneficiaries'; `by_victim`: victims'; `cut`: not all of it."""

    since: datetime
    total: TallySum
    days: list[tuple[date, TallySum]]
    by_user: list[tuple[str, TallySum]]
    by_victim: list[tuple[str, TallySum]]
    cut: bool = False


def shadow_tally(partition: Partition, days: int = DAYS) -> ShadowTally:
    """What enforcing would have done in a partition in the last days."""
    since = max(clock.now() - timedelta(days=days), _attached(partition))
    shadowed = Plan.objects.filter(
        cluster=partition.cluster_id,
        partition=partition.name,
        enforcement=Enforcement.SHADOW,
        kind=PlanKind.PREEMPT,
        created_at__gte=since,
    ).order_by()
    last = shadowed.values("job_id").annotate(last=Max("pk")).order_by("-last").values("last")
    plans = list(
        Plan.objects.filter(pk__in=last[: MOST_PLANS + 1])
        .order_by("pk")
        .values("pk", "user", "victims", "created_at", "job_id", "tasks")
    )
    told = _added_up(_last_ones(plans[-MOST_PLANS:]), since, cut=len(plans) > MOST_PLANS)
    grown = Plan.objects.filter(
        cluster=partition.cluster_id,
        partition=partition.name,
        enforcement=Enforcement.SHADOW,
        kind=PlanKind.GROW,
        created_at__gte=since,
    )
    told.total.grows = grown.order_by().values("job_id").distinct().count()
    return told


def _last_ones(plans: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The plans but for those whose job a later one makes room for, as one of the tasks of its array."""
    later: set[str] = set()
    last = []
    for plan in reversed(plans):
        if plan["job_id"] not in later:
            last.append(plan)
        later.update(task["job"] for task in plan["tasks"])
    return last[::-1]


def _attached(partition: Partition) -> datetime:
    first: datetime | None = (
        partition.revisions.order_by("number").values_list("created_at", flat=True).first()
    )
    return first or clock.now()


def _added_up(plans: Iterable[Mapping[str, Any]], since: datetime, *, cut: bool) -> ShadowTally:
    total = TallySum()
    days: dict[date, TallySum] = {}
    by_user: dict[str, TallySum] = {}
    by_victim: dict[str, TallySum] = {}
    counted: set[Run] = set()
    for plan in plans:
        day = timezone.localdate(plan["created_at"])
        sums = [total, days.setdefault(day, TallySum()), by_user.setdefault(plan["user"], TallySum())]
        for each in sums:
            each.jobs += len(plan["tasks"]) or 1
        for victim in plan["victims"]:
            run = (victim["job"], victim.get("start", 0), victim.get("restarts", 0))
            if run in counted:
                continue
            counted.add(run)
            # Of a job of several nodes the nodes that it gives up are its workers; one that starts again is stopped.
            in_place = victim.get("by") == Shrinking.INPLACE
            given = len(victim["nodes"]) if in_place else int(bool(victim.get("worker_of")))
            for each in (*sums, by_victim.setdefault(victim.get("user", ""), TallySum())):
                each.stops += not given
                each.shrinks += given
                add_work(each.kept, victim.get("kept") or {})
                add_work(each.work, work_of(victim))
    return ShadowTally(
        since, total, sorted(days.items(), reverse=True), _most(by_user), _most(by_victim), cut
    )


def _most(sums: Mapping[str, TallySum]) -> list[tuple[str, TallySum]]:
    """Those with the most stops; of as many, by name."""
    return sorted(sums.items(), key=lambda item: (-item[1].stops, -item[1].jobs, item[0]))[:MOST_NAMED]
