"""The plans of the made-up week, written as the cycles would have written them: with steps, fates and audit rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from console.audit.services import recorded_together
from console.cluster.models import Cluster
from console.core import clock
from console.launch.past.mishaps import LaterTelling, later_of_mishap
from console.launch.past.played import PlayedPlan, PlayedProposal, PlayedWeek
from console.launch.past.playing import CYCLE_S
from console.steering.actions.fates import WATCHED
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
from console.steering.plans.actions_of_plans import actions_for, deadline_for
from console.steering.plans.new_plans import NewPlans, victims_of
from console.steering.recording.metering import MeteredStop, metered
from scheduler.model.actions import ActionKind, OutcomeKind
from scheduler.model.jobs import RunKey
from scheduler.model.sentence import Listed, join, say

FIRST_STEPS = (ActionKind.PRIORITISE, ActionKind.SIGNAL)
BATCH = 100


@dataclass
class PlanRows:
    """Writes the plans of a week. `stops`: what was stopped in each minute of it, by the minute's epoch second."""

    cluster: Cluster
    week: PlayedWeek
    stops: dict[int, list[MeteredStop]] = field(default_factory=dict)
    _steps: list[PlannedAction] = field(default_factory=list)
    _checkpoints: list[Checkpoint] = field(default_factory=list)
    _victims: list[Victim] = field(default_factory=list)
    _due: list[LaterTelling] = field(default_factory=list)
    _told_until: int = 0

    def write(self) -> None:
        """All of them. Must run inside a transaction, in which nothing else is told in the audit log meanwhile."""
        every: list[PlayedPlan | PlayedProposal] = [*self.week.plans, *self.week.proposals]
        played = sorted(every, key=lambda each: each.at)
        plans = self._plans(played)
        with recorded_together():
            for plan, each in zip(plans, played, strict=True):
                self._tell_later_ones(each.at)
                if isinstance(each, PlayedPlan):
                    self._tell(plan, each)
                else:
                    self._tell_proposal(plan, each)
            self._tell_later_ones(self.week.until)
        PlannedAction.objects.bulk_create(self._steps, batch_size=BATCH)
        Checkpoint.objects.bulk_create(self._checkpoints, batch_size=BATCH)
        Victim.objects.bulk_create(self._victims, batch_size=BATCH)
        for step, stop in metered(step for step in self._steps if step.kind in STOP_KINDS):
            if step.verified_at is not None:
                self.stops.setdefault(int(step.verified_at.timestamp()) // 60 * 60, []).append(stop)

    def cycle_at(self, moment: int) -> int:
        """The number of the cycle that there would have been."""
        return (moment - self.week.begin) // CYCLE_S + 1

    def _plans(self, played: Sequence[PlayedPlan | PlayedProposal]) -> list[Plan]:
        """The plans as they ended, saved."""
        cycles = self._cycles(played)
        made = [self._plan(each, cycles[self.cycle_at(each.at)]) for each in played]
        plans = [plan for _, plan in made]
        Plan.objects.bulk_create(plans, batch_size=BATCH)
        for new, plan in made:
            plan.priority = new.priority_of(plan)  # Its own number is part of its place in line.
        Plan.objects.bulk_update(plans, ["priority"], batch_size=BATCH)
        return plans

    def _cycles(self, played: Sequence[PlayedPlan | PlayedProposal]) -> dict[int, Cycle]:
        """The cycles in which they were decided, by number, saved: one may have decided several, of two partitions."""
        first = {self.cycle_at(each.at): each.at for each in reversed(played)}
        cycles = Cycle.objects.bulk_create(
            Cycle(
                cluster=self.cluster,
                number=number,
                started_at=clock.from_epoch(at),
                finished_at=clock.from_epoch(at) + timedelta(milliseconds=60),
                outcome=CycleOutcome.OK,
            )
            for number, at in sorted(first.items())
        )
        return {cycle.number: cycle for cycle in cycles}

    def _plan(self, played: PlayedPlan | PlayedProposal, cycle: Cycle) -> tuple[NewPlans, Plan]:
        with clock.set_to(clock.from_epoch(played.at)):
            new = NewPlans(self.cluster, lambda: cycle, played.verdicts)
            plan = new.worked_out(played.decision, victims_of(played.decision, played.verdicts))
            plan.deadline = deadline_for(played.verdicts.facts.policy)
        if isinstance(played, PlayedProposal):
            plan.state, plan.outcome = PlanState.EXPIRED, say("plan.started_alone", job=plan.job_id)
            plan.ended_at = clock.from_epoch(self.week.until)
            return new, plan
        plan.state, plan.ended_at = PlanState.VERIFIED, clock.from_epoch(played.over_at)
        if played.started_at is None:
            plan.state, plan.undo_reason = PlanState.UNDONE, say("plan.too_late", job=plan.job_id)
        else:
            plan.started_at = clock.from_epoch(played.started_at)
        runs = plan.undo_reason or say("plan.runs", job=plan.job_id)
        plan.outcome = join(runs, _waiting(sorted(run.job_id for run in played.victims)))
        return new, plan

    def _tell(self, plan: Plan, played: PlayedPlan) -> None:
        """The plan's steps and its part of the audit log, in the order of time."""
        policy = played.verdicts.facts.policy
        nodes = list(played.decision.nodes)
        with clock.set_to(clock.from_epoch(played.at)):
            after = {"state": "approved", "victims": plan.victims, "nodes": nodes, "mode": plan.mode}
            tell_plan(plan, "plan.proposed", after=after, reason=plan.explain)
            tell_plan(plan, "plan.executing", before={"state": "approved"}, after={"state": "executing"})
            steps = actions_for(plan, policy)
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
        self._steps += steps
        ended = {"state": plan.state, "victims": dict.fromkeys(_ids(played), Fate.WAITING.value)}
        with clock.set_to(clock.from_epoch(played.over_at)):
            what = f"plan.{plan.state}"
            tell_plan(plan, what, before={"state": "executing"}, after=ended, reason=plan.outcome)
        self._told_until = played.over_at
        for run, user in played.victims.items():
            victim = self._victim(plan, run, user)
            if run in played.failed:
                self._due += later_of_mishap(victim, played.failed[run])
            else:
                self._victims.append(victim)

    def _tell_proposal(self, plan: Plan, played: PlayedProposal) -> None:
        """It stands until its job starts by itself."""
        with clock.set_to(clock.from_epoch(played.at)):
            after = {"state": "proposed", "victims": plan.victims, "nodes": list(played.decision.nodes)}
            tell_plan(plan, "plan.proposed", after={**after, "mode": plan.mode}, reason=plan.explain)
        self._told_until = played.at
        started = self.week.jobs[plan.job_id].runs[0].start

        def end() -> None:
            plan.ended_at = clock.now()
            plan.save(update_fields=["ended_at"])
            before, after = {"state": "proposed"}, {"state": "expired"}
            tell_plan(plan, "plan.expired", before=before, after=after, reason=plan.outcome)

        self._due.append(LaterTelling(started + CYCLE_S, end))

    def _tell_later_ones(self, moment: int) -> None:
        """What was to be told before then; the log goes by time, so nothing of it comes before what is told already."""
        self._due.sort(key=lambda each: each.at)
        while self._due and self._due[0].at < moment:
            later = self._due.pop(0)
            self._told_until = max(self._told_until, later.at)
            with clock.set_to(clock.from_epoch(self._told_until)):
                later.tell()

    def _save_work(self, plan: Plan, played: PlayedPlan) -> None:
        """The signals are answered by those whose scripts save their state."""
        asked = []
        for run, user in played.victims.items():
            saved, again = played.saved.get(run), self._later_run(run)
            row = Checkpoint(plan=plan, cluster=self.cluster, user=user[:64], **_key(run))
            row.asked_at = clock.from_epoch(played.at)
            if saved is not None and saved <= played.stopped_at:
                row.acknowledged_at, row.via = clock.from_epoch(saved), Via.COMMENT
                row.saved = f"seconds={saved - run.start}"
            if again is not None:
                row.resumed_at, row.resumed_restarts = clock.from_epoch(again[0]), again[1]
            asked.append(row)
        with clock.set_to(clock.from_epoch(played.stopped_at)):
            for row in asked:
                if row.acknowledged_at is not None:
                    tell_checkpoint(row)
        self._checkpoints += asked

    def _later_run(self, run: RunKey) -> tuple[int, int] | None:
        """When and as which run a victim was first seen running again; None where it never was."""
        later = (each for each in self.week.jobs[run.job_id].runs if each.restarts > run.restarts)
        again = next(later, None)
        return None if again is None else (again.start + CYCLE_S, again.restarts)

    def _victim(self, plan: Plan, run: RunKey, user: str) -> Victim:
        """What became of it in the end: where it never ran again, its owner has thought better."""
        names = {each["job"]: each["name"] for each in plan.victims}
        row = Victim(plan=plan, cluster=self.cluster, job_name=names[run.job_id], user=user[:64], **_key(run))
        row.sent_at, again = plan.created_at, self._later_run(run)
        if again is None:
            row.fate, row.words = Fate.ENDED, say("fate.cancelled_by", user=row.user)
            row.settled_at = clock.from_epoch(self.week.until)
        else:
            row.fate, row.words = Fate.RETURNED, say("fate.came_back")
            row.back_at, row.back_restarts = clock.from_epoch(again[0]), again[1]
            row.settled_at = row.back_at + WATCHED
        return row


def _ids(played: PlayedPlan) -> list[str]:
    return [run.job_id for run in played.victims]


def _waiting(names: Sequence[str]) -> str:
    """As an outcome tells of victims that wait."""
    if len(names) == 1:
        return say("fates.waiting.one", job=names[0])
    return say("fates.waiting.many", names=Listed(names))


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
