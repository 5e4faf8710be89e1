"""The pictures of a plan's page: nodes before and after, and steps on a time axis."""

from collections.abc import Iterator, Sequence

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from console.core.markup import job_address, text
from console.core.templatetags.ui import level_class
from console.overview.nodemap import Segment
from console.overview.planrooms import PlanRooms, RoomBar, rooms_of
from console.overview.plansteps import StepLine, step_lines
from console.steering.models import Checkpoint, Plan, PlannedAction

register = template.Library()


@register.simple_tag
def plan_rooms(plans: Sequence[Plan]) -> PlanRooms | None:
    """What plans that are decided together change on their nodes."""
    return rooms_of(plans)


@register.simple_tag
def plan_steps(
    plan: Plan, steps: Sequence[PlannedAction], checkpoints: Sequence[Checkpoint]
) -> list[StepLine]:
    """The plan's steps, a line for each kind."""
    return step_lines(plan, steps, checkpoints)


@register.simple_tag
def room_bar(bar: RoomBar) -> SafeString:
    """A bar: blocks in the colours of the levels, each a link to its job; who makes room is hatched."""
    jobs = reverse("jobs")
    return SafeString(
        f'<svg class="cells" role="group" aria-label="{text(bar.words)}">'
        f"{''.join(_block(block, jobs) for block in bar.segments)}</svg>"
    )


def _block(block: Segment, jobs: str) -> str:
    """Places and widths are shares that `planrooms` has written: nothing to escape."""
    return "".join(_pieces(block, jobs))


def _pieces(block: Segment, jobs: str) -> Iterator[str]:
    label, mark = text(block.label), " leaving" if block.leaving else ""
    css = "elsewhere" if block.elsewhere else ""
    linked = block.job_id and not block.elsewhere
    if linked:
        to = text(job_address(jobs, block.job_id))
        yield f'<a class="{level_class(block.level)}{mark}" href="{to}" aria-label="{label}">'
    else:
        yield f'<g class="{level_class(block.level)}{mark}">'
    fill = ' fill="url(#hatch)"' if block.level is None and not block.elsewhere else ""
    place = f'x="{block.x}" width="{block.w}" height="100%"'
    yield f'<title>{label}</title><rect class="{css}" {place}{fill}/>'
    if block.leaving:  # Letters could not be read on it.
        yield f'<rect class="cut" {place} fill="url(#cut)"/>'
    elif block.letters:
        yield f'<text x="{block.middle}" y="50%" aria-hidden="true">{text(block.letters)}</text>'
    yield "</a>" if linked else "</g>"
    if block.start:
        yield f'<line class="edge" x1="{block.x}" x2="{block.x}" y2="100%"/>'
