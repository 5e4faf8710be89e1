"""What lanes read again and again of thousands of jobs: kept from one look to the next, and only what has changed read.

Each in the memory of one process, and by what the database itself says of a change: a job's row by its `fingerprint`,
which the mirror writes with all that a bar shows of it; the end of a run by when it was said last.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Case, QuerySet, TextField, Value, When
from django.db.models.functions import Cast

from console.cluster.models import Job
from console.core import clock
from console.core.remembered import on_forgetting
from console.forecasts.models import JobForecast
from console.reports.lane_window import MOST_BARS

HeldRow = tuple[Any, ...]
"""The parts of a `LaneJob` that runs."""
MOST_KEPT = 16
FEW = 500
"""With more changes than this everything is read at once."""
_held: dict[Any, dict[int, tuple[str, HeldRow]]] = {}


def marks_of(jobs: QuerySet[Job]) -> QuerySet[Job, Any]:
    """By which a job's row is known to have changed; one more than are drawn at most."""
    return jobs.values_list("pk", "fingerprint")[: MOST_BARS + 1]


def read_held(
    key: Any, marks: Sequence[tuple[int, str]], jobs: Callable[[], QuerySet[Job]], columns: tuple[str, ...]
) -> list[HeldRow]:
    """Of each of these jobs the columns, where it is, and, of one on several nodes, `alloc` as JSON.

    `marks`: what the database has now for `marks_of(jobs())`. `key`: the partition, and what else the columns hang on.
    """
    before, gone = _held.get(key, {}), frozenset[int]()
    changed = [pk for pk, mark in marks if pk not in before or before[pk][0] != mark]
    if changed:
        wanted = jobs() if len(changed) > FEW else jobs().filter(pk__in=changed)
        told = held_columns(wanted, ("pk", "fingerprint", *columns))
        fresh = {pk: (mark, tuple(row)) for pk, mark, *row in told}
        # One that has ended since its mark was read is not there any more.
        before, gone = before | fresh, frozenset(changed) - fresh.keys()
    now = {pk: before[pk] for pk, _mark in marks if pk not in gone}
    if len(_held) >= MOST_KEPT:
        _held.clear()
    # Who looks at an hour of yesterday must not have everything read again by who looks at now.
    _held[key] = before if len(before) <= 2 * len(now) else now
    return [row for _mark, row in now.values()]


def held_columns(jobs: QuerySet[Job], columns: tuple[str, ...]) -> QuerySet[Job, Any]:
    """With `several`. Most jobs are on one node: only the others' JSON is read."""
    alloc = When(on_node="", then=Cast("alloc", TextField()))
    several = Case(alloc, default=Value(""), output_field=TextField())
    return jobs.annotate(several=several).values_list(*columns, "on_node", "several")


class SaidEnd(NamedTuple):
    """When the run that began at `start` should end, epoch seconds; nothing of a job that waits."""

    job_id: str
    submit: int
    start: int | None
    low: int | None
    p50: int | None
    high: int | None


class _Ends(NamedTuple):
    """`whole_at`: when all were read, by the process's clock. `until`: all that was said before then is known."""

    whole_at: float
    until: datetime
    by_job: dict[str, SaidEnd]


WHOLE_S = 60
"""After so long all are read again."""
LATE = timedelta(minutes=2)
"""What is written may be seen so much later than it says, and clocks may differ by as much."""
_ends: dict[int, _Ends] = {}


def read_ends(cluster: int) -> Mapping[str, SaidEnd]:
    """What is forecast of the ends of a cluster's jobs; of one that was submitted again, what was said last."""
    rows = JobForecast.objects.filter(cluster=cluster).order_by("submit")
    there, kept, now = rows.filter(ended_at=None), _ends.get(cluster), clock.now()
    if kept is None or not 0 <= time.monotonic() - kept.whole_at < WHOLE_S or now < kept.until:
        kept = _Ends(time.monotonic(), now, _said(there.filter(renewed__isnull=False)))
    else:
        since = kept.until - LATE
        # What was said of a job that was put back and waits tells of a run that is over: its `start` is another one.
        fresh = _said(there.filter(renewed__gte=int(since.timestamp())))
        kept = _Ends(kept.whole_at, now, _merged(kept.by_job, _said(rows.filter(ended_at__gte=since)), fresh))
    if len(_ends) >= MOST_KEPT:
        _ends.clear()
    _ends[cluster] = kept
    return kept.by_job


def said_ends(cluster: int) -> QuerySet[JobForecast, Any]:
    """The fields of `SaidEnd`, to be asked for of a few jobs."""
    return _columns(
        JobForecast.objects.filter(cluster=cluster, ended_at=None, renewed__isnull=False).order_by("submit")
    )


def _merged(
    known: Mapping[str, SaidEnd], closed: Mapping[str, SaidEnd], fresh: Mapping[str, SaidEnd]
) -> dict[str, SaidEnd]:
    found = dict(known)
    for job, said in closed.items():
        if job in found and found[job].submit == said.submit:
            del found[job]
    for job, said in fresh.items():
        if job not in found or found[job].submit <= said.submit:
            found[job] = said
    return found


def _said(rows: QuerySet[JobForecast]) -> dict[str, SaidEnd]:
    return {row[0]: SaidEnd(*row) for row in _columns(rows)}


def _columns(rows: QuerySet[JobForecast]) -> QuerySet[JobForecast, Any]:
    return rows.values_list("job_id", "submit", "start", "end_low", "end_p50", "end_high")


on_forgetting(_held.clear)
on_forgetting(_ends.clear)
