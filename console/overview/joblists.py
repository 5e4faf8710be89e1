"""Lists of jobs: what the address asks for (order, page, columns) and the rows that answer it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import starmap
from operator import or_
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, OrderBy, Q, QuerySet
from django.db.models.functions import Length
from django.http import QueryDict

from console.cluster.models import Job, JobPhase
from console.overview.columns import COLUMNS, RISK, STARTS, TableColumn, read_columns
from console.overview.folding import Folded, Key, first_of_each, fold_read, folded
from console.overview.listed import ListedJob, as_listed, listed
from console.starts.models import ExpectedStart
from console.starts.selectors import expected_starts, stop_chances
from scheduler.model.jobs import Level

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class ListKind:
    """A kind of list. `key` starts its parameters in the address; `offered` columns may be chosen, `usual` ones are
    there at first."""

    key: str
    default: str
    usual: tuple[str, ...]
    more: tuple[str, ...]

    @property
    def offered(self) -> tuple[str, ...]:
        """All columns that it can have."""
        return (*self.usual, *self.more)

    @property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """Each order's name and the fields that it sorts by."""
        return {COLUMNS[key].sort: _FIELDS[COLUMNS[key].sort] for key in self.offered if COLUMNS[key].sort}


_FIELDS: dict[str, tuple[str, ...]] = {
    "job": (),
    "place": ("unplaced", "place", "waits_since"),
    "user_level": ("user_level", "task_level"),
    "task_level": ("task_level", "user_level"),
    "limit": ("time_limit_s",),
    "expected": ("estimated_start",),
    "submit": ("first_submit",),
    "waits": ("waits_since",),
    **{
        name: (name,)
        for name in (
            "phase", "name", "user", "project", "account", "partition", "start", "preemptions",
        )
    },
}  # fmt: skip
_WHO = ("job", "name", "user", "project")
_LEVELS = ("user_level", "task_level")
WAITING = ListKind(
    "w",
    "place",
    usual=("place", *_WHO, *_LEVELS, "asks", "waits", "why"),
    more=("account", "submitted", "limit", "starts", "expected", "preemptions"),
)
RUNNING = ListKind(
    "r",
    "user_level",
    usual=(*_WHO, *_LEVELS, "holds", "nodes", "runs", "preemptions", "now"),
    more=("account", "submitted", "limit", "risk"),
)
EVERY = ListKind(
    "j",
    "-submit",
    usual=("job", "phase", "name", "user", "project", "partition", *_LEVELS, "holds", "submitted", "why"),
    more=("account", "nodes", "runs", "limit", "expected", "preemptions"),
)
_KINDS = {kind.key: kind for kind in (WAITING, RUNNING, EVERY)}
NULLABLE = frozenset({"user_level", "task_level", "time_limit_s", "estimated_start"})
"""Nothing configured is below every level, no limit above every limit, no expectation later than any."""


@dataclass(frozen=True)
class JobList:
    """One page of one list. `key` starts its parameters in the address: `w_sort`, `w_page`, `w_col`."""

    kind: ListKind
    sort: str
    page: Page[ListedJob]
    columns: list[TableColumn]
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

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its columns, in their order."""
        return tuple(column.key for column in self.columns)


Levels = tuple[Level, Level]
"""A job's user level and task level."""


def _ordering(kind: ListKind, sort: str) -> list[Any]:
    down = sort.startswith("-")
    result: list[Any] = []
    for name in kind.orders[sort.removeprefix("-")]:
        column = F(name)
        if name in NULLABLE:
            result.append(column.desc(nulls_first=True) if down else column.asc(nulls_last=True))
        else:
            result.append(column.desc() if down else column.asc())
    down = down and not result
    numbers = (Length("job_id"), F("job_id"))
    result.extend(OrderBy(number, descending=down) for number in numbers)
    return result


class PartOfPartition(NamedTuple):
    """The jobs of a partition that are in some phases."""

    cluster: int
    partition: str
    phases: tuple[JobPhase, ...]

    def jobs(self) -> QuerySet[Job]:
        """All of them, in no order."""
        rows = Job.objects.filter(cluster=self.cluster, partition=self.partition, phase__in=self.phases)
        return rows.order_by()


@dataclass(frozen=True, slots=True)
class KnownList:
    """What is known of a list before it is read: whether some jobs belong to groups, and how many there are (`total`).

    `levels`: how many there are of each pair of levels. `of`: which jobs they are, where the same list is asked for
    again and again.
    """

    grouped: bool
    total: int | None = None
    levels: Mapping[Levels, int] = field(default_factory=dict)
    of: PartOfPartition | None = None


def read_list(
    query: QueryDict, kind: ListKind, jobs: QuerySet[Job], known: KnownList | None = None
) -> JobList:
    """The page of `jobs` that the address asks for; a page beyond the last shows the last."""
    sort = query.get(f"{kind.key}_sort", kind.default)
    if sort.removeprefix("-") not in kind.orders:
        sort = kind.default
    columns = read_columns(query.getlist(f"{kind.key}_col"), kind.offered, kind.usual)
    wanted, groups = query.get(f"{kind.key}_page"), {}
    known = _counted(jobs) if known is None else known
    if known.total is not None and not known.grouped:
        numbers = range(known.total)
        page: Page[Any] = Paginator(numbers, PAGE_SIZE).get_page(wanted)
        found = _rows(kind, sort, jobs, known, numbers[slice(page.start_index() - 1, page.end_index())])
    else:
        every = _in_order(kind, sort, jobs)
        rows = first_of_each(every, _ordering(kind, sort)) if known.grouped else every
        page = Paginator(as_listed(rows), PAGE_SIZE).get_page(wanted)
        found = list(starmap(ListedJob, page.object_list))
        groups = folded(found, every, query.getlist(f"{kind.key}_open"))
    page.object_list = found
    return JobList(kind, sort, page, columns, groups, *_beside(columns, found, groups))


def _in_order(kind: ListKind, sort: str, jobs: QuerySet[Job]) -> QuerySet[Job]:
    if "place" in kind.orders:
        jobs = jobs.annotate(unplaced=Q(place=0))
    return jobs.order_by(*_ordering(kind, sort))


def _rows(kind: ListKind, sort: str, jobs: QuerySet[Job], known: KnownList, places: range) -> list[ListedJob]:
    """Those at some places of the list. In the order of levels no others are gone through than those of the first
    levels, as many as have so many jobs."""
    is_by_level = sort == "user_level" and sum(known.levels.values()) == known.total
    first = _first(known.levels, places.stop) if is_by_level else None
    if known.of is None:
        return list(starmap(ListedJob, _cut(kind, sort, jobs, places.start, places.stop)))
    rows = _cut_of(known.of, kind.key, sort, first, places.start, places.stop)
    return list(starmap(ListedJob, rows))


def _cut_of(
    of: PartOfPartition, kind: str, sort: str, first: tuple[Levels, ...] | None, start: int, stop: int
) -> QuerySet[Job, Any]:
    jobs = of.jobs() if first is None else of.jobs().filter(_of_levels(first))
    return _cut(_KINDS[kind], sort, jobs, start, stop)


def _cut(kind: ListKind, sort: str, jobs: QuerySet[Job], start: int, stop: int) -> QuerySet[Job, Any]:
    return as_listed(_in_order(kind, sort, jobs))[start:stop]


def _first(levels: Mapping[Levels, int], count: int) -> tuple[Levels, ...]:
    """The highest levels, as many as have `count` jobs together."""
    found: list[Levels] = []
    for pair in sorted(levels, key=lambda pair: [(level is None, level) for level in pair]):
        if count <= 0:
            break
        found.append(pair)
        count -= levels[pair]
    return tuple(found)


def _of_levels(pairs: Iterable[Levels]) -> Q:
    return reduce(or_, (Q(user_level=user, task_level=task) for user, task in pairs), Q(pk__in=()))


def _counted(jobs: QuerySet[Job]) -> KnownList:
    """One look for both: a search reads every job."""
    found = jobs.aggregate(total=Count("pk"), grouped=Count("pk", filter=~Q(group="")))
    return KnownList(found["grouped"] > 0, found["total"])


def fixed_list(key: str, jobs: Sequence[Job], columns: Sequence[str], query: QueryDict) -> JobList:
    """Jobs that were read already, with columns that are not chosen and do not sort."""
    rows, groups = fold_read([listed(job) for job in jobs], query.getlist(f"{key}_open"))
    page = Paginator(rows, max(1, len(rows))).get_page(1)
    unsorted = [replace(column, sort="") for column in read_columns(columns, columns, columns)]
    kind = ListKind(key, "", tuple(columns), ())
    return JobList(kind, "", page, unsorted, groups, *_beside(unsorted, rows, groups))


def _beside(
    columns: Sequence[TableColumn], rows: Sequence[ListedJob], groups: Mapping[Key, Folded]
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
