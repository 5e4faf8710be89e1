"""The bars of jobs that wait, where a plan makes room for them or where they are expected.

There may be thousands. As in `lane_runs` a bar is kept with what it was made of, until its start moves with the clock:
a start that is expected, and past, is always now.
"""

import json
from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

from console.core.remembered import on_forgetting
from console.reports.lane_bar import EXPECTED, FORECAST, LIMIT, PLANNED, LaneBar, bar_of
from console.reports.lane_rows import LaneJob, Place, StartSaid
from console.starts.remaining_time import RunsLeft, SaidOfRun
from console.steering.models import Plan


class _Known(NamedTuple):
    """A bar (None: no node of the partition is known), what it was made of, and until when it is as it is."""

    job: LaneJob
    plan: tuple[Any, ...]
    said: StartSaid | None
    run: SaidOfRun | None
    bar: LaneBar | None
    until: float


MOST_KEPT = 16
_kept: dict[Any, tuple[Mapping[str, int], dict[str, _Known]]] = {}
"""Of each partition its lanes and, by job, the bars of the last look."""


class ComingBars:
    """Makes the bars of one look, and keeps them for the next one."""

    def __init__(self, place: Place, left: RunsLeft) -> None:
        self._place, self._left = place, left
        self._key = place.key
        places, before = _kept.get(self._key, ({}, {}))
        self._before = before if places == place.places else {}
        self._now: dict[str, _Known] = {}

    def bar(self, job: LaneJob, plan: Plan | None, said: StartSaid | None) -> LaneBar | None:
        """None where no node is known."""
        known, run = self._before.get(job.job_id), self._left.forecasts.get(job.job_id)
        planned = (plan.pk, *plan.placement) if plan else ()
        facts = (job, planned, said, run)
        if known is None or known[:4] != facts or known.until <= self._place.window.now:
            bar = self._made(job, plan, said)
            # One that begins now begins a second later in a second.
            is_still = bar is None or bar.start > self._place.window.now
            known = _Known(*facts, bar, (inf if bar is None else bar.start) if is_still else 0)
        self._now[job.job_id] = known
        return known.bar

    def remember(self) -> None:
        """All bars of this look are made."""
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[self._key] = (self._place.places, self._now)

    def _made(self, job: LaneJob, plan: Plan | None, said: StartSaid | None) -> LaneBar | None:
        lanes = self._place.lanes(plan.placement if plan else json.loads(said.nodes) if said else ())
        if not lanes:
            return None
        left, now = self._left, self._place.window.now
        start = max(now, said.p50) if said is not None and said.p50 is not None else now
        bar = bar_of(job, PLANNED if plan else EXPECTED, lanes, start)
        bar = bar._replace(plan=plan.pk if plan else None)
        if said is not None:
            bar = bar._replace(low=said.low, high=said.high)
        if job.job_id not in left.forecasts and job.time_limit_s is None:
            return bar
        end_by = FORECAST if job.job_id in left.forecasts else LIMIT
        return bar._replace(end=start + round(left.whole(job).p50), end_by=end_by)


on_forgetting(_kept.clear)
