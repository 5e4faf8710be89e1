"""What the pages about the record say in their own words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.translation import gettext

from console.core import l10n_format
from console.history.hindsight.wording import lost_of, lost_words
from console.history.past import StudySum, spans_kept
from console.history.plots import number
from console.history.wording import coverage, lost_by, really_stopped
from console.steering.work import work_short
from scheduler.reconcile.compare import ComparedStop, NamedLevel

register = template.Library()
Group = Mapping[str, Any]


register.filter("work_short", work_short)
register.filter("coverage", coverage)
register.filter("really_stopped", really_stopped)


register.simple_tag(spans_kept, name="spans_kept")


@register.filter
def work_of_stop(stop: ComparedStop) -> str:
    """`1.4 GPU-h · 12 CPU-h`."""
    return work_short(lost_by([stop]))


@register.filter
def beyond(count: int, most: int) -> int:
    """How many rows are not shown."""
    return max(0, count - most)


@register.filter
def series_class(number: int) -> str:
    """The tone of a series: what was, what is, what would be."""
    return ("state-calm", "", "state-strong")[number % 3]


@register.filter
def hours_of(day_side: StudySum, level: NamedLevel) -> str:
    """How long jobs of a level waited together, in hours: `12.4`."""
    return number(day_side.waited.get(level, 0.0) / 3600)


@register.filter
def hours(value: float) -> str:
    """`12.4`."""
    return number(value)


@register.filter
def told(fault: str) -> str:
    """Why a study failed: kept as the worker said it, told in the reader's language where that has the sentence."""
    return gettext(fault)


@register.filter
def range_of(found: Group) -> str:
    """`3 min – 6 min`, of a wait; nothing where all runs say the same."""
    low, high = l10n_format.duration(found["low"]), l10n_format.duration(found["high"])
    return "" if low == high else f"{low} – {high}"


@register.filter
def count_range(found: Group) -> str:
    """`20 – 40`; nothing where all runs say the same."""
    return "" if found["low"] == found["high"] else f"{found['low']} – {found['high']}"


@register.filter
def hindsight_lost(row: Group) -> str:
    """`1.4 GPU-h`."""
    return work_short(lost_of(row))


@register.filter
def lost_range(row: Group) -> str:
    """`1.2 GPU-h – 1.6 GPU-h`; nothing where all runs say the same."""
    low, high = (lost_words(row, which) for which in ("low", "high"))
    return "" if low == high else f"{low} – {high}"


@register.filter
def hindsight_project(row: Group) -> str:
    """A project's code; words where jobs belong to none."""
    return str(row["project"]) or gettext("no project")


@register.filter
def days_of(answer: Group) -> str:
    """`2026-10-26 – 2026-11-25`."""
    ends = (timezone.localtime(datetime.fromisoformat(answer[key])) for key in ("since", "until"))
    return " – ".join(f"{each:%Y-%m-%d}" for each in ends)
