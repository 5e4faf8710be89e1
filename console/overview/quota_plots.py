"""A level's quotas over time, for the page: a plot per limit, who was nearest to it, and the numbers as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from console.core.l10n_format import duration, percent, set_in_type, with_aside
from console.core.lazy import lazy
from console.history.quota_times import (
    QuotaLine,
    QuotaStep,
    QuotaTimes,
    quota_times_key,
    read_quota_times,
    usual_level,
)
from console.history.spans import picks, span_asked
from console.overview.plots import Plot, Scale, css_of, plot
from console.partitions.models import Partition
from console.partitions.quotas import Use
from scheduler.model.policy import PartitionPolicy

MINUTE_S = 60
NEAREST = 5
"""Users of a limit that the page names."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A user beside a limit: the most they used of it, and how long they had all of it, in words."""

    what: str
    use: Use
    full: str


@dataclass(frozen=True, slots=True)
class Cells:
    """What a row of the table says of one limit."""

    average: str
    most: str
    full: str


@dataclass(frozen=True, slots=True)
class QuotaPlotRow:
    """A step, with the cells of each limit."""

    at: datetime
    cells: list[Cells]


def quota_times_context(
    partition: Partition, policy: PartitionPolicy, level: str, span: str
) -> dict[str, Any]:
    """The context of the page's section about a level, by name; one that there is not counts as the first with a
    limit. Empty where the policy has no levels. One query, and one more where `times_look_like` is new."""
    names = [rule.name for rule in policy.levels]
    rank = names.index(level) if level in names else usual_level(policy)
    if rank is None:
        return {}
    key = quota_times_key(partition, policy, rank, span)
    times = lazy(read_quota_times, partition, policy, rank, span, key)
    return {
        "times": True,
        "times_look_like": f"{key} {partition.revision_id} {get_language()}",
        "level": names[rank],
        "level_picks": [(place, name, place == rank) for place, name in enumerate(names)],
        "span_picks": picks(span_asked(span)),
        "heads": lazy(lambda: [_what(line) for line in times().lines]),
        "plots": lazy(lambda: [_plot(line, number) for number, line in enumerate(times().lines)]),
        "nearest": lazy(lambda: list(_nearest(times()))),
        "rows": lazy(lambda: _rows(times())),
    }


def _what(line: QuotaLine) -> str:
    """`gpu of each user`."""
    if line.limit.of_all:
        return set_in_type(_("%(what)s of all users together") % {"what": line.limit.label})
    return set_in_type(_("%(what)s of each user") % {"what": line.limit.label})


def _plot(line: QuotaLine, number: int) -> Plot:
    css = css_of(str(line.limit.rank))
    # What runs when a limit is lowered goes on running: more than all of it can be used.
    highest = max((step.share or 0.0 for step in line.steps), default=0.0)
    return plot(
        f"quota-{number}",
        _what(line),
        _summary(line),
        line.steps,
        lambda step: [(css, step.share or 0.0)],
        Scale(percent, most=max(1.0, highest)),
    )


def _summary(line: QuotaLine) -> str:
    if line.peak is None:
        return _("nobody used any of it")
    said = _most(line.use(line.peak))
    if not line.full:
        return _("at most %(use)s") % {"use": said}
    facts = {"use": said, "time": duration(MINUTE_S * line.full)}
    if line.limit.of_all:
        return _("at most %(use)s; used up for %(time)s") % facts
    return _("at most %(use)s; somebody had all of it for %(time)s") % facts


def _most(use: Use) -> str:
    """`12 / 16 gpu (ann)`."""
    return with_aside(use.text, use.user) if use.user else use.text


def _nearest(times: QuotaTimes) -> Iterator[Nearest]:
    for line in times.lines:
        if not line.limit.of_all:
            for time in line.nearest[:NEAREST]:
                yield Nearest(
                    _what(line), line.use(time.peak), duration(MINUTE_S * time.full) if time.full else "–"
                )


def _rows(times: QuotaTimes) -> list[QuotaPlotRow]:
    """The latest first; steps of which nothing is known are left out."""
    if not times.lines:
        return []
    together = zip(*(line.steps for line in times.lines), strict=True)
    rows = [
        QuotaPlotRow(steps[0].at, [_cells(line, step) for line, step in zip(times.lines, steps, strict=True)])
        for steps in together
        if any(step.minutes for step in steps)
    ]
    return rows[::-1]


def _cells(line: QuotaLine, step: QuotaStep) -> Cells:
    return Cells(
        "–" if step.share is None else percent(step.share),
        "–" if step.peak is None else _most(line.use(step.peak)),
        duration(MINUTE_S * step.full) if step.full else "–",
    )
