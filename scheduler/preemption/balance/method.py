"""Nodes of equal compute power, behind the door of planning methods (`scheduler.preemption.methods`).

On where the policy has `balance`.
"""

from collections.abc import Sequence
from functools import partial

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import PlanningResult
from scheduler.model.policy import Balance
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.balance import steps
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.balance.designated import designated
from scheduler.preemption.balance.exchange import Exchange
from scheduler.preemption.methods import Method, MethodRun, Planning, Step, StepTurn
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.shapes import Shape


class EvenSetsMethod(Method):
    """Even sets of nodes for jobs that wait for their slowest one."""

    def is_on(self, snapshot: Snapshot) -> bool:
        """Whether the policy says what even is."""
        return snapshot.partition.balance is not None

    def around(self, snapshot: Snapshot, planning: Planning) -> PlanningResult:
        """Whoever is to have an even set is marked before anything is planned."""
        return planning(designated(snapshot))

    def begin(self, run: PlanningRun) -> MethodRun:
        """What is even in one plan."""
        balance = run.snapshot.partition.balance
        return EvenSetsRun(run, balance) if balance else MethodRun()


class EvenSetsRun(MethodRun):
    """Even sets in one plan."""

    plans_groups = False

    def __init__(self, run: PlanningRun, balance: Balance) -> None:
        self.balancing = Balancing(run.cluster_state, run.search, balance)
        self.exchange = Exchange(run.cluster_state, self.balancing)

    def claims(self, job: SnapshotJob, shape: Shape) -> bool:
        """A job that is to get an even set goes through other steps."""
        return self.balancing.applies(job, shape)

    def steps_of_claimed(self) -> Sequence[Step]:
        """Each looks for nodes that are even enough."""
        return (
            Step(StepTurn.FREE_ROOM, partial(steps.even_set, self.balancing)),
            Step(StepTurn.PARTS, partial(steps.exchange_a_node, self.exchange)),
            Step(StepTurn.PARTS, partial(steps.nearest_set, self.balancing)),
            Step(StepTurn.STOPS, partial(steps.stop_for_an_even_set, self.balancing)),
            Step(StepTurn.LESS, partial(steps.no_even_set, self.balancing)),
        )
