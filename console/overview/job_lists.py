"""Lists of jobs: what the address asks for (filter, order, page, columns) and the rows that answer it.

An array or a group is one row: "12 tasks: 8 running, 4 waiting". It stands for all jobs of its group in its partition,
and is that of the first of them in the order of the list. Which ones are unfolded is in the address (`w_open=41`), so
that a link does it and a poll keeps it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import starmap
from operator import or_
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Case, CharField, Count, F, OrderBy, Q, QuerySet, When, Window
from django.db.models.functions import Length, RowNumber
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.cluster.models import Job, JobPhase
from console.overview.job_columns import (
    ALWAYS,
    JOB_COLUMNS,
    RISK,
    STARTS,
    JobColumn,
    ListedJob,
    as_listed,
    listed,
)
from console.starts.models import ExpectedStart
from console.starts.selectors import expected_starts, stop_chances
from scheduler.model.jobs import Level
from scheduler.priority.groups import group_name

PAGE_SIZE = 50
MOST_TASKS = 200
"""So many tasks of one group are shown when it is unfolded."""
Key = tuple[str, str]
"""A group and a partition."""

_TOGETHER = Case(When(Q(group=""), then=F("job_id")), default=F("group"), output_field=CharField())
_WORDS = {
    JobPhase.RUNNING: lambda n: ngettext("%d running", "%d running", n) % n,
    JobPhase.COMPLETING: lambda n: ngettext("%d ending", "%d ending", n) % n,
    JobPhase.PENDING: lambda n: ngettext("%d waiting", "%d waiting", n) % n,
    JobPhase.ENDED: lambda n: ngettext("%d ended", "%d ended", n) % n,
}


@dataclass(frozen=True, slots=True)
class ListKind:
    """A kind of list. `key` starts its parameters in the address: `w_sort`, `w_page`, `w_col`. `default`: its order at
    first; without one it is a list whose columns are not chosen and do not sort."""

    key: str
    default: str = ""

    @property
    def usual(self) -> tuple[str, ...]:
        """The columns that are there at first."""
        return tuple(key for key, column in JOB_COLUMNS.items() if self.key in column.usual.split())

    @property
    def offered(self) -> tuple[str, ...]:
        """All columns that it can have."""
        places = ((key, f"{column.usual} {column.more}".split()) for key, column in JOB_COLUMNS.items())
        return tuple(key for key, lists in places if self.key in lists)

    @property
    def orders(self) -> dict[str, JobColumn]:
        """The columns by which it can be sorted, by the order's name."""
        return {JOB_COLUMNS[key].sort: JOB_COLUMNS[key] for key in self.offered if JOB_COLUMNS[key].sort}

    def columns(self, asked: Sequence[str]) -> list[JobColumn]:
        """Those that are asked for, of those on offer; the usual ones when none is."""
        wanted = {key for key in asked if key in self.offered} or set(self.usual)
        return [column for key, column in JOB_COLUMNS.items() if key in wanted | {ALWAYS}]


WAITING, RUNNING, EVERY = ListKind("w", "place"), ListKind("r", "user_level"), ListKind("j", "-submit")
MY_WAITING, MY_RUNNING = ListKind("mw"), ListKind("mr")


@dataclass(frozen=True, slots=True)
class Folded:
    """A group in one partition: how many of its jobs are in each phase, and, if it is unfolded, those of the list."""

    group: str
    counts: Mapping[str, int]
    tasks: Sequence[ListedJob] = ()
    is_open: bool = False

    @property
    def name(self) -> str:
        """What people call it."""
        return group_name(self.group)

    @property
    def words(self) -> str:
        """`12 tasks: 8 running, 4 waiting`."""
        total = sum(self.counts.values())
        tasks = ngettext("%d task", "%d tasks", total) % total
        parts = [say(self.counts[phase]) for phase, say in _WORDS.items() if self.counts.get(phase)]
        listed = reduce(
            lambda one, next_: _("%(first)s, %(second)s") % {"first": one, "second": next_}, parts
        )
        return _("%(tasks)s: %(parts)s") % {"tasks": tasks, "parts": listed}


@dataclass(frozen=True)
class JobList:
    """One page of one list."""

    kind: ListKind
    sort: str
    page: Page[ListedJob]
    columns: list[JobColumn]
    folded: Mapping[Key, Folded] = field(default_factory=dict)
    starts: Mapping[str, ExpectedStart] = field(default_factory=dict)
    risks: Mapping[str, float] = field(default_factory=dict)
    """Both by job, where the column is shown."""

    @property
    def open_param(self) -> str:
        """The parameter of the groups that are unfolded."""
        return f"{self.key}_open"

    @property
    def key(self) -> str:
        """What its parameters in the address start with."""
        return self.kind.key

    @property
    def page_param(self) -> str:
        """The page's parameter in the address."""
        return f"{self.key}_page"

    @property
    def column_param(self) -> str:
        """The columns' parameter in the address."""
        return f"{self.key}_col"


Levels = tuple[Level, Level]
"""A job's user level and task level."""


@dataclass(frozen=True, slots=True)
class KnownList:
    """What is known of a list before it is read: whether some jobs belong to groups, how many there are (`total`), and
    how many of each pair of levels."""

    grouped: bool
    total: int | None = None
    levels: Mapping[Levels, int] = field(default_factory=dict)


def read_list(
    query: QueryDict, kind: ListKind, jobs: QuerySet[Job], known: KnownList | None = None
) -> JobList:
    """The page of `jobs` that the address asks for; a page beyond the last shows the last."""
    sort = query.get(f"{kind.key}_sort", kind.default)
    if sort.removeprefix("-") not in kind.orders:
        sort = kind.default
    columns = kind.columns(query.getlist(f"{kind.key}_col"))
    wanted, groups = query.get(f"{kind.key}_page"), {}
    known = _counted(jobs) if known is None else known
    if known.total is not None and not known.grouped:
        numbers = range(known.total)
        page: Page[Any] = Paginator(numbers, PAGE_SIZE).get_page(wanted)
        found = _rows(kind, sort, jobs, known, numbers[slice(page.start_index() - 1, page.end_index())])
    else:
        every = _in_order(kind, sort, jobs)
        rows = _first_of_each(every, _ordering(kind, sort)) if known.grouped else every
        page = Paginator(as_listed(rows), PAGE_SIZE).get_page(wanted)
        found = list(starmap(ListedJob, page.object_list))
        groups = _folded_groups(found, every, query.getlist(f"{kind.key}_open"))
    page.object_list = found
    return JobList(kind, sort, page, columns, groups, *_beside_jobs(columns, found, groups))


def fixed_list(kind: ListKind, jobs: Sequence[Job], query: QueryDict) -> JobList:
    """Jobs that were read already, with the usual columns, which do not sort."""
    rows, groups = _fold_read([listed(job) for job in jobs], query.getlist(f"{kind.key}_open"))
    page = Paginator(rows, max(1, len(rows))).get_page(1)
    columns = [replace(column, sort="") for column in kind.columns(())]
    return JobList(kind, "", page, columns, groups, *_beside_jobs(columns, rows, groups))


def _ordering(kind: ListKind, sort: str) -> list[Any]:
    """Nothing configured is below every level, no limit above every limit, no expectation later than any."""
    down, by = sort.startswith("-"), kind.orders[sort.removeprefix("-")]
    nulls: dict[str, Any] = {"nulls_first" if down else "nulls_last": True} if by.nullable else {}
    result = [OrderBy(F(name), descending=down, **nulls) for name in by.sorts_by]
    last = down and not result
    return [*result, OrderBy(Length("job_id"), descending=last), OrderBy(F("job_id"), descending=last)]


def _in_order(kind: ListKind, sort: str, jobs: QuerySet[Job]) -> QuerySet[Job]:
    if "place" in kind.orders:
        jobs = jobs.annotate(unplaced=Q(place=0))
    return jobs.order_by(*_ordering(kind, sort))


def _rows(kind: ListKind, sort: str, jobs: QuerySet[Job], known: KnownList, places: range) -> list[ListedJob]:
    """Those at some places of the list. In the order of levels no others are gone through than those of the first
    levels, as many as have so many jobs."""
    if sort == "user_level" and sum(known.levels.values()) == known.total:
        pairs = _first(known.levels, places.stop)
        jobs = jobs.filter(reduce(or_, (Q(user_level=u, task_level=t) for u, t in pairs), Q(pk__in=())))
    return list(starmap(ListedJob, as_listed(_in_order(kind, sort, jobs))[places.start : places.stop]))


def _first(levels: Mapping[Levels, int], count: int) -> tuple[Levels, ...]:
    """The highest levels, as many as have `count` jobs together."""
    found: list[Levels] = []
    for pair in sorted(levels, key=lambda pair: [(level is None, level) for level in pair]):
        if count <= 0:
            break
        found.append(pair)
        count -= levels[pair]
    return tuple(found)


def _counted(jobs: QuerySet[Job]) -> KnownList:
    """One look for both: a search reads every job."""
    found = jobs.aggregate(total=Count("pk"), grouped=Count("pk", filter=~Q(group="")))
    return KnownList(found["grouped"] > 0, found["total"])


def _beside_jobs(
    columns: Sequence[JobColumn], rows: Sequence[ListedJob], groups: Mapping[Key, Folded]
) -> tuple[Mapping[str, ExpectedStart], Mapping[str, float]]:
    """What is expected of the jobs of a page, as far as its columns show it; one query for each."""
    if not rows:
        return {}, {}
    shown, cluster = {column.key for column in columns}, rows[0].cluster_id
    jobs = [*rows, *(job for group in groups.values() for job in group.tasks)]
    return (
        expected_starts(cluster, jobs) if STARTS in shown else {},
        stop_chances(cluster, jobs) if RISK in shown else {},
    )


# --- Groups ---


def key_of(job: ListedJob) -> Key:
    """The group and partition of a job."""
    return job.group, job.partition


def _first_of_each(jobs: QuerySet[Job], ordering: Sequence[Any]) -> QuerySet[Job]:
    """The jobs that stand for their groups, and those that stand alone."""
    number = Window(RowNumber(), partition_by=[F("partition"), _TOGETHER], order_by=list(ordering))
    return jobs.annotate(number=number).filter(number=1)


def _folded_groups(
    rows: Sequence[ListedJob], jobs: QuerySet[Job], opened: Iterable[str]
) -> dict[Key, Folded]:
    """The groups of several jobs among some rows. `jobs`: the whole list, in its order."""
    groups = {row.group for row in rows if row.group}
    if not groups:
        return {}
    counts = _phases(rows[0].cluster_id, groups)
    shown = {key_of(row) for row in rows if sum(counts.get(key_of(row), {}).values()) > 1}
    wanted = {group for group, _partition in shown} & set(opened)
    tasks: dict[Key, list[ListedJob]] = {}
    for job in starmap(ListedJob, as_listed(jobs.filter(group__in=wanted))) if wanted else ():
        tasks.setdefault(key_of(job), []).append(job)
    return {key: _folded(key, counts[key], tasks.get(key, [])) for key in shown}


def _fold_read(jobs: Sequence[ListedJob], opened: Iterable[str]) -> tuple[list[ListedJob], dict[Key, Folded]]:
    """The same of jobs that were read already: the rows, and their groups."""
    together: dict[object, list[ListedJob]] = {}
    for job in jobs:
        together.setdefault(key_of(job) if job.group else job.pk, []).append(job)
    rows = [tasks[0] for tasks in together.values()]
    groups = {row.group for row in rows if row.group}
    if not groups:
        return rows, {}
    counts = _phases(rows[0].cluster_id, groups)
    wanted, found = set(opened), {}
    for row in rows:
        key = key_of(row)
        if row.group and sum(counts.get(key, {}).values()) > 1:
            found[key] = _folded(key, counts[key], together[key] if row.group in wanted else [])
    return rows, found


def _folded(key: Key, counts: Mapping[str, int], tasks: Sequence[ListedJob]) -> Folded:
    return Folded(key[0], counts, tasks[:MOST_TASKS], is_open=bool(tasks))


def _phases(cluster_id: int, groups: Iterable[str]) -> dict[Key, dict[str, int]]:
    rows = Job.objects.filter(cluster=cluster_id, group__in=groups).order_by()
    found: dict[Key, dict[str, int]] = {}
    for group, partition, phase, count in rows.values_list("group", "partition", "phase").annotate(
        count=Count("pk")
    ):
        found.setdefault((group, partition), {})[phase] = count
    return found


UNCONFIGURED = "none"
LONGEST = 100
FIELDS = ("q", "user", "project", "level", "phase", "node", "partition")
"""The parameters, as they stand in the address."""

STATES: dict[str, tuple[Promise | str, Q]] = {
    **{value: (label, Q(phase=value)) for value, label in JobPhase.choices},
    "held": (gettext_lazy("Held"), Q(phase=JobPhase.PENDING, held=True)),
    "plan": (gettext_lazy("Part of an open plan"), Q(plan__isnull=False)),
    "protected": (gettext_lazy("Protected"), ~Q(protected="")),
    "stopped": (gettext_lazy("Stopped before"), Q(preemptions__gt=0)),
}
"""`phase=` in the address: where a job is, and what else people look for."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are wanted; both lists of a page share it."""

    text: str = ""
    level: str = ""
    user: str = ""
    project: str = ""
    phase: str = ""
    node: str = ""
    partition: str = ""

    @classmethod
    def read(cls, query: QueryDict) -> "JobFilter":
        """From the address; what makes no sense is left out."""

        def typed(name: str) -> str:
            return query.get(name, "").replace("\x00", "").strip()[:LONGEST]

        level, phase = typed("level"), typed("phase")
        return cls(
            text=typed("q"),
            level=level if (level.isdecimal() and len(level) < 5) or level == UNCONFIGURED else "",
            user=typed("user"),
            project=typed("project"),
            phase=phase if phase in STATES else "",
            node=typed("node"),
            partition=typed("partition"),
        )

    def apply(self, jobs: QuerySet[Job], axis: str) -> QuerySet[Job]:
        """The jobs that pass; `axis` is the level that `level` means."""
        if self.text:
            jobs = jobs.filter(
                Q(job_id__startswith=self.text)
                | Q(name__icontains=self.text)
                | Q(user__icontains=self.text)
                | Q(project__iexact=self.text)
            )
        exact = {"user": self.user, "project": self.project, "partition": self.partition}
        jobs = jobs.filter(**{name: value for name, value in exact.items() if value})
        if self.phase:
            jobs = jobs.filter(STATES[self.phase][1])
        if self.node:
            jobs = jobs.filter(alloc__has_key=self.node)
        if self.level == UNCONFIGURED:
            return jobs.filter(**{f"{axis}__isnull": True})
        return jobs.filter(**{axis: int(self.level)}) if self.level else jobs

    @property
    def active(self) -> bool:
        """Whether anything is left out."""
        return self != JobFilter()

    @property
    def further(self) -> list[str]:
        """What is asked for beyond the search, the level and the state."""
        return [value for value in (self.user, self.project, self.node, self.partition) if value]


def kept_parameters(query: QueryDict, *names: str) -> list[tuple[str, str]]:
    """The parameters of the address that a poll is to carry along, as hidden fields."""
    wanted = (*FIELDS, *names)
    return [(name, value) for name in wanted for value in query.getlist(name) if value]
