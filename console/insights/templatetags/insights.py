"""What the page of insights writes in its tables."""

from django import template

from console.insights.answers import CauseOfLoss, ProjectBalance, ProjectUnevenness
from console.insights.models import StopCause
from console.insights.wording import project_words
from console.steering.selectors import Work, work_short

register = template.Library()


@register.filter
def work(value: Work) -> str:
    """`1.4 GPU-h`; a dash for none."""
    return work_short(value)


@register.filter
def cause(row: CauseOfLoss) -> str:
    """Why jobs were stopped, in words."""
    return str(StopCause(row.cause).label)


@register.filter
def project(row: ProjectBalance | ProjectUnevenness) -> str:
    """The project's code; words for none."""
    return project_words(row)
