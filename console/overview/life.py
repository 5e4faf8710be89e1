"""A job's life as one bar: when it waited, ran, had time to save, was held, and who caused it. Nothing is read here.

Moments are those of the cluster for runs, and ours for what we did: where they contradict each other, the earlier part
keeps its place. What nobody saw is left blank.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from console.cluster.models import Job, JobPhase
from console.core import clock, l10n_format
from console.overview.plots import svg_number
from console.overview.stories import runs_of
from console.steering.exchanging.sets import is_exchange
from console.steering.explanations import Known
from console.steering.explanations.wording import exchanged_nodes
from console.steering.models import STOP_KINDS, ActionState, PlanKind, PlannedAction
from scheduler.model.actions import ActionKind

WIDTH, HEIGHT = 960, 36
BAR_TOP, BAR_HIGH = 6, 24
MARK = 5
MOST_CAUSES = 4
LEAST = 1.5
"""So wide at least is what lasted for a moment, in units of the drawing."""
DONE = frozenset({ActionState.ISSUED, ActionState.VERIFIED})
"""What failed or was dropped did nothing to the job."""
NEAR_S = 120
"""A run is over so soon after its stop."""


class LifeKind(StrEnum):
    """What it does."""

    WAITING = "waiting"
    RUNNING = "running"
    SAVING = "saving"
    HELD = "held"


WORDS: dict[LifeKind, Promise] = {
    LifeKind.WAITING: pgettext_lazy("part of a job's life", "waited"),
    LifeKind.RUNNING: pgettext_lazy("part of a job's life", "ran"),
    LifeKind.SAVING: pgettext_lazy("part of a job's life", "had time to save"),
    LifeKind.HELD: pgettext_lazy("part of a job's life", "was stopped, held"),
}


class LifeSpan(NamedTuple):
    """A part, in epoch seconds."""

    part: LifeKind
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class LifePart:
    """A part of the bar; measures as SVG takes them."""

    part: LifeKind
    x: str
    width: str
    text: str


@dataclass(frozen=True, slots=True)
class LifeMark:
    """A cause, with its moment. `plan`: the one that it belongs to."""

    css: str
    x: str
    text: str
    plan: int
    at: int


@dataclass(frozen=True, slots=True)
class Life:
    """The whole bar. `key`: of each part its word, and how long it lasted in all."""

    parts: Sequence[LifePart]
    marks: Sequence[LifeMark]
    key: Sequence[tuple[LifeKind, str, str]]
    first: str
    last: str

    size = f"0 0 {WIDTH} {HEIGHT}"
    top, high, whole = BAR_TOP, BAR_HIGH, HEIGHT

    @property
    def causes(self) -> Sequence[LifeMark]:
        """The last few."""
        return self.marks[-MOST_CAUSES:]


def life_of(known: Known) -> Life | None:
    """The bar of a job that the mirror has; None for one that has not lived for a second."""
    row = known.row
    if row is None or not row.first_submit:
        return None
    now = int(known.now.timestamp())
    end = int(row.ended_at.timestamp()) if row.ended_at else now
    acts = [act for act in known.acts if act.state in DONE and act.issued_at]
    spans = list(spans_of(row, runs_of(known), acts, end))
    if not spans:
        return None
    begin, end = spans[0].begin, max(end, spans[-1].end)
    scale = WIDTH / max(1, end - begin)
    parts = [_part(span, begin, scale) for span in spans]
    marks = [
        LifeMark(css, svg_number(min(WIDTH - MARK, max(0.0, (at - begin) * scale))), text, plan, at)
        for at, css, text, plan in sorted(_causes(known, acts))
    ]
    last = _("now") if row.phase != JobPhase.ENDED else _clock(end)
    return Life(parts, marks, _key(spans), _clock(begin), last)


def spans_of(
    row: Job, runs: Iterable[tuple[int, int | None]], acts: Iterable[PlannedAction], end: int
) -> Iterator[LifeSpan]:
    """What it did, in order and without overlap. `runs`: begin and end of each (None: not seen); `end`: of all."""
    acts = sorted((act for act in acts if act.issued_at), key=lambda act: act.id)
    at = row.first_submit
    ordered = sorted(runs, key=lambda run: run[0])
    for number, (begin, ended) in enumerate(ordered):
        following = ordered[number + 1][0] if number + 1 < len(ordered) else None
        yield from _waiting(at, begin, acts if number else ())  # before its first run nobody had stopped it
        at = max(at, begin)
        until = _end_of_run(row, at, ended, following, acts, end)
        yield from _running(at, until, acts)
        at = max(at, until)
    if row.phase == JobPhase.PENDING:
        yield from _waiting(at, end, acts)


def _end_of_run(
    row: Job, begin: int, ended: int | None, following: int | None, acts: Iterable[PlannedAction], end: int
) -> int:
    """When it was seen to end, else when we stopped it, else, of the last one, now."""
    if ended:
        return ended
    if following is None and row.phase != JobPhase.PENDING:
        return end
    stops = (_at(act) for act in acts if act.kind in STOP_KINDS and _at(act) >= begin)
    return next((at for at in stops if following is None or at <= following), begin)


def _waiting(begin: int, end: int, acts: Sequence[PlannedAction]) -> Iterator[LifeSpan]:
    """In the queue; held from our stop, where that ended the run before, to our release."""
    stops = (_at(act) for act in acts if act.kind in STOP_KINDS)
    stopped = next((at for at in stops if begin - NEAR_S <= at <= begin + NEAR_S), None)
    if stopped is None:
        yield from _if_any(LifeSpan(LifeKind.WAITING, begin, end))
        return
    release = (_at(act) for act in acts if act.kind == ActionKind.RELEASE and _at(act) >= stopped)
    freed = min(end, max(begin, next(release, end)))
    yield from _if_any(LifeSpan(LifeKind.HELD, begin, freed))
    yield from _if_any(LifeSpan(LifeKind.WAITING, freed, end))


def _running(begin: int, end: int, acts: Iterable[PlannedAction]) -> Iterator[LifeSpan]:
    signals = (_at(act) for act in acts if act.kind == ActionKind.SIGNAL and begin <= _at(act) <= end)
    signalled = next(signals, end)
    yield from _if_any(LifeSpan(LifeKind.RUNNING, begin, signalled))
    yield from _if_any(LifeSpan(LifeKind.SAVING, signalled, end))


def _if_any(span: LifeSpan) -> Iterator[LifeSpan]:
    if span.end > span.begin:
        yield span


def _causes(known: Known, acts: Iterable[PlannedAction]) -> Iterator[tuple[int, str, str, int]]:
    for act in acts:
        if act.kind in STOP_KINDS:
            words = _("Stopped to make room for %(job)s (%(user)s)")
            if act.plan.kind == PlanKind.GROW:
                words = _("Stopped to start again on more nodes")
            facts = {"job": act.plan.job_id, "user": act.plan.user}
            if is_exchange(act.plan):
                words = _("Stopped to exchange %(up)s for %(instead)s, beside %(job)s (%(user)s)")
                facts |= exchanged_nodes(act.plan)
            yield _at(act), "stop", words % facts, act.plan_id
        elif act.kind == ActionKind.RELEASE:
            yield _at(act), "release", _("Released"), act.plan_id
    for checkpoint in known.checkpoints:
        if checkpoint.acknowledged_at:
            at = int(checkpoint.acknowledged_at.timestamp())
            yield at, "saved", _("Its state is saved"), checkpoint.plan_id
    for plan in known.own:
        if plan.started_at and plan.victims:
            text = _("Others made room for it")
            yield int(plan.started_at.timestamp()), "served", text, plan.pk


def _at(act: PlannedAction) -> int:
    return int(act.issued_at.timestamp()) if act.issued_at else 0


def _part(span: LifeSpan, begin: int, scale: float) -> LifePart:
    x, width = (span.begin - begin) * scale, max(LEAST, (span.end - span.begin) * scale)
    text = _("%(from)s to %(to)s: %(what)s, %(time)s") % {
        "from": _clock(span.begin),
        "to": _clock(span.end),
        "what": WORDS[span.part],
        "time": l10n_format.duration(span.end - span.begin),
    }
    return LifePart(span.part, svg_number(x), svg_number(min(width, WIDTH - x)), text)


def _key(spans: Iterable[LifeSpan]) -> list[tuple[LifeKind, str, str]]:
    total = Counter[LifeKind]()
    for span in spans:
        total[span.part] += span.end - span.begin
    return [(part, str(WORDS[part]), l10n_format.duration(total[part])) for part in LifeKind if part in total]


def _clock(moment: int) -> str:
    local, today = timezone.localtime(clock.from_epoch(moment)), timezone.localtime(clock.now())
    return f"{local:%H:%M:%S %Z}" if local.date() == today.date() else f"{local:%Y-%m-%d %H:%M %Z}"
