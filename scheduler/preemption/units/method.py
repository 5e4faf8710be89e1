"""Units, behind the door of planning methods (`scheduler.preemption.methods`).

On where a running job holds units or a pending one asks for some.
"""

from collections.abc import Iterable, Sequence

from scheduler.model.plan import DecidedVictim, Decision, PlanningResult
from scheduler.model.sentence import Sentence
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import GivingWay
from scheduler.preemption.methods import Ask, Method, MethodRun, Planning, Step, StepTurn, UnitGrant
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.pricing import Price
from scheduler.preemption.shapes import Shape
from scheduler.preemption.spread import Pool
from scheduler.preemption.units import in_pieces
from scheduler.preemption.units.groups import in_groups_of_tasks
from scheduler.preemption.units.pool import UnitPool
from scheduler.preemption.units.steps import free_part, granted, part_if_held
from scheduler.preemption.units.words import losses_of, making_room, rest, victim_of


class UnitsMethod(Method):
    """Requests and victims in whole units."""

    def is_on(self, snapshot: Snapshot) -> bool:
        """Whether anybody holds units or asks for some."""
        return any(job.unit or (job.request and job.request.count) for job in snapshot.jobs)

    def begin(self, run: PlanningRun) -> "UnitsRun":
        """What is decided in one plan."""
        return UnitsRun(run)

    def around(self, snapshot: Snapshot, planning: Planning) -> PlanningResult:
        """Waiting tasks of one array are planned as one request."""
        return in_groups_of_tasks(snapshot, planning)

    def divide(self, runner: RunningJob, rules: PartitionRules) -> bool:
        """A running job that holds units may lose some."""
        return in_pieces.divide(runner, in_pieces.units_of(runner.job, rules))

    def giving_way(self, state: ClusterState) -> GivingWay | None:
        """What is left over goes back in pieces."""
        return in_pieces.giving_way(state)

    def pool(self, shape: Shape) -> type[Pool] | None:
        """Requests in units are counted in units."""
        return UnitPool if shape.units else None


class PiecesRun(MethodRun):
    """Victims that lose pieces and go on: the same for units and for elastic jobs."""

    def __init__(self, run: PlanningRun) -> None:
        self.run = run

    def give_way(self, runner: RunningJob, price: Price) -> DecidedVictim | None:
        """Take the pieces that a victim loses, if it goes on."""
        lost = losses_of(price).get(runner)
        if lost is None:
            return None
        victim = victim_of(runner, lost)
        in_pieces.lose(self.run.cluster_state, runner, lost)
        return victim

    def making_room(self, ask: Ask, nodes: Iterable[str], price: Price) -> Sentence | None:
        """Who loses what."""
        return making_room(self.run, ask, nodes, price)


class UnitsRun(PiecesRun):
    """Units in one plan."""

    def steps(self) -> Sequence[Step]:
        """Who gets no room for all of its units gets those that are free."""
        return (Step(StepTurn.LESS, free_part),)

    def held_back(self, ask: Ask, decision: Decision) -> Decision:
        """The part that is free needs nobody to give way."""
        return part_if_held(self.run, ask, decision)

    def share(self, ask: Ask, units: int | None) -> UnitGrant | None:
        """How many units a request gets."""
        if not ask.shape.units:
            return None
        count = ask.shape.units if units is None else units
        return UnitGrant(granted(ask.job, count), count or None, rest(ask, count))
