"""The plans of the made-up week, written as the cycles would have written them: rows, steps, fates and the audit log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from console.cluster.models import Cluster
from console.core import clock
from console.launch.past.played import PlayedPlan, PlayedWeek
from console.launch.past.playing import CYCLE_S
from console.steering.actions.fates import WATCHED
from console.steering.actions.victims import fates_of, told
from console.steering.journal import tell_action, tell_checkpoint, tell_plan
from console.steering.models import (
    STOP_KINDS,
    ActionState,
    Checkpoint,
    Cycle,
    CycleOutcome,
    Fate,
    Plan,
    PlannedAction,
    PlanState,
    Via,
    Victim,
)
from console.steering.plans.new_plans import NewPlans, victims_of
from console.steering.recording.metering import MeteredStop, stops_of
from scheduler.model.actions import ActionKind, OutcomeKind
from scheduler.model.jobs import RunKey
from scheduler.model.sentence import join, say

FIRST_STEPS = (ActionKind.PRIORITISE, ActionKind.SIGNAL)
WRITTEN = ("state", "issued_at", "verified_at", "attempts", "outcome")


@dataclass
class PlanRows:
    """Writes plan after plan. `stops`: what was stopped in each minute of the week, by its epoch second."""

    cluster: Cluster
    week: PlayedWeek
    stops: dict[int, list[MeteredStop]] = field(default_factory=dict)

    def write(self, played: PlayedPlan) -> None:
        """One plan, from its decision to its end."""
        plan = self._proposed(played)
        steps = list(PlannedAction.objects.filter(plan=plan))
        for step in steps:
            step.plan = plan
        first = [step for step in steps if step.kind in FIRST_STEPS]
        stops = [step for step in steps if step.kind in STOP_KINDS]
        releases = [step for step in steps if step.kind == ActionKind.RELEASE]
        _issue(first, played.at)
        _verify(first, played.stopped_at)
        self._save_work(plan, played)
        _issue(stops, played.stopped_at)
        _verify(stops, played.gone_at)
        _issue(releases, played.over_at - CYCLE_S)
        _verify(releases, played.over_at)
        PlannedAction.objects.bulk_update(steps, WRITTEN)
        self.stops.setdefault(played.gone_at // 60 * 60, []).extend(stops_of(stops))
        self._finish(plan, played)
        self._tell_fates(plan, played)

    def _proposed(self, played: PlayedPlan) -> Plan:
        """The plan with its steps, as it is when it has just begun."""
        moment = clock.from_epoch(played.at)
        with clock.set_to(moment):
            cycle = Cycle.objects.create(
                cluster=self.cluster,
                number=self.cycle_at(played.at),
                started_at=moment,
                finished_at=moment + timedelta(milliseconds=60),
                outcome=CycleOutcome.OK,
            )
            new = NewPlans(self.cluster, lambda: cycle, played.verdicts)
            plan = new.make_room(played.decision, victims_of(played.decision, played.verdicts))
            new.keep()
            plan.state = PlanState.EXECUTING
            plan.save(update_fields=["state"])
            tell_plan(plan, "plan.executing", before={"state": "approved"}, after={"state": "executing"})
        return plan

    def cycle_at(self, moment: int) -> int:
        """The number of the cycle that there would have been."""
        return (moment - self.week.begin) // CYCLE_S + 1

    def _save_work(self, plan: Plan, played: PlayedPlan) -> None:
        """The signals are answered by those whose scripts save their state."""
        comments = {job.id: job for job in played.verdicts.jobs.values()}
        asked = []
        for run, user in played.victims.items():
            saved = played.saved.get(run)
            row = Checkpoint(plan=plan, cluster=self.cluster, user=user[:64], **_key(run))
            row.asked_at = clock.from_epoch(played.at)
            if saved is not None and saved <= played.stopped_at:
                row.acknowledged_at, row.via = clock.from_epoch(played.stopped_at), Via.COMMENT
                row.saved = f"seconds={saved - (comments[run.job_id].start or saved)}"
            again = self._later_run(run)
            if again is not None:
                row.resumed_at, row.resumed_restarts = clock.from_epoch(again[0]), again[1]
            asked.append(row)
        Checkpoint.objects.bulk_create(asked)
        with clock.set_to(clock.from_epoch(played.stopped_at)):
            for row in asked:
                if row.acknowledged_at is not None:
                    tell_checkpoint(row)

    def _later_run(self, run: RunKey) -> tuple[int, int] | None:
        """When and as which run a victim was first seen running again; None where it never was."""
        later = (each for each in self.week.jobs[run.job_id].runs if each.restarts > run.restarts)
        again = next(later, None)
        return None if again is None else (again.start + CYCLE_S, again.restarts)

    def _finish(self, plan: Plan, played: PlayedPlan) -> None:
        now = clock.from_epoch(played.over_at)
        names = {each["job"]: each["name"] for each in plan.victims}
        Victim.objects.bulk_create(
            Victim(
                plan=plan,
                cluster=self.cluster,
                job_name=names[run.job_id],
                user=user[:64],
                fate=Fate.WAITING,
                words=say("fate.waits"),
                sent_at=plan.created_at,
                **_key(run),
            )
            for run, user in played.victims.items()
        )
        began = say("plan.runs", job=plan.job_id)
        plan.state, plan.ended_at = PlanState.VERIFIED, now
        if played.started_at is None:
            plan.state, plan.undo_reason = PlanState.UNDONE, say("plan.too_late", job=plan.job_id)
        else:
            plan.started_at = clock.from_epoch(played.started_at)
        plan.outcome = join(plan.undo_reason or began, told(plan))
        plan.save(update_fields=["state", "ended_at", "started_at", "undo_reason", "outcome"])
        after = {"state": plan.state.value, "victims": fates_of(plan)}
        with clock.set_to(now):
            tell_plan(
                plan,
                f"plan.{plan.state.value}",
                before={"state": "executing"},
                after=after,
                reason=plan.outcome,
            )

    def _tell_fates(self, plan: Plan, played: PlayedPlan) -> None:
        """What became of the victims in the end; of one that never ran again its owner has thought better."""
        rows = list(Victim.objects.filter(plan=plan))
        for row in rows:
            again = self._later_run(RunKey(row.job_id, row.run_start, row.run_restarts))
            if again is None:
                row.fate, row.words = Fate.ENDED, say("fate.cancelled_by", user=row.user)
                row.settled_at = clock.from_epoch(self.week.until)
            else:
                row.fate, row.words = Fate.RETURNED, say("fate.came_back")
                row.back_at, row.back_restarts = clock.from_epoch(again[0]), again[1]
                row.settled_at = row.back_at + WATCHED
        Victim.objects.bulk_update(
            rows, ["fate", "words", "settled_at", "back_at", "back_restarts"]
        )


def _key(run: RunKey) -> dict[str, object]:
    return {"job_id": run.job_id, "run_start": run.start, "run_restarts": run.restarts}


def _issue(steps: Sequence[PlannedAction], moment: int) -> None:
    with clock.set_to(clock.from_epoch(moment)):
        for step in steps:
            step.state, step.outcome, step.attempts = ActionState.ISSUED, OutcomeKind.DONE.value, 1
            step.issued_at = clock.now()
            tell_action(step, "action.issued")


def _verify(steps: Sequence[PlannedAction], moment: int) -> None:
    with clock.set_to(clock.from_epoch(moment)):
        for step in steps:
            step.state, step.verified_at = ActionState.VERIFIED, clock.now()
            tell_action(step, "action.verified")
