"""What the pages about the record say in their own words."""

from django import template
from django.utils.translation import gettext

from console.history.past import StudySum, spans_kept
from console.history.plots import number
from console.history.wording import coverage, lost_by, really_stopped
from console.steering.work import work_short
from scheduler.reconcile.compare import ComparedStop, NamedLevel

register = template.Library()


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
