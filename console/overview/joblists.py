"""Lists of jobs: what the address asks for (order, page, columns) and the rows that answer it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, OrderBy, Q, QuerySet
from django.db.models.functions import Length
from django.http import QueryDict

from console.cluster.models import Job
from console.overview.columns import COLUMNS, RISK, STARTS, TableColumn, read_columns
from console.overview.folding import Folded, Key, first_of_each, fold_read, folded
from console.overview.listed import ListedJob, as_listed, listed
from console.starts.models import ExpectedStart
from console.starts.selectors import expected_starts, stop_chances

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


class _KnownCount(Paginator):
    """A paginator that is told the count, where the page has counted already."""

    def __init__(self, rows: QuerySet[Job, Any], total: int) -> None:
        super().__init__(rows, PAGE_SIZE)
        self.__dict__["count"] = total


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


def read_list(
    query: QueryDict,
    kind: ListKind,
    jobs: QuerySet[Job],
    total: int | None = None,
    *,
    grouped: bool | None = None,
) -> JobList:
    """The page of `jobs` that the address asks for; a page beyond the last shows the last.

    `total`: how many there are, `grouped`: whether some belong to groups, if that is known already.
    """
    sort = query.get(f"{kind.key}_sort", kind.default)
    if sort.removeprefix("-") not in kind.orders:
        sort = kind.default
    if "place" in kind.orders:
        jobs = jobs.annotate(unplaced=Q(place=0))
    ordering = _ordering(kind, sort)
    rows = every = jobs.order_by(*ordering)
    if grouped is None:
        total, grouped = _counted(jobs)
    if grouped:
        rows, total = first_of_each(every, ordering), None
    parts = as_listed(rows)
    paginator = Paginator(parts, PAGE_SIZE) if total is None else _KnownCount(parts, total)
    page: Page[Any] = paginator.get_page(query.get(f"{kind.key}_page"))
    found = page.object_list = list(starmap(ListedJob, page.object_list))
    columns = read_columns(query.getlist(f"{kind.key}_col"), kind.offered, kind.usual)
    groups = folded(found, every, query.getlist(f"{kind.key}_open"))
    return JobList(kind, sort, page, columns, groups, *_beside(columns, found, groups))


def _counted(jobs: QuerySet[Job]) -> tuple[int, bool]:
    """How many there are, and whether some belong to groups. One look for both: a search reads every job."""
    found = jobs.aggregate(total=Count("pk"), grouped=Count("pk", filter=~Q(group="")))
    return found["total"], found["grouped"] > 0


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
