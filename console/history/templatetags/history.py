"""What the pages about the record say in their own words."""

from django import template

from console.history.wording import lost_by
from console.steering.work import work_short
from scheduler.reconcile.compare import Stop

register = template.Library()


@register.filter
def work_of_stop(stop: Stop) -> str:
    """`1.4 GPU-h · 12 CPU-h`."""
    return work_short(lost_by([stop]))


@register.filter
def beyond(count: int, most: int) -> int:
    """How many rows are not shown."""
    return max(0, count - most)
