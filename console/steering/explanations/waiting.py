"""Why is my job waiting? What holds it back, who is before it, and what would change that."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.cluster.models import Job
from console.core import clock
from console.core.l10n_format import names, one_after_the_other
from console.core.translate import holding_back
from console.steering.decisions.rejections import HEEDED
from console.steering.explanations.answer import About, AnswerLine, AnswerPart
from console.steering.explanations.growing import starts_again
from console.steering.explanations.known import Known
from console.steering.explanations.placed import waits_for_its_nodes
from console.steering.explanations.wording import (
    jobs,
    kept,
    level_in_line,
    lower_first,
    one_line,
    sentence,
    stopping,
    victims,
    who,
)
from console.steering.models import KeptPlace, Plan, PlanKind, PlanState
from scheduler.model.policy import LineOrder, Mode, PartitionPolicy
from scheduler.model.reasons import Reason
from scheduler.preemption.sentences import clean

# --- With which level a job would have somebody to stop, where nobody who runs makes room for it ---


def higher(known: Known, row: Job) -> AnswerLine:
    """With which level it would reach somebody; whether that made enough room is another question."""
    policy, lowest = known.policies.get(row.partition), known.lowest.get(row.partition)
    if policy is None or lowest is None:
        return AnswerLine(_("It starts when a running job ends."))
    by_user = policy.mode in {Mode.USER, Mode.USER_THEN_TASK}
    rank = _top_of_band(policy, lowest.user_level if by_user else lowest.task_level)
    if rank == 0:
        return AnswerLine(_("It starts when a running job ends."))
    facts_of = {
        "job": who(lowest.job_id, lowest.user),
        "axis": _("user level") if by_user else _("task level"),
        "level": clean(policy.levels[rank].name) if rank is not None else _("none"),
    }
    text = _("A higher %(axis)s than %(level)s might change that: then %(job)s could be stopped for it.")
    return AnswerLine(text % facts_of)


def _top_of_band(policy: PartitionPolicy, rank: int | None) -> int | None:
    """The highest level of those that a level shares its band with: whoever is above it stops them."""
    for band in policy.bands or ():
        if rank in band:
            return min((each for each in band if each is not None), default=None)
    return rank


SILENT = frozenset({"", "none", "priority", "resources"})
"""Slurm's reasons that say no more than that there is no room yet."""
CHANGES: dict[str, Promise] = {
    Reason.NOT_ENOUGH_EVEN_SO: gettext_lazy(
        "It starts when jobs of its rank or above have ended, or if it asks for less."
    ),
    Reason.DOES_NOT_FIT_EVER: gettext_lazy(
        "It never starts as it is: submit it again for less, or elsewhere."
    ),
    Reason.HOURLY_LIMIT: gettext_lazy("It changes as the stops of the last hour go out of it."),
    Reason.CRASHES: gettext_lazy(
        "It starts in free room; or submit it again, once you know why it ends so soon."
    ),
    Reason.NO_LASTING_ROOM: gettext_lazy("It starts when a running job ends."),
    Reason.OVER_QUOTA_REJECTED: gettext_lazy("It starts once enough other jobs of its level have ended."),
    Reason.OVER_QUOTA_HELD: gettext_lazy("It starts once enough other jobs of its level have ended."),
}
"""What would change a verdict, where that does not depend on the numbers."""
STILL_TOLD = timedelta(hours=1)
"""How long a rejected or undone plan is told to who waits."""


def waiting(known: Known, row: Job) -> AnswerPart:
    """The answer for one partition in which the job waits."""
    plan = known.open_plan(row.partition)
    headline = _headline(known, row, plan)
    if len(known.rows) > 1:
        headline = _("In %(partition)s: %(what)s") % {"partition": clean(row.partition), "what": headline}
    return AnswerPart(About.WAITING, headline, tuple(_lines(known, row, plan)), plan.pk if plan else None)


def _headline(known: Known, row: Job, plan: Plan | None) -> str:
    if plan is not None and not plan.not_now:
        return _of_its_plan(row, plan)
    if not row.reason:
        return _("It waits; Giveway has not decided on it yet.")
    if known.next_try and row.reason == Reason.BLOCKED:
        return _("It waits: a plan to make room for it was undone.")
    return _("It waits: %s.") % (holding_back(row.explain) or lower_first(sentence(row.reason)))


def _of_its_plan(row: Job, plan: Plan) -> str:
    if plan.kind == PlanKind.QUOTA:
        return _("It is held: %s is over quota.") % clean(row.user)
    if plan.kind == PlanKind.WHOLE:
        return _("It is held until all %d jobs of its group fit at once (partial=no).") % len(plan.tasks)
    if plan.kind == PlanKind.GROW and plan.victims:
        return starts_again(plan)
    if plan.state != PlanState.PROPOSED:
        if plan.undo_reason:
            return _("It waits: it is taken back in line.")
        return _("Room is being made for it.") if plan.victims else _("It is put first in Slurm's line.")
    if plan.enforcement == "approve" and not plan.victims:
        return _("It waits for approval: a plan would put it first in Slurm's line.")
    if plan.enforcement == "approve":
        return _("It waits for approval: a plan would make room for it.")
    return _("It waits: Giveway would make room for it, but only watches this partition (shadow).")


def _lines(known: Known, row: Job, plan: Plan | None) -> Iterator[AnswerLine]:
    if known.cluster.fault:
        yield AnswerLine(
            _("Slurm cannot be observed: nothing is decided and nobody stopped. It was last seen"),
            known.cluster.observed_at,
        )
    for streak in known.streaks:
        if streak.partition in ("", row.partition):
            yield AnswerLine(_("The last cycle failed: nobody is stopped until one has ended well."))
            break
    if row.explain:
        yield AnswerLine(kept(row.explain, 1000))
    if known.kept is not None and known.kept.partition == row.partition:
        yield from _kept_nodes(known.kept)
    yield from waits_for_its_nodes(known, row)
    if plan is not None:
        yield from _of_plan(plan)
    yield from _in_line(known, row)
    yield from _in_slurms_line(known, row)
    yield from _held_back(known, row)
    yield from _of_slurm(row)
    change = _would_change(known, row, plan)
    if change:
        yield change


def _kept_nodes(place: KeptPlace) -> Iterator[AnswerLine]:
    """Which nodes are kept for it, and until when."""
    if place.refused:
        yield AnswerLine(_("Slurm would not keep nodes for it: %s") % one_line(place.refused, 200))
        return
    if place.guest_of:
        text = _(
            "It is let onto %(nodes)s, kept for job %(job)s: it is forecast to end before that one comes."
        )
        yield AnswerLine(text % {"nodes": names(place.nodes), "job": clean(place.guest_of)})
        return
    if place.nodes:
        text = _("%(nodes)s are kept for it, where it is expected to start")
        yield AnswerLine(text % {"nodes": names(place.nodes)}, clock.from_epoch(place.at))
        text = _("That is renewed as long as it waits. Were Giveway to stop, it would end by itself")
        yield AnswerLine(text, clock.from_epoch(place.until))


def _of_plan(plan: Plan) -> Iterator[AnswerLine]:
    names = {"plan": plan.pk, "victims": victims(plan), "partition": clean(plan.partition)}
    if plan.kind in (PlanKind.QUOTA, PlanKind.GROW):
        return
    if plan.kind == PlanKind.WHOLE:
        if plan.deadline:
            yield AnswerLine(_("Plan %(plan)s lets them go in any case") % names, plan.deadline)
        return
    if not plan.victims and plan.state == PlanState.PROPOSED:
        text = _(
            "An administrator of %(partition)s has to approve plan %(plan)s, which stops nobody. It was made"
        )
        yield AnswerLine(text % names, plan.created_at)
    elif plan.state != PlanState.PROPOSED:
        stops = stopping(
            plan,
            _("Plan %(plan)s stops %(victims)s for it."),
            _("Plan %(plan)s has %(victims)s make room for it."),
        )
        yield AnswerLine(
            (stops if plan.victims else _("Plan %(plan)s stops nobody: there is free room.")) % names
        )
        if plan.undo_reason:
            yield AnswerLine(_("That plan is being undone: %s") % kept(plan.undo_reason))
        elif plan.deadline:
            yield AnswerLine(_("Unless it runs by then, the plan is undone"), plan.deadline)
    elif plan.not_now:
        yield AnswerLine(
            _("Plan %(plan)s goes on standing: it can be approved as soon as room can be made.") % names
        )
    else:
        yield _proposed(plan, names)


def _proposed(plan: Plan, names: dict[str, Any]) -> AnswerLine:
    """What has to happen before others make room for it."""
    if plan.enforcement == "approve":
        text = stopping(
            plan,
            _(
                "An administrator of %(partition)s has to approve plan %(plan)s, which would stop %(victims)s. "
                "It was made"
            ),
            _(
                "An administrator of %(partition)s has to approve plan %(plan)s: %(victims)s would make room. "
                "It was made"
            ),
        )
        return AnswerLine(text % names, plan.created_at)
    text = stopping(
        plan,
        _("Plan %(plan)s would stop %(victims)s, if %(partition)s enforced its plans."),
        _("Plan %(plan)s would have %(victims)s make room, if %(partition)s enforced its plans."),
    )
    return AnswerLine(text % names)


def _in_slurms_line(known: Known, row: Job) -> Iterator[AnswerLine]:
    """Its place in Slurm's own line, and why it is there."""
    policy = known.policies.get(row.partition)
    if not row.line_place or policy is None:
        return
    place = {"place": row.line_place, "partition": clean(row.partition)}
    if row.line_ordered:
        yield AnswerLine(_("It stands at place %(place)s in Slurm's line of %(partition)s.") % place)
    elif policy.order is LineOrder.LEVELS:
        text = _("By level it would stand at place %(place)s in Slurm's line of %(partition)s.")
        yield AnswerLine(text % place)
    else:
        return
    facts = {"level": level_in_line(row, policy.mode), "priority": row.own_priority}
    text = _(
        "Higher levels stand first; its own is %(level)s. Inside it Slurm's own priority decides: %(priority)s."
    )
    yield AnswerLine(text % facts)
    if row.keeps_place:
        yield AnswerLine(_("It keeps the place that it had before all who came later in its level."))


def _in_line(known: Known, row: Job) -> Iterator[AnswerLine]:
    if row.reason == Reason.BLOCKED:
        return  # Nobody is before a job that may not start: room is not what it waits for.
    if row.place == 1:
        yield AnswerLine(_("It is the next in line of %s.") % clean(row.partition))
    elif row.place:
        place = _("It is at place %(place)s in line of %(partition)s.")
        text = place % {"place": row.place, "partition": clean(row.partition)}
        before = list(reversed(known.ahead.get(row.partition, ())))
        policy = known.policies.get(row.partition)
        if before and policy is not None:
            text = one_after_the_other((text, _("Just before it: %s.") % jobs(before, policy.mode)))
        yield AnswerLine(text)


def _held_back(known: Known, row: Job) -> Iterator[AnswerLine]:
    """Whatever keeps Giveway from making room for it now, each with when that ends, if it ends by itself."""
    policy = known.policies.get(row.partition)
    pause = known.pauses.get(row.partition)
    if pause:
        yield AnswerLine(_("Nobody is stopped for any job here: %s.") % kept(pause))
    yield from _after_a_plan(known, row)
    if policy is not None:
        yield from _not_before(known, row, policy)


def _after_a_plan(known: Known, row: Job) -> Iterator[AnswerLine]:
    plan = known.last_plan(row.partition)
    ended = (plan.ended_at or plan.decided_at) if plan else None
    if plan is None or plan.kind != PlanKind.PREEMPT or ended is None:
        return
    if known.next_try is None and known.now - ended > STILL_TOLD:
        return
    if plan.state == PlanState.REJECTED:
        said = one_line(plan.decision_reason or plan.outcome)
        text = _("%(who)s rejected plan %(plan)s for it: %(why)s")
        yield AnswerLine(text % {"who": clean(plan.decided_by), "plan": plan.pk, "why": said}, ended)
        if row.reason == Reason.PLAN_REJECTED:
            yield AnswerLine(_("The same jobs may be asked for again"), ended + HEEDED)
    elif plan.state in (PlanState.UNDONE, PlanState.FAILED):
        text = _("Plan %(plan)s for it was undone: %(why)s")
        yield AnswerLine(text % {"plan": plan.pk, "why": kept(plan.outcome)}, ended)
        if known.next_try:
            yield AnswerLine(_("A new plan may be made for it"), known.next_try)


def _not_before(known: Known, row: Job, policy: PartitionPolicy) -> Iterator[AnswerLine]:
    patient_until = clock.from_epoch(row.submit + policy.min_wait_s)
    if policy.min_wait_s and patient_until > known.now:
        yield AnswerLine(_("A job waits for a while here first; others may be stopped for it"), patient_until)
    stopped = max((stop.issued_at for stop in known.stops if stop.issued_at), default=None)
    if stopped is not None and policy.cool_down_s:
        calm_until = stopped + timedelta(seconds=policy.cool_down_s)
        if calm_until > known.now:
            yield AnswerLine(
                _("It was stopped a moment ago itself; others may be stopped for it"), calm_until
            )


def _of_slurm(row: Job) -> Iterator[AnswerLine]:
    said = row.slurm_reason.strip().strip("()")
    if said.lower() not in SILENT:
        yield AnswerLine(_("Slurm says: %s.") % one_line(said, 200))
    if row.estimated_start:
        yield AnswerLine(_("Slurm expects it to start"), clock.from_epoch(row.estimated_start))


def _would_change(known: Known, row: Job, plan: Plan | None) -> AnswerLine | None:
    """The nearest thing that would alter it, as far as that is certain."""
    if plan is not None and plan.kind == PlanKind.QUOTA:
        level = clean(row.task_level_name or _("the same level"))
        text = _("It is let go as soon as another job of %(user)s at %(level)s ends.")
        return AnswerLine(text % {"user": clean(row.user), "level": level})
    if plan is not None and plan.kind == PlanKind.WHOLE:
        text = _("Without partial=no in its comment it starts by itself: scontrol update JobId=%s Comment=…")
        return AnswerLine(text % clean(row.job_id))
    if plan is not None and plan.victims and plan.awaits_decision and not plan.not_now:
        text = ngettext(
            "Approved, it starts as soon as %d job has made room.",
            "Approved, it starts as soon as %d jobs have made room.",
            len(plan.victims),
        )
        return AnswerLine(text % len(plan.victims))
    if plan is not None and not plan.not_now:
        return None
    if row.reason == Reason.NOTHING_LOWER_RUNS:
        return higher(known, row)
    return AnswerLine(str(CHANGES[row.reason])) if row.reason in CHANGES else None
