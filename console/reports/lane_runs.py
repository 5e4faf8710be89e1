"""The bars of the jobs that run: thousands, of which few have changed since the last look.

A bar is kept with what it was made of and with the moment from which on its end moves with the clock: an end that is
forecast, and past, is always about to come. Bars whose end stands still come first, in the order of the rows, those
whose end moves behind them: so what is said of the first is the same text as in the last answer.
"""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

from console.cluster.models import JobPhase
from console.core.remembered import on_forgetting
from console.reports.lane_bar import FORECAST, KNOWN, LIMIT, RUNNING, STOP, LaneBar, bar_of
from console.reports.lane_kept import HeldRow, SaidEnd
from console.reports.lane_rows import LaneJob, Place
from console.starts.remaining_time import RunsLeft, SaidOfRun


class _End(NamedTuple):
    """Of a run; `until`: from when on it moves with the clock, 0 where it does so now."""

    end: int | None
    end_by: str
    low: int | None
    high: int | None
    until: float


class _Known(NamedTuple):
    """The bar of the last look (None: it is on no lane of the partition), and all that it was made of."""

    row: HeldRow
    said: SaidEnd | None
    bar: LaneBar | None
    until: float


_START = LaneJob._fields.index("start")
_Kept = tuple[Mapping[str, int], dict[str, _Known]]
MOST_KEPT = 16
_kept: dict[Any, _Kept] = {}
"""Of each partition its lanes and, by job, the bars of the last look."""


def running_bars(
    place: Place, held: Iterable[HeldRow], ends: Mapping[str, SaidEnd], leaving: frozenset[str]
) -> list[LaneBar]:
    """`ends`: what is forecast, by job. `leaving`: the jobs that stop for somebody."""
    key = place.key
    places, before = _kept.get(key, ({}, {}))
    if places != place.places:
        before = {}
    clock, now = place.window.now, {}
    steady: list[LaneBar] = []
    moving: list[LaneBar] = []
    for row in held:
        job: str = row[0]
        said, known = ends.get(job), before.get(job)
        if said is not None and said.start != row[_START]:
            said = None  # of another run, if any
        if (
            known is None
            or known.until <= clock
            or known.row != row
            or known.said != said
            or (leaving and job in leaving)
        ):
            known = _made(place, row, said, known, job in leaving)
        now[job] = known
        if known.bar is not None:
            (steady if known.until else moving).append(known.bar)
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    _kept[key] = (place.places, now)
    return steady + moving


def _made(place: Place, row: HeldRow, said: SaidEnd | None, before: _Known | None, leaves: bool) -> _Known:
    """Anew; a bar that is equal to the last one is that one."""
    job = LaneJob(*row)
    lanes = place.lanes(job.nodes)
    if not lanes:
        return _Known(row, said, None, inf)
    end = _end(job, said, place.window.now, leaves)
    bar = bar_of(job, RUNNING, lanes, job.start)._replace(
        end=end.end, end_by=end.end_by, low=end.low, high=end.high
    )
    if before is not None and before.bar == bar:
        bar = before.bar
    return _Known(row, said, bar, end.until)


def _end(job: LaneJob, said: SaidEnd | None, now: int, leaves: bool) -> _End:
    """Without a forecast and a limit, nothing tells it."""
    forecast = None if said is None else SaidOfRun(0, 0, 0, 0, 0, said.low, said.p50, said.high)
    left = RunsLeft(
        now,
        {} if forecast is None else {job.job_id: forecast},
        frozenset({job.job_id}) if leaves else frozenset(),
    ).of(job)
    if leaves or job.phase == JobPhase.COMPLETING:
        return _End(now + round(left.p50), STOP if leaves else KNOWN, None, None, 0)
    limit = inf if job.time_limit_s is None else job.start + job.time_limit_s
    if said is not None and said.p50 is not None:
        told = (now + round(left.low), now + round(left.high))
        is_whole = said.low is not None and said.high is not None
        first = min(said.low or 0, said.p50, said.high or 0) if is_whole else 0
        return _End(now + round(left.p50), FORECAST, *told, _until(min(limit, first), now))
    if job.time_limit_s is not None:
        return _End(now + round(left.p50), LIMIT, None, None, _until(limit, now))
    return _End(None, "", None, None, inf)


def _until(moment: float, now: int) -> float:
    return moment if moment > now else 0


on_forgetting(_kept.clear)
