"""Workers come back: elastic jobs below their wish grow into free room (spec 4.4).

1. A job that lacks workers has its turn among the pending jobs, by its rank: before lower ones start, after higher
   ones. One beyond its quota comes after all of them. Nobody is ever shrunk or stopped for it.
2. It gets nodes that it is not on yet, with what `per_node` says or else as much as its largest worker holds; or units
   of the kind that it holds. As many as there are, up to its wish: a part is welcome. One that has to start again for
   it (`regrowing`) only gets what is worth a restart.
3. No back and forth: not in the plan in which it gives something up; not on nodes that a job decided before it is
   about to get (found for it but held back by a limit, or kept or predicted for later); not beyond its limits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scheduler.model.jobs import Elastic, JobState, Request, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts, total
from scheduler.model.sentence import Held, Listed, Seconds, Sentence, join, say
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.elastic.regrowing import grows_by_restart, worth_of
from scheduler.preemption.pieces import units_in
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.search import Placement, placed
from scheduler.preemption.sentences import clean
from scheduler.preemption.shapes import Shape
from scheduler.preemption.units.pool import units_held


@dataclass(frozen=True, slots=True)
class Lacking:
    """What a running job lacks: so many `more` of what each `request` is for. `has`: what it holds of them."""

    request: Request
    has: int
    more: int


def growers(snapshot: Snapshot) -> list[SnapshotJob]:
    """The running jobs that hold less than they wish for."""
    if not snapshot.partition.elastic:
        return []
    running = (job for job in snapshot.jobs if job.elastic and job.state is JobState.RUNNING and job.alloc)
    return [job for job in running if lacking(job)]


def lacking(job: SnapshotJob) -> Lacking | None:
    """What a running job lacks of its wish; None when it has it, or wishes for nothing."""
    elastic = job.elastic
    if elastic is None:
        return None
    in_units = bool(job.unit and elastic.wish_units)
    if in_units:
        wish, has = elastic.wish_units or 0, sum(units_in(held, job.unit) for held in job.alloc.values())
    else:
        wish, has = elastic.wish_nodes or 0, len(job.alloc)
    more = wish - has
    if more <= 0:
        return None
    asked = job.request or Request()
    if asked.same_of or asked.counted:
        return None  # Which of them its nodes have is not kept.
    limits = Request(
        features=asked.features,
        any_of=asked.any_of,
        only_nodes=asked.only_nodes,
        not_nodes=asked.not_nodes,
    )
    if in_units:
        return Lacking(replace(limits, unit=job.unit, count=more), has, more)
    return Lacking(replace(limits, nodes=1, per_node=_each(job, elastic)), has, more)


def grow(cycle: PlanningRun, job: SnapshotJob) -> list[Decision]:
    """The decision on the workers that a running job gets back now; none when there are none for it."""
    lack = lacking(job)
    if lack is None or job.id in cycle.gave_way:
        return []
    shape = cycle.shapes.of(lack.request)
    wanted = _units(cycle, shape) if shape.units else _nodes(cycle, job, shape, lack.more)
    placement = _within_limits(cycle, job, wanted, shape)
    if not placement:
        return []
    worth = None
    if grows_by_restart(job.elastic):
        worth = worth_of(job, lack.has + len(placement), cycle.snapshot.now)
        if worth is None or not worth.pays:
            return []
    units = units_held(placement, shape) if shape.units else 0
    cycle.quotas.grown(job, total(placement.values()))
    cycle.take(placement, coming_first=False)
    said: str = _words(cycle, job, lack, placement, units)
    if worth is not None:
        sums = {"gain": Seconds(worth.gain_s), "cost": Seconds(worth.cost_s)}
        said = join(said, say("grow.restart", n=lack.has + len(placement), **sums))
    names = tuple(placement)
    return [
        Decision(
            job.id, DecisionKind.GROW, Reason.GROWS, said, names, units=units or None, placement=placement
        )
    ]


def _each(job: SnapshotJob, elastic: Elastic) -> Amounts:
    """What a node that comes back must give: as the job says, or as much as its largest worker holds."""
    if elastic.per_node:
        return elastic.per_node
    return max(
        job.alloc.values(), key=lambda held: (sorted(held.values(), reverse=True), sorted(held.items()))
    )


def _nodes(cycle: PlanningRun, job: SnapshotJob, shape: Shape, more: int) -> Placement:
    """Free nodes, those with the least left over first."""
    looked_at = more + len(job.alloc) + len(cycle.awaited)
    places = [
        place
        for place in cycle.search.free_places(shape, looked_at, coming=False)
        if place.node.name not in job.alloc and place.order not in cycle.awaited
    ]
    return placed(shape, places[:more])


def _units(cycle: PlanningRun, shape: Shape) -> Placement:
    """Free units, on the nodes in their order."""
    placement = cycle.search.pool(shape).placement(shape, coming=False)
    states = cycle.cluster_state.by_name
    return {name: taken for name, taken in placement.items() if states[name].order not in cycle.awaited}


def _within_limits(
    cycle: PlanningRun, job: SnapshotJob, wanted: Placement, shape: Shape
) -> dict[str, Amounts]:
    """As many of the nodes, and of the units on each, as the limits of the job's level allow."""
    result: dict[str, Amounts] = {}
    for name, taken in wanted.items():
        count = units_in(taken, dict(shape.wants)) if shape.units else 1
        each = {resource: amount // count for resource, amount in taken.items()}
        while count:
            part = {resource: amount * count for resource, amount in each.items()}
            if cycle.quotas.may_grow(job, total([*result.values(), part])):
                result[name] = part
                break
            count -= 1
    return result


def _words(
    cycle: PlanningRun, job: SnapshotJob, lack: Lacking, placement: Mapping[str, Amounts], units: int
) -> Sentence:
    free = Listed(
        say("free.on", node=clean(node), amounts=Held(part)) for node, part in sorted(placement.items())
    )
    code = "grow.units" if units else "grow.nodes"
    return say(code, who=cycle.say.who(job), n=lack.has, m=lack.has + lack.more, nodes=free)
