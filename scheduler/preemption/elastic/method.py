"""Elastic jobs, behind the door of planning methods (`scheduler.preemption.methods`).

On where the policy has `elastic` and a job is elastic.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, How, PlanningResult
from scheduler.model.reasons import Reason
from scheduler.model.sentence import say
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.elastic.growing import grow, growers, lacking
from scheduler.preemption.elastic.jobs_as_workers import with_growing, with_workers_together
from scheduler.preemption.elastic.regrowing import grows_by_restart, may_restart
from scheduler.preemption.elastic.restarts import with_restarts_limited
from scheduler.preemption.elastic.shrinks import Losses, Shrinks
from scheduler.preemption.free_room import free_room, room_that_is_coming
from scheduler.preemption.giving_way import GivingWay
from scheduler.preemption.limits import HeldBack
from scheduler.preemption.methods import Ask, Method, Planning, Step, StepTurn
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.pieces import JobPieces
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.pricing import Price
from scheduler.preemption.sentences import listed
from scheduler.preemption.shapes import Shape
from scheduler.preemption.units import in_pieces
from scheduler.preemption.units.in_pieces import lose
from scheduler.preemption.units.method import PiecesRun
from scheduler.preemption.units.steps import free_part
from scheduler.preemption.units.words import losing, needs, victim_of

# --- What elastic jobs give up and get back, in words ---


def shrunk(cycle: PlanningRun, ask: Ask, nodes: Iterable[str], losses: Losses) -> str:
    """Workers make room; said before they are taken."""
    lost = listed(losses, lambda runner: losing(cycle, runner, losses[runner]), limit=5)
    return say("shrink", **needs(cycle, ask, nodes), losses=lost)


def words_held(cycle: PlanningRun, ask: Ask, nodes: Iterable[str], losses: Losses, why: HeldBack) -> str:
    """Workers would make room, but may not be taken now."""
    who = listed(losses, lambda runner: cycle.say.who(runner.job), limit=5)
    limit = cycle.say.limit(ask.job, why, len(losses))
    return say("shrink.held", **needs(cycle, ask, nodes), victims=who, why=limit)


# --- The step in which elastic jobs give up workers, before anybody is stopped (spec 4, document 003) ---
# A job is never shrunk below its minimum, and only for one that outranks it. Pauses, waits and cool-downs hold a
# shrink back like a stop; the numbers of stops within an hour do not count it.


def shrink_elastic_jobs(shrinks: Shrinks, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Workers of elastic jobs make room, and nobody is stopped."""
    found = shrinks.find(ask.shape, ask.scope)
    if found is None:
        return None
    nodes = [place.node.name for place in found.places]
    held = cycle.limits.of_the_job(ask.job)
    if held:
        cycle.about_to_get(found.places or ask.shape.places)
        decision = cycle.queued(ask.job, held.reason, words_held(cycle, ask, nodes, found.losses, held))
        return cycle.held_back(ask, decision)
    said = shrunk(cycle, ask, nodes, found.losses)
    victims = tuple(victim_of(runner, lost) for runner, lost in found.losses.items())
    for runner, lost in found.losses.items():
        lose(cycle.cluster_state, runner, lost)
        cycle.gave_way.add(runner.job.id)
    placement = cycle.search.placement(ask.shape, MadeRoom(found.places, Price()))
    cycle.set_aside(ask.job, placement, coming_first=True)
    return Decision(
        ask.job.id,
        DecisionKind.SHRINK,
        Reason.SHRINKS,
        said,
        nodes=tuple(placement),
        victims=victims,
        units=cycle.share(ask).units,
        placement=placement,
    )


def grows_later(cycle: PlanningRun, ask: Ask) -> Decision:
    """A worker beyond the minimum of its elastic job waits for room that is free or coming."""
    least = ask.job.elastic.min_workers if ask.job.elastic else None
    words = say("grows.later", who=cycle.say.who(ask.job), least=least or 0)
    return cycle.queued(ask.job, Reason.GROWS_LATER, words)


class ElasticMethod(Method):
    """Jobs that give up workers before anybody is stopped, and get them back."""

    def is_on(self, snapshot: Snapshot) -> bool:
        """Whether the policy has it, and anybody is elastic."""
        return snapshot.partition.elastic and any(job.elastic for job in snapshot.jobs)

    def begin(self, run: PlanningRun) -> "ElasticRun":
        """What is decided in one plan."""
        return ElasticRun(run)

    def around(self, snapshot: Snapshot, planning: Planning) -> PlanningResult:
        """Workers that are jobs of their own: those that wait are told apart, those that run are planned as one job."""

        def together(of: Snapshot) -> PlanningResult:
            return with_workers_together(with_growing(of), planning)

        return with_restarts_limited(snapshot, together)

    def divide(self, runner: RunningJob, rules: PartitionRules) -> bool:
        """A job that is elastic in nodes may lose some; one that is in units was noted with those."""
        return in_pieces.divide(runner, _nodes_of(runner.job, rules))

    def giving_way(self, state: ClusterState) -> GivingWay | None:
        """Where workers are stopped for, what is left over goes back to them in pieces, as with units."""
        return in_pieces.giving_way(state)

    def said_of_running(self, snapshot: Snapshot, job: SnapshotJob) -> Iterable[str]:
        """What it lacks."""
        lack = lacking(job) if snapshot.partition.elastic else None
        if lack is None:
            return ()
        kind = "units" if lack.request.count else "nodes"
        return (f"It is elastic and has {lack.has} of the {lack.has + lack.more} {kind} that it wishes for.",)


class ElasticRun(PiecesRun):
    """Elastic jobs in one plan."""

    def __init__(self, run: PlanningRun) -> None:
        super().__init__(run)
        self.restarted: list[SnapshotJob] = []
        self.shrinks = (
            Shrinks(run.cluster_state, run.search) if in_pieces.elastic_jobs(run.cluster_state) else None
        )

    def steps(self) -> Sequence[Step]:
        """Workers make room, and nobody is stopped."""
        return (Step(StepTurn.PARTS, partial(shrink_elastic_jobs, self.shrinks)),) if self.shrinks else ()

    def claims(self, job: SnapshotJob, shape: Shape) -> bool:
        """A worker beyond the minimum of its elastic job only gets room that is free or coming."""
        return job.grows

    def steps_of_claimed(self) -> Sequence[Step]:
        """Nobody gives way for it."""
        return (
            Step(StepTurn.FREE_ROOM, free_room),
            Step(StepTurn.COMING_ROOM, room_that_is_coming),
            Step(StepTurn.LESS, free_part),
            Step(StepTurn.LESS, grows_later),
        )

    def running_jobs(self) -> Sequence[SnapshotJob]:
        """Those that hold less than they wish for."""
        return growers(self.run.snapshot)

    def decide_running(self, job: SnapshotJob) -> Sequence[Decision]:
        """The workers that one of them gets back."""
        again = grows_by_restart(job.elastic)
        if again and not may_restart(self.run.snapshot, job, self._stopped()):
            return ()
        decisions = grow(self.run, job)
        self.restarted.extend([job] if again and decisions else [])
        return decisions

    def _stopped(self) -> Sequence[SnapshotJob]:
        """Who is stopped, or gives something up, in this plan so far, or starts again to grow."""
        gave_way = self.run.gave_way
        return [*self.restarted, *(job for job in self.run.snapshot.jobs if job.id in gave_way)]

    def take_apart(self) -> None:
        """The prices of nodes refer to what asks for them."""
        if self.shrinks:
            self.shrinks.take_apart()


def _nodes_of(job: SnapshotJob, rules: PartitionRules) -> JobPieces | None:
    """The nodes of a running job that is elastic in nodes."""
    elastic = job.elastic
    if elastic is None or elastic.min_nodes is None or in_pieces.in_units(job, rules):
        return None
    if len(job.alloc) <= elastic.min_nodes:
        return None
    counts = {name: 1 for name in job.alloc if name != elastic.first}
    return JobPieces(How.NODES, job.alloc, counts, len(job.alloc), elastic.min_nodes, elastic=True)
