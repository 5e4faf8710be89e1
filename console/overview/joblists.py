"""Lists of jobs: what the address asks for (search, filter, order, page) and the rows that answer it."""

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, OrderBy, Q, QuerySet
from django.db.models.functions import Length
from django.http import QueryDict

from console.cluster.models import Job

PAGE_SIZE = 50
UNCONFIGURED = "none"


@dataclass(frozen=True, slots=True)
class ListKind:
    """A kind of list. `key` starts its parameters in the address; `orders` maps a column's name to what it sorts by."""

    key: str
    default: str
    orders: dict[str, tuple[str, ...]]


_COLUMNS: dict[str, tuple[str, ...]] = {
    "job": (),
    "name": ("name",),
    "user": ("user",),
    "project": ("project",),
    "user_level": ("user_level", "task_level"),
    "task_level": ("task_level", "user_level"),
}
WAITING = ListKind(
    "w", "place", {**_COLUMNS, "place": ("unplaced", "place", "submit"), "submit": ("submit",)}
)
RUNNING = ListKind("r", "user_level", {**_COLUMNS, "start": ("start",), "preemptions": ("preemptions",)})
EVERY = ListKind(
    "j", "-submit", {**_COLUMNS, "submit": ("submit",), "partition": ("partition",), "phase": ("phase",)}
)
NULLABLE = frozenset({"user_level", "task_level"})


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are wanted; both lists of a page share it."""

    text: str = ""
    level: str = ""

    @classmethod
    def read(cls, query: QueryDict) -> "JobFilter":
        """From the address; what makes no sense is left out."""
        level = query.get("level", "")
        return cls(
            query.get("q", "").strip()[:100], level if level.isdecimal() or level == UNCONFIGURED else ""
        )

    def apply(self, jobs: QuerySet[Job], axis: str) -> QuerySet[Job]:
        """The jobs that pass."""
        if self.text:
            jobs = jobs.filter(
                Q(job_id__startswith=self.text)
                | Q(name__icontains=self.text)
                | Q(user__icontains=self.text)
                | Q(project__iexact=self.text)
            )
        if self.level == UNCONFIGURED:
            return jobs.filter(**{f"{axis}__isnull": True})
        return jobs.filter(**{axis: int(self.level)}) if self.level and len(self.level) < 5 else jobs

    @property
    def active(self) -> bool:
        """Whether anything is left out."""
        return bool(self.text or self.level)


@dataclass(frozen=True, slots=True)
class JobList:
    """One page of one list. `key` starts its parameters in the address: `w_sort`, `w_page`."""

    key: str
    sort: str
    page: Page[Job]

    @property
    def page_param(self) -> str:
        """The page's parameter in the address."""
        return f"{self.key}_page"


class _KnownCount(Paginator):
    """A paginator that is told the count, where the page has counted already."""

    def __init__(self, rows: QuerySet[Job], total: int) -> None:
        super().__init__(rows, PAGE_SIZE)
        self.__dict__["count"] = total


def _ordering(kind: ListKind, sort: str) -> list[Any]:
    down = sort.startswith("-")
    result: list[Any] = []
    for name in kind.orders[sort.removeprefix("-")]:
        column = F(name)
        if name in NULLABLE:
            # Nothing configured is below every level: last when the highest come first.
            result.append(column.desc(nulls_first=True) if down else column.asc(nulls_last=True))
        else:
            result.append(column.desc() if down else column.asc())
    down = down and not result
    numbers = (Length("job_id"), F("job_id"))
    result.extend(OrderBy(number, descending=down) for number in numbers)
    return result


def read_list(query: QueryDict, kind: ListKind, jobs: QuerySet[Job], total: int | None = None) -> JobList:
    """The page of `jobs` that the address asks for; a page beyond the last shows the last.

    `total`: how many there are, if that is known already.
    """
    sort = query.get(f"{kind.key}_sort", kind.default)
    if sort.removeprefix("-") not in kind.orders:
        sort = kind.default
    if "place" in kind.orders:
        jobs = jobs.annotate(unplaced=Q(place=0))
    rows = jobs.defer("comment", "request", "fingerprint").order_by(*_ordering(kind, sort))
    paginator = Paginator(rows, PAGE_SIZE) if total is None else _KnownCount(rows, total)
    return JobList(kind.key, sort, paginator.get_page(query.get(f"{kind.key}_page")))
