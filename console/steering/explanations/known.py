"""What is known of one job, to answer from; `reading` reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.steering.explanations.pace import Pace
from console.steering.models import (
    OPEN_STATES,
    STOP_KINDS,
    Checkpoint,
    ChosenPlace,
    KeptPlace,
    Plan,
    PlanKind,
    PlannedAction,
    Victim,
)
from console.steering.streaks import Streak
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import RunKey
from scheduler.model.policy import PartitionPolicy


@dataclass(frozen=True)
class Known:
    """What the database has on a job.

    `rows`: the mirror, one per partition. `own`: plans made for it, `acts`: what was done to it (with their plans),
    `proposals`: open plans that would stop it; all of these newest first. `others`: rows of the jobs that it was
    stopped for. `policies`: those in force, `revisions`: those that plans were made under, by partition and number.
    `next_try`: its last plan was undone, and a new one is not made before then.
    `streaks`: the failures of cycles on whose account nobody is stopped now.
    `runs`: those that were seen, in their order, if there was more than one.
    `lost`: the runs of it that were stopped and did not come back, by plan.
    `kept`: the nodes that are kept for it while it waits.
    `ahead`: the jobs just before it in line, `lowest`: the running job that would be the first to go; by partition.
    """

    cluster: Cluster
    job_id: str
    now: datetime
    rows: Sequence[Job] = ()
    own: Sequence[Plan] = ()
    acts: Sequence[PlannedAction] = ()
    proposals: Sequence[Plan] = ()
    checkpoints: Sequence[Checkpoint] = ()
    others: Mapping[tuple[str, str], Job] = field(default_factory=dict)
    policies: Mapping[str, PartitionPolicy] = field(default_factory=dict)
    revisions: Mapping[tuple[str, int], PartitionPolicy] = field(default_factory=dict)
    ahead: Mapping[str, Sequence[Job]] = field(default_factory=dict)
    lowest: Mapping[str, Job] = field(default_factory=dict)
    pauses: Mapping[str, str] = field(default_factory=dict)
    streaks: Sequence[Streak] = ()
    next_try: datetime | None = None
    lost: Mapping[tuple[int, RunKey], Victim] = field(default_factory=dict)
    runs: Sequence[JobRun] = ()
    kept: KeptPlace | None = None
    placed: ChosenPlace | None = None
    pace: Pace | None = None

    @property
    def anything(self) -> bool:
        """Whether anything is known at all."""
        return bool(self.rows or self.own or self.acts)

    @cached_property
    def row(self) -> Job | None:
        """Its row; of several, the one of the partition it runs in, else the first in line."""
        living = [row for row in self.rows if row.phase != JobPhase.ENDED]
        ordered = sorted(
            living or self.rows, key=lambda row: (row.phase == JobPhase.PENDING, row.place or 1e9)
        )
        return ordered[0] if ordered else None

    @cached_property
    def stops(self) -> list[PlannedAction]:
        """What stopped it, or is to stop it, for another job: newest first, one per run and plan."""
        found: dict[tuple[int, RunKey], PlannedAction] = {}
        for act in self.acts:
            if act.kind in STOP_KINDS and act.plan.job_id != self.job_id:
                key = (act.plan_id, RunKey(act.job_id, act.run_start, act.run_restarts))
                # A stop that gave way to a recovery: the recovery is what happened.
                if key not in found or act.kind == ActionKind.RECOVER:
                    found[key] = act
        return list(found.values())

    def open_plan(self, partition: str) -> Plan | None:
        """The plan that is being made or carried out for it in a partition."""
        mine = (plan for plan in self.own if plan.partition == partition and plan.state in OPEN_STATES)
        # One that makes room says more than the one that holds it until then.
        return min(mine, key=lambda plan: plan.kind == PlanKind.WHOLE, default=None)

    @property
    def open_plans(self) -> dict[int, Plan]:
        """The plans that are not over and have to do with it, by id."""
        every = [*self.own, *(act.plan for act in self.acts), *self.proposals]
        return {plan.pk: plan for plan in every if plan.state in OPEN_STATES}

    def last_plan(self, partition: str) -> Plan | None:
        """The newest plan for it in a partition."""
        return next((plan for plan in self.own if plan.partition == partition), None)

    def checkpoint(self, stop: PlannedAction) -> Checkpoint | None:
        """What the stopped run was asked to save."""
        run = (stop.run_start, stop.run_restarts)
        return next((c for c in self.checkpoints if (c.run_start, c.run_restarts) == run), None)
