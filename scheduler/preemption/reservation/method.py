"""Predicted starts, behind the door of planning methods (`scheduler.preemption.methods`).

On in managed dispatch, and where the policy has patience.
"""

from collections.abc import Sequence
from functools import partial

from scheduler.model.plan import Decision
from scheduler.model.policy import Dispatch
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.balance.method import EvenSetsRun
from scheduler.preemption.methods import Ask, Method, MethodRun, Step, StepTurn
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.reservation.outlook import Outlook
from scheduler.preemption.reservation.steps import best_free_nodes, look_ahead, next_in_turn, starts_soon
from scheduler.preemption.search import Placement


class ReservationMethod(Method):
    """Nodes that are kept, and waiting instead of stopping."""

    def is_on(self, snapshot: Snapshot) -> bool:
        """Whether the policy looks ahead at all."""
        return snapshot.partition.dispatch is Dispatch.MANAGED or snapshot.partition.patience_s > 0

    def begin(self, run: PlanningRun) -> "ReservationRun":
        """What is predicted in one plan."""
        return ReservationRun(run)


class ReservationRun(MethodRun):
    """Predicted starts in one plan."""

    plans_groups = False

    def __init__(self, run: PlanningRun) -> None:
        self.run = run
        even = run.method(EvenSetsRun)
        self.outlook = Outlook(run.cluster_state, even.balancing if even else None)

    def steps(self) -> Sequence[Step]:
        """The best nodes in managed dispatch; a start that is predicted soon enough, or for the next plan."""
        found = []
        nodes = self.outlook.nodes
        if nodes:
            found.append(Step(StepTurn.CHOSEN_ROOM, partial(best_free_nodes, nodes)))
        if self.outlook.patience_s:
            found.append(Step(StepTurn.LATER, partial(starts_soon, self.outlook), of_claimed=True))
        if nodes:
            found.append(Step(StepTurn.LATER, partial(next_in_turn, nodes)))
        return found

    def chooses_free_room(self, ask: Ask) -> bool:
        """In managed dispatch, for requests for nodes."""
        return bool(ask.shape.count and self.outlook.nodes)

    def afterwards(self, ask: Ask, decision: Decision) -> Decision:
        """Nodes are kept, or a room is claimed, for who stays in the queue."""
        return look_ahead(self.outlook, self.run, ask, decision)

    def taken(self, placement: Placement, *, kept: bool) -> None:
        """In managed dispatch nodes leave the set."""
        self.outlook.left(placement, kept=kept)

    def take_apart(self) -> None:
        """Moments refer to what predicts them."""
        self.outlook.take_apart()
