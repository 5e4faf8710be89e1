"""A plan's steps on a small time axis: when each kind of step was done, counted from the first one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from console.core.templatetags.ui import word
from console.overview.nodemap import share
from console.steering.models import ActionState, Checkpoint, Plan, PlannedAction
from console.steering.templatetags.steering import begin_of, offset_words

DONE = frozenset({ActionState.ISSUED, ActionState.VERIFIED})


@dataclass(frozen=True, slots=True)
class StepLine:
    """One kind of step: how many, from when to when, and where each stands on the axis. `end`: the job runs."""

    words: str
    count: int
    when: str
    marks: Sequence[str]
    css: str


def step_lines(
    plan: Plan, steps: Sequence[PlannedAction], checkpoints: Iterable[Checkpoint]
) -> list[StepLine]:
    """A line for each kind, the earliest first; empty while nothing was done."""
    by_kind: dict[tuple[str, str], list[datetime]] = {}
    for css, words, at in _moments(plan, steps, checkpoints):
        by_kind.setdefault((css, words), []).append(at)
    if not by_kind:
        return []
    begin = begin_of(plan, steps)
    last = max(max(moments) for moments in by_kind.values())
    whole = max(0.1, (last - begin).total_seconds())
    ordered = sorted(by_kind.items(), key=lambda item: min(item[1]))
    return [_line(css, words, sorted(moments), begin, whole) for (css, words), moments in ordered]


def _moments(
    plan: Plan, steps: Iterable[PlannedAction], checkpoints: Iterable[Checkpoint]
) -> Iterator[tuple[str, str, datetime]]:
    for step in steps:
        if step.state in DONE and step.issued_at:
            yield "step", word(step.kind), step.issued_at
    for each in checkpoints:
        if each.acknowledged_at:
            yield "saved", _("Its state is saved"), each.acknowledged_at
    if plan.started_at:
        yield "runs", _("%(job)s runs") % {"job": plan.job_id}, plan.started_at


def _line(css: str, words: str, moments: Sequence[datetime], begin: datetime, whole: float) -> StepLine:
    after = [(moment - begin).total_seconds() for moment in moments]
    # What comes at the same place is one mark: hundreds of victims are stopped together.
    places = sorted({round(max(0.0, seconds) / whole, 3) for seconds in after})
    first, last = offset_words(after[0]), offset_words(after[-1])
    when = first if first == last else _("%(from)s to %(to)s") % {"from": first, "to": last}
    return StepLine(words, len(moments), when, [share(place, 1) for place in places], css)
