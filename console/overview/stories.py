"""A job's story: what happened to it, in order, from the mirror, the plans and their actions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.cluster.models import Job, JobPhase, JobRun
from console.core import clock, l10n_format
from console.core.translate import resay
from console.steering.exchanging.sets import is_exchange
from console.steering.explanations import Known
from console.steering.explanations.wording import exchanged_nodes
from console.steering.models import ActionState, Checkpoint, Plan, PlannedAction, PlanState
from scheduler.model.actions import REQUEUED, STOPPING, ActionKind

ACTION_SENTENCES: dict[str, Promise] = {
    ActionKind.PRIORITISE: gettext_lazy("Giveway put it first in line"),
    ActionKind.PLACE: gettext_lazy("Giveway put it in its place in line"),
    ActionKind.RESTORE_PRIORITY: gettext_lazy("Giveway gave it back its own place in line"),
    ActionKind.SIGNAL: gettext_lazy("Giveway sent it the checkpoint signal"),
    ActionKind.REQUEUE_HOLD: gettext_lazy("Giveway stopped it and put it back into the queue, held"),
    ActionKind.RECOVER: gettext_lazy(
        "The checkpoint signal had ended it; Giveway put it back into the queue, held"
    ),
    ActionKind.CANCEL: gettext_lazy("Giveway cancelled it"),
    ActionKind.ALLOW_REQUEUE: gettext_lazy("Giveway made it requeueable again"),
    ActionKind.HOLD: gettext_lazy("Giveway held it"),
    ActionKind.RELEASE: gettext_lazy("Giveway released it"),
    ActionKind.RESIZE: gettext_lazy("Giveway gave it another number of nodes"),
    ActionKind.SHRINK: gettext_lazy("Giveway took nodes from it; it goes on with the others"),
    ActionKind.KEEP: gettext_lazy("Giveway kept nodes for it"),
    ActionKind.LET_GO: gettext_lazy("Giveway keeps no nodes for it any more"),
    ActionKind.BEGIN: gettext_lazy("Giveway set when it may begin"),
}
FORGOTTEN = gettext_lazy(
    "The cluster had forgotten that it was stopped; Giveway put it back into the queue, held"
)
ACTION_ICONS: dict[str, str] = {
    ActionKind.PRIORITISE: "arrow-up",
    ActionKind.PLACE: "arrow-down",
    ActionKind.RESTORE_PRIORITY: "arrow-down",
    ActionKind.SIGNAL: "device-floppy",
    ActionKind.REQUEUE_HOLD: "player-stop",
    ActionKind.RECOVER: "arrow-back-up",
    ActionKind.CANCEL: "circle-x",
    ActionKind.ALLOW_REQUEUE: "refresh",
    ActionKind.HOLD: "lock",
    ActionKind.RELEASE: "lock-open",
    ActionKind.RESIZE: "refresh",
    ActionKind.SHRINK: "arrow-down",
    ActionKind.KEEP: "lock",
    ActionKind.LET_GO: "lock-open",
    ActionKind.BEGIN: "clock",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the story. `plan` is the plan it belongs to."""

    at: datetime
    icon: str
    text: str
    detail: str = ""
    plan: int | None = None


def tell(known: Known) -> list[Event]:
    """The story of a job, oldest first; nothing is read here."""
    events = [event for row in known.rows for event in _seen(row)]
    events += [_began(run) for run in known.runs]
    seen = {(run.start, run.restarts) for run in known.runs}
    events += [
        _began(run) for row in known.rows for run in _unkept(row) if (run.start, run.restarts) not in seen
    ]
    events += [event for plan in known.own for event in _planned(plan)]
    events += [event for action in known.acts for event in _acted(action)]
    events += [event for checkpoint in known.checkpoints for event in _saved(checkpoint)]
    return sorted(events, key=lambda event: event.at)


def runs_of(known: Known) -> list[tuple[int, int | None]]:
    """Begin and end of every run that was seen, in epoch seconds; None: its end was not seen, or has not come."""
    runs = list(known.runs)
    seen = {(run.start, run.restarts) for run in runs}
    for row in known.rows:
        runs += [run for run in _unkept(row) if (run.start, run.restarts) not in seen]
    return [(run.start, run.ended or None) for run in runs]


def _seen(row: Job) -> list[Event]:
    where = _("partition %s") % row.partition
    asks = _("asks for %s") % resay(row.resources) if row.phase == JobPhase.PENDING and row.resources else ""
    who = {"user": row.user, "where": where}
    was_back = row.submit != row.first_submit
    # Slurm sets the submit time anew when it requeues a job.
    first = (
        _("Back in the queue of %(where)s")
        if row.restarts and not was_back
        else _("%(user)s submitted it to %(where)s")
    )
    events = [
        Event(
            clock.from_epoch(row.first_submit),
            "upload",
            l10n_format.set_in_type(first % who),
            "" if was_back else asks,
        )
    ]
    if was_back:
        again = l10n_format.set_in_type(_("Back in the queue of %(where)s") % who)
        events.append(Event(clock.from_epoch(row.submit), "upload", again, asks))
    if row.ended_at:
        events.append(
            Event(row.ended_at, "check", _("No longer on the cluster (ended)"), row.slurm_state.lower())
        )
    return events


def _unkept(row: Job) -> Iterator[JobRun]:
    """Its last run: the only one, or one that began before runs were kept."""
    if row.start and not (row.restarts and row.phase == JobPhase.COMPLETING):
        yield JobRun(start=row.start, restarts=row.restarts, nodes=sorted(row.alloc))


def _began(run: JobRun) -> Event:
    text = _("Started again on %s") if run.restarts else _("Started on %s")
    nodes = l10n_format.names(run.nodes) if run.nodes else _("the cluster")
    lasted = _("ran for %s") % l10n_format.duration(run.ended - run.start) if run.ended else ""
    return Event(clock.from_epoch(run.start), "player-play", text % nodes, lasted)


def _planned(plan: Plan) -> list[Event]:
    shadow = _(" (shadow: nothing was touched)") if plan.enforcement == "shadow" else ""
    events = [
        Event(
            plan.created_at, "arrows-exchange", _("Plan made for it") + shadow, resay(plan.explain), plan.pk
        )
    ]
    if plan.decided_by and plan.decided_at:
        verdict = _("%s rejected the plan") if plan.state == PlanState.REJECTED else _("%s approved the plan")
        text = verdict % plan.decided_by
        events.append(Event(plan.decided_at, "user-circle", text, plan.decision_reason, plan.pk))
    if plan.started_at:
        events.append(Event(plan.started_at, "player-play", _("Seen running: the plan worked"), "", plan.pk))
    if plan.ended_at and plan.outcome:
        events.append(Event(plan.ended_at, "flag", plan.get_state_display(), resay(plan.outcome), plan.pk))
    return events


def _saved(checkpoint: Checkpoint) -> list[Event]:
    """What it said that it saved, and where it went on. That it was asked is told by the signal."""
    plan = checkpoint.plan_id
    events = []
    if checkpoint.acknowledged_at:
        text = _("It said that its state is saved (%s)") % checkpoint.get_via_display()
        events.append(Event(checkpoint.acknowledged_at, "device-floppy", text, checkpoint.saved, plan))
    if checkpoint.resumed_at:
        detail = checkpoint.saved and _("from %s") % checkpoint.saved
        events.append(Event(checkpoint.resumed_at, "player-play", _("It went on"), detail, plan))
    return events


def _acted(action: PlannedAction) -> list[Event]:
    moment = action.issued_at or action.verified_at
    if moment is None or action.state in {ActionState.PLANNED, ActionState.EXPIRED}:
        return []
    text = str(FORGOTTEN if action.value == REQUEUED else ACTION_SENTENCES.get(action.kind, action.kind))
    if action.plan.job_id != action.job_id:
        purpose = _("%(what)s, after room was made for %(job)s (%(user)s)")
        if action.kind in STOPPING:
            purpose = _("%(what)s, to make room for %(job)s (%(user)s)")
        facts = {"what": text, "job": action.plan.job_id, "user": action.plan.user}
        if is_exchange(action.plan):
            purpose = _("%(what)s, to exchange %(up)s for %(instead)s beside %(job)s (%(user)s)")
            facts |= exchanged_nodes(action.plan)
        text = purpose % facts
    if action.state == ActionState.FAILED:
        text = _("%s – this failed") % text
    return [Event(moment, ACTION_ICONS.get(action.kind, "bolt"), text, resay(action.detail), action.plan_id)]
