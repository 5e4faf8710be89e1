"""Putting the parts together: what matters most to whoever asks about this job now comes first."""

from collections.abc import Iterator
from datetime import timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.cluster.models import Job, JobPhase
from console.core import clock, l10n_format
from console.steering.explanations.answer import About, AnswerLine, AnswerPart, JobAnswer, Return, Stage
from console.steering.explanations.growing import growth
from console.steering.explanations.known import Known
from console.steering.explanations.placed import runs_on_its_nodes
from console.steering.explanations.stopping import DONE, as_stop, comes_back, count_line, passed_over, stopped
from console.steering.explanations.waiting import waiting
from console.steering.explanations.wording import kept, one_line, stopping, victims, who
from console.steering.models import Plan, PlanKind, PlannedAction
from scheduler.preemption.sentences import clean

DETAILED = 3
"""So many stops are told in full; of the earlier ones only when and for whom."""
FORGOTTEN = "forgotten"
"""The state of a job that the mirror no longer has."""


def explain(known: Known) -> JobAnswer:
    """The answer, from what is known; nothing is read here."""
    row, latest = known.row, (known.stops[0] if known.stops else None)
    plans = [*(stop.plan for stop in known.stops), *known.own]
    partitions = tuple(each.partition for each in known.rows) or tuple({plan.partition for plan in plans})
    policy = known.policies.get(latest.plan.partition if latest else partitions[0])
    most = policy.max_preemptions_per_job if policy else None
    return JobAnswer(
        job_id=known.job_id,
        name=_name(known),
        user=_user(known),
        partitions=partitions,
        state=_state(row),
        parts=tuple(_ordered(known, row, latest, most)),
        stopped_by=tuple(as_stop(known, stop) for stop in known.stops),
        comes_back=_back(known, latest),
        plan=_plan(known, row, latest),
        stops=sum(stop.state in DONE for stop in known.stops),
        most_stops=most,
    )


def _state(row: Job | None) -> str:
    if row is None:
        return FORGOTTEN
    return "held" if row.phase == JobPhase.PENDING and row.held else str(row.phase)


def _name(known: Known) -> str:
    if known.row:
        return known.row.name
    return known.own[0].job_name if known.own else known.acts[0].job_name if known.acts else ""


def _user(known: Known) -> str:
    if known.row:
        return known.row.user
    return known.own[0].user if known.own else known.acts[0].user if known.acts else ""


def _back(known: Known, latest: PlannedAction | None) -> Return | None:
    return comes_back(known, latest) if latest else None


def _plan(known: Known, row: Job | None, latest: PlannedAction | None) -> int | None:
    """The plan that matters now: an open one for it, the one that stopped it, or the last one for it."""
    own = known.open_plan(row.partition) if row else None
    if own is None and latest is not None:
        return latest.plan_id
    own = own or (known.own[0] if known.own else None)
    return own.pk if own else None


def _ordered(
    known: Known, row: Job | None, latest: PlannedAction | None, most: int | None
) -> Iterator[AnswerPart]:
    """A job that is being or was stopped and is not back: that first. Else what it does now, then the past."""
    stage = comes_back(known, latest).stage if latest else None
    stops = list(_stops(known, most))
    away = stage in {Stage.STOPPING, Stage.HELD, Stage.RELEASED, Stage.NEVER, Stage.LOST}
    if away:
        yield stops.pop(0)
    if row is None or row.phase == JobPhase.ENDED:
        if stage != Stage.NEVER:
            yield _ended(row)
    elif row.phase == JobPhase.PENDING:
        if stage != Stage.HELD:
            yield from (waiting(known, each) for each in _in_order(known))
    elif not away:  # If it was stopped, the mirror shows a moment ago.
        yield _running(known, row)
    yield from _room(known)
    yield from growth(known)
    yield from stops


def _in_order(known: Known) -> list[Job]:
    rows = [row for row in known.rows if row.phase == JobPhase.PENDING]
    return sorted(rows, key=lambda row: (row.place == 0, row.place))


def _stops(known: Known, most: int | None) -> Iterator[AnswerPart]:
    done = sum(stop.state in DONE for stop in known.stops)
    for number, stop in enumerate(known.stops[:DETAILED]):
        part = stopped(known, stop)
        if number == 0 and done:
            part = AnswerPart(part.about, part.headline, (*part.lines, count_line(done, most)), part.plan)
        yield part
    earlier = [stop for stop in known.stops[DETAILED:] if stop.state in DONE]
    if earlier:
        text = ngettext(
            "It was stopped %d time before that.", "It was stopped %d times before that.", len(earlier)
        )
        lines = (
            AnswerLine(_("For %s") % who(stop.plan.job_id, stop.plan.user), stop.issued_at)
            for stop in earlier
        )
        yield AnswerPart(About.STOPPED, text % len(earlier), tuple(lines))


# --- It runs, or it is over -------------------------------------------------------------------------------


def _running(known: Known, row: Job) -> AnswerPart:
    ending = row.phase == JobPhase.COMPLETING
    headline = _("It is ending; what it holds comes free.") if ending else _("It runs.")
    return AnswerPart(About.RUNNING, headline, tuple(_running_lines(known, row)))


def _running_lines(known: Known, row: Job) -> Iterator[AnswerLine]:
    where = (
        l10n_format.names(clean(node) for node in sorted(row.alloc)) if row.alloc else clean(row.partition)
    )
    if row.start:
        yield AnswerLine(_("It started on %s") % where, clock.from_epoch(row.start))
    yield from runs_on_its_nodes(known)
    if row.phase == JobPhase.COMPLETING:
        return
    for plan in known.proposals:
        facts = {"plan": plan.pk, "job": who(plan.job_id, plan.user), "partition": clean(plan.partition)}
        if plan.enforcement == "approve":
            text = _("Plan %(plan)s would stop it for %(job)s; it waits for an administrator's approval.")
        else:
            text = _(
                "Plan %(plan)s would stop it for %(job)s, but %(partition)s is in shadow: nobody is stopped."
            )
        yield AnswerLine(text % facts)
    if row.protected:
        yield AnswerLine(_("Nobody may stop it: %s.") % kept(row.protected))
        return
    yield from _may_be_stopped(known, row)


def _may_be_stopped(known: Known, row: Job) -> Iterator[AnswerLine]:
    policy = known.policies.get(row.partition)
    young_until = clock.from_epoch(row.start) + timedelta(seconds=policy.exempt_s if policy else 0)
    if young_until > known.now:
        yield AnswerLine(_("Jobs that young are left alone here; it may be stopped"), young_until)
    pause = known.pauses.get(row.partition)
    if pause:
        yield AnswerLine(_("Nobody is stopped here: %s.") % kept(pause))


def _ended(row: Job | None) -> AnswerPart:
    if row is None:
        text = _("Slurm has forgotten it. This is what Giveway has kept.")
        return AnswerPart(About.ENDED, text)
    return AnswerPart(
        About.ENDED, _("It is no longer on the cluster."), (AnswerLine(_("It ended"), row.ended_at),)
    )


# --- Room was made for it ---------------------------------------------------------------------------------


def _room(known: Known) -> Iterator[AnswerPart]:
    """The newest plan that was carried out for it; while it waits, `waiting` speaks of the open one."""
    waits = known.row is not None and known.row.phase == JobPhase.PENDING
    plans = [plan for plan in known.own if plan.kind == PlanKind.PREEMPT and plan.started_at]
    if waits or not plans:
        return
    plan = plans[0]
    headline = _("Room was made for it.") if plan.victims else _("It was put first in Slurm's line.")
    yield AnswerPart(About.ROOM, headline, tuple(_room_lines(plan)), plan.pk)


def _room_lines(plan: Plan) -> Iterator[AnswerLine]:
    stopped_them = stopping(
        plan,
        _("Plan %(plan)s stopped %(victims)s for it."),
        _("Plan %(plan)s had %(victims)s make room for it."),
    )
    text = (
        stopped_them if plan.victims else _("Plan %(plan)s put it first in Slurm's line and stopped nobody.")
    )
    yield AnswerLine(text % {"plan": plan.pk, "victims": victims(plan)})
    yield AnswerLine(_("It was seen running"), plan.started_at)
    yield AnswerLine(kept(plan.explain, 1000))
    yield from passed_over(plan)
    if plan.decided_by:
        said = {"who": clean(plan.decided_by), "why": one_line(plan.decision_reason)}
        text = _("%(who)s approved it: %(why)s") if plan.decision_reason else _("%(who)s approved it.")
        yield AnswerLine(text % said, plan.decided_at)
