"""What a request in units that cannot be met gets all the same: the units for which there is free room (spec 2.2)."""

from dataclasses import replace

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.model.sentence import join, say
from scheduler.preemption.methods import Ask
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.units import words
from scheduler.preemption.units.pool import units_held


def free_part(cycle: PlanningRun, ask: Ask) -> Decision | None:
    """The units that are free now: they start, and the rest goes on waiting. Not for all or nothing."""
    return _part(cycle, ask, "") if ask.shape.partial else None


def part_if_held(cycle: PlanningRun, ask: Ask, decision: Decision) -> Decision:
    """When a limit forbids that others give way, a request may still get the part that is free."""
    return (_part(cycle, ask, decision.explain) if ask.shape.partial else None) or decision


def _part(cycle: PlanningRun, ask: Ask, before: str) -> Decision | None:
    placement = cycle.search.pool(ask.shape).placement(ask.shape, coming=False)
    units = units_held(placement, ask.shape)
    if not units:
        return None
    said = before or say("start", **words.needs(cycle, ask, ()))
    cycle.set_aside(granted(ask.job, units), placement, coming_first=False)
    return Decision(
        ask.job.id,
        DecisionKind.START,
        Reason.GETS_PART,
        join(said, words.rest(ask, units)),
        nodes=tuple(placement),
        units=units,
        placement=placement,
    )


def granted(job: SnapshotJob, units: int) -> SnapshotJob:
    """The job as one that asked for no more than it gets."""
    return replace(job, request=replace(job.request, count=units)) if job.request and units else job
