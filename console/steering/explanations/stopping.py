"""Why was my job stopped: for whom, by which rule, who was passed over, what it saved, and when it comes back."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from console.cluster.models import Job, JobPhase
from console.core import clock, l10n_format
from console.core.templatetags.ui import word
from console.steering.decisions.facts import run_of
from console.steering.exchanging.sets import is_exchange
from console.steering.explanations.answer import About, AnsweredStop, AnswerLine, AnswerPart, Return, Stage
from console.steering.explanations.known import Known
from console.steering.explanations.wording import exchanged_nodes, kept, one_line, sentence, times, who
from console.steering.models import ActionState, Plan, PlannedAction
from scheduler.model.actions import LEFT_HELD, ActionKind
from scheduler.model.policy import VictimOrder
from scheduler.model.sentence import say
from scheduler.preemption.sentences import clean

DONE = frozenset({ActionState.ISSUED, ActionState.VERIFIED})
OVER = frozenset({ActionState.EXPIRED, ActionState.FAILED})
UNASKED = say("action.unasked")
NAMED = 6
"""Jobs that were passed over, named per reason."""


def stopped(known: Known, stop: PlannedAction) -> AnswerPart:
    """The answer for one stop of the job."""
    plan = stop.plan
    back = comes_back(known, stop)
    headlines = {
        Stage.STOPPING: _("It is about to be stopped, to make room for %s."),
        Stage.SPARED: _("It was chosen to make room for %s, and was not stopped after all."),
        Stage.NEVER: _("It was cancelled, to make room for %s."),
        Stage.HELD: _("It was stopped to make room for %s, and is held until that job runs."),
        Stage.RELEASED: _("It was stopped to make room for %s, and waits to run again."),
        Stage.LOST: _("It was stopped to make room for %s, and did not come back."),
    }
    headline = headlines.get(back.stage, _("It was stopped to make room for %s.")) % who(
        plan.job_id, plan.user
    )
    if is_exchange(plan):
        headline = _of_exchange(plan, back)
    asks = {
        Stage.STOPPING: _("Why is it going to be stopped?"),
        Stage.SPARED: _("Was it going to be stopped?"),
        Stage.NEVER: _("Why was it cancelled?"),
    }
    lines = tuple(_lines(known, stop, back))
    return AnswerPart(About.STOPPED, headline, lines, plan.pk, asks.get(back.stage, ""))


def _of_exchange(plan: Plan, back: Return) -> str:
    """The same for a job that exchanges a node."""
    headlines = {
        Stage.STOPPING: _(
            "It is about to be stopped to exchange %(up)s for %(instead)s, so that it and %(job)s have even sets."
        ),
        Stage.SPARED: _(
            "It was chosen to exchange %(up)s for %(instead)s, so that it and %(job)s have even sets, and was not "
            "stopped after all."
        ),
        Stage.LOST: _(
            "It was stopped to exchange %(up)s for %(instead)s, so that it and %(job)s have even sets, and did not "
            "come back."
        ),
    }
    text = headlines.get(
        back.stage,
        _("It was stopped to exchange %(up)s for %(instead)s, so that it and %(job)s have even sets."),
    )
    return text % (exchanged_nodes(plan) | {"job": who(plan.job_id, plan.user)})


def _lines(known: Known, stop: PlannedAction, back: Return) -> Iterator[AnswerLine]:
    plan = stop.plan
    if stop.state in DONE:
        yield AnswerLine(_("It was stopped"), stop.issued_at)
    yield AnswerLine(back.text, back.at)
    if back.stage is Stage.HELD:
        text = _(
            "A hold of your own leaves no trace in Slurm meanwhile. What is kept: a begin time (scontrol update "
            "JobId=%(job)s StartTime=…), and a hold after a release (scontrol release %(job)s; scontrol hold %(job)s)."
        )
        yield AnswerLine(text % {"job": stop.job_id})
    yield from _saved(known, stop)
    yield AnswerLine(kept(plan.explain, 1000))
    yield from _rule(known, plan)
    yield from _levels(known, plan)
    yield from passed_over(plan)
    if plan.decided_by:
        text = (
            _("%(who)s approved the plan: %(why)s")
            if plan.decision_reason
            else _("%(who)s approved the plan.")
        )
        said = {"who": clean(plan.decided_by), "why": one_line(plan.decision_reason)}
        yield AnswerLine(text % said, plan.decided_at)


def as_stop(known: Known, stop: PlannedAction) -> AnsweredStop:
    """The same for programs."""
    checkpoint = known.checkpoint(stop)
    return AnsweredStop(
        plan=stop.plan_id,
        job_id=stop.plan.job_id,
        user=stop.plan.user,
        at=stop.issued_at if stop.state in DONE else None,
        stage=comes_back(known, stop).stage,
        saved=one_line(checkpoint.saved) if checkpoint else "",
    )


# --- By which rule ----------------------------------------------------------------------------------------


def _rule(known: Known, plan: Plan) -> Iterator[AnswerLine]:
    facts = {
        "mode": word(plan.mode),
        "partition": clean(plan.partition),
        "why": sentence(plan.reason),
        "number": plan.policy_revision,
    }
    yield AnswerLine(
        _("The rule of %(partition)s: mode “%(mode)s”, policy revision %(number)s. %(why)s") % facts
    )
    policy = known.revisions.get((plan.partition, plan.policy_revision or 0))
    if policy is not None:
        orders = {
            VictimOrder.SHORTEST_RUNTIME: _(
                "Of one level those go first that have run for the shortest time."
            ),
            VictimOrder.LEAST_LOST_WORK: _("Of one level those go first with whom the least work is lost."),
        }
        yield AnswerLine(orders[policy.victim_order])


def _levels(known: Known, plan: Plan) -> Iterator[AnswerLine]:
    """The levels of both, as they were, each with where it came from."""
    mine: dict[str, str] = next((victim for victim in plan.victims if victim.get("job") == known.job_id), {})
    row = next((row for row in known.rows if row.partition == plan.partition), None)
    if "user_level" in mine:
        user = _level(mine["user_level"], mine.get("user_origin", row.user_origin if row else ""))
        task = _level(mine.get("task_level", ""), mine.get("task_origin", row.task_origin if row else ""))
        yield AnswerLine(
            _("This job: user level %(user)s, task level %(task)s.") % {"user": user, "task": task}
        )
    other = known.others.get((plan.partition, plan.job_id))
    if other is not None:
        facts = {
            "job": clean(plan.job_id),
            "user": _level(other.user_level_name, other.user_origin),
            "task": _level(other.task_level_name, other.task_origin),
        }
        yield AnswerLine(_("%(job)s: user level %(user)s, task level %(task)s.") % facts)


def _level(name: str, origin: str) -> str:
    shown = clean(name) if name and name != "unconfigured" else _("none")
    return _("%(word)s (%(why)s)") % {"word": shown, "why": kept(origin, 120)} if origin else shown


def passed_over(plan: Plan) -> Iterator[AnswerLine]:
    """Who else was looked at and left alone, by reason."""
    by_reason: dict[str, list[str]] = {}
    for other in plan.passed_over:
        by_reason.setdefault(str(other.get("reason", "")), []).append(clean(str(other.get("job", ""))))
    for reason, ids in by_reason.items():
        facts = {"jobs": l10n_format.names(ids, NAMED), "why": sentence(reason)}
        yield AnswerLine(_("Left alone: %(jobs)s. %(why)s") % facts)


# --- What it saved ----------------------------------------------------------------------------------------


def _saved(known: Known, stop: PlannedAction) -> Iterator[AnswerLine]:
    checkpoint = known.checkpoint(stop)
    if checkpoint is None:
        signals = _siblings(known, stop, ActionKind.SIGNAL)
        if stop.state in DONE and not signals:
            yield AnswerLine(
                _("It was not asked to save its state: the partition sends no checkpoint signal.")
            )
        elif any(signal.detail == UNASKED for signal in signals):
            yield AnswerLine(
                _(
                    "It was not asked to save its state: others wait for its end, and a script that does not catch the "
                    "signal would end by it. A word ckpt: in its comment says that it does."
                )
            )
        return
    if checkpoint.acknowledged_at is None:
        asked = _("It has not said that it saved its state. It was asked")
        yield AnswerLine(asked, checkpoint.asked_at)
    elif checkpoint.saved:
        yield AnswerLine(_("It saved its state: %s") % one_line(checkpoint.saved), checkpoint.acknowledged_at)
    else:
        yield AnswerLine(_("It said that it has saved its state."), checkpoint.acknowledged_at)


# --- When it comes back -----------------------------------------------------------------------------------


def comes_back(known: Known, stop: PlannedAction) -> Return:
    """How far the stopped run is on its way back: held, released, waiting for room, running again; or lost."""
    lost = known.lost.get((stop.plan_id, run_of(stop)))
    if lost is not None:
        return Return(Stage.LOST, _("It did not come back: submit it again. %s") % kept(lost.words))
    return _on_its_way(known, stop)


def _on_its_way(known: Known, stop: PlannedAction) -> Return:
    if stop.state in OVER:
        return Return(Stage.SPARED, kept(stop.detail) or _("The plan no longer needed it."))
    if stop.state not in DONE:
        return _stopping(stop, known.now)
    if stop.kind == ActionKind.CANCEL:
        return Return(
            Stage.NEVER, _("It cannot be requeued and does not come back by itself: submit it again.")
        )
    began = _next_start(known, stop)
    if began is not None:
        return _started_again(known, stop, began)
    released = next((r for r in _siblings(known, stop, ActionKind.RELEASE) if r.state in DONE), None)
    if known.row is None or known.row.phase == JobPhase.ENDED:
        ended = known.row.ended_at if known.row else None
        return Return(Stage.ENDED, _("It is no longer on the cluster."), ended)
    if released is not None:
        return _released(known.row, released)
    dropped = next((r for r in _siblings(known, stop, ActionKind.RELEASE) if r.detail in LEFT_HELD), None)
    if dropped is not None and known.row.held:
        return Return(Stage.RELEASED, kept(dropped.detail))
    return _held(stop.plan)


def _stopping(stop: PlannedAction, now: datetime) -> Return:
    if stop.not_before and stop.not_before > now:
        return Return(Stage.STOPPING, _("Its time to save its state ends"), stop.not_before)
    if stop.not_before:
        return Return(Stage.STOPPING, _("Its time to save its state is over: it is stopped now."))
    return Return(Stage.STOPPING, _("It is being stopped now."))


def _next_start(known: Known, stop: PlannedAction) -> tuple[int, datetime] | None:
    """The run after the stopped one, by its number of restarts, and when it began: as it was seen, or as a later stop
    or checkpoint tells of it."""
    starts = [(run.restarts, clock.from_epoch(run.start)) for run in known.runs]
    starts += [
        (row.restarts, clock.from_epoch(row.start))
        for row in known.rows
        if row.start and row.phase != JobPhase.COMPLETING
    ]
    starts += [
        (each.run_restarts, clock.from_epoch(each.run_start)) for each in known.stops if each.run_start
    ]
    checkpoint = known.checkpoint(stop)
    if checkpoint is not None and checkpoint.resumed_at:
        starts.append((checkpoint.resumed_restarts or stop.run_restarts + 1, checkpoint.resumed_at))
    return min((each for each in starts if each[0] > stop.run_restarts), default=None)


def _started_again(known: Known, stop: PlannedAction, began: tuple[int, datetime]) -> Return:
    restarts, at = began
    row = known.row
    if row is not None and row.phase == JobPhase.ENDED and row.restarts <= restarts:
        return Return(Stage.ENDED, _("It ran again, and is no longer on the cluster."), row.ended_at)
    if any(other.run_restarts >= restarts and other.state in DONE for other in known.stops):
        return Return(Stage.RUNNING, _("It started again, and was stopped once more later. It started"), at)
    return Return(Stage.RUNNING, _("It started again"), at)


def _released(row: Job, released: PlannedAction) -> Return:
    if row.place:
        text = _("It waits for room like any other job, at place %d in line. It was released") % row.place
    else:
        text = _("It waits for room like any other job. It was released")
    return Return(Stage.RELEASED, text, released.issued_at)


def _held(plan: Plan) -> Return:
    if is_exchange(plan) and not plan.undo_reason:
        return Return(Stage.HELD, _("It starts again in a moment, on the nodes that are kept for it."))
    job = who(plan.job_id, plan.user)
    if plan.started_at or plan.undo_reason:
        why = _("%s runs") % job if plan.started_at else _("the plan is being undone")
        return Return(Stage.HELD, _("It is released in a moment: %s.") % why)
    text = _("It is held until %s runs, so that nobody takes the room; without that it is released")
    return Return(Stage.HELD, text % job, plan.deadline)


def _siblings(known: Known, stop: PlannedAction, kind: ActionKind) -> Sequence[PlannedAction]:
    """Other actions of the same plan on the same run."""
    run = (stop.plan_id, stop.run_start, stop.run_restarts)
    return [a for a in known.acts if a.kind == kind and (a.plan_id, a.run_start, a.run_restarts) == run]


def count_line(stops: int, most: int | None) -> AnswerLine:
    """How often it was stopped, and how many times at most."""
    if most is None:
        return AnswerLine(_("It was stopped %s so far.") % times(stops))
    if stops >= most:
        text = _("It was stopped %(n)s so far, as often as the partition allows: it is protected now.")
        return AnswerLine(text % {"n": times(stops)})
    text = _("It was stopped %(n)s so far; %(most)s at most, then it is protected.")
    return AnswerLine(text % {"n": times(stops), "most": times(most)})
