"""How those who are lower give way, as the search for room knows it: as a whole, unless a method says otherwise."""

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.pricing import chosen, price
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape
from scheduler.preemption.spread import MissingAnywhere, Pool
from scheduler.preemption.trials import Trial
from scheduler.preemption.victim_prefix_sums import Ladder, VictimChoice

_AS_WHOLES = VictimChoice(chosen, price)


def _as_found(room: MadeRoom, shape: Shape, scope: PreemptionScope) -> MadeRoom:
    return room


def _always(cost: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class GivingWay:
    """One way for a whole plan.

    `choice`: what a node costs. `ladder`: what is known of the candidates on a node. `trial`: what a request that names
    no number of nodes is short of, and what is taken for it. `settled`: a room on several nodes whose victims were
    chosen as wholes, with what is left over given back. `is_fixed`: whether what a job costs, counted in a resource,
    stays the same in this plan.
    """

    choice: VictimChoice = _AS_WHOLES
    ladder: type[Ladder] = Ladder
    trial: Callable[[Pool, Shape], Trial] = MissingAnywhere
    settled: Callable[[MadeRoom, Shape, PreemptionScope], MadeRoom] = _as_found
    is_fixed: Callable[[str], bool] = _always


AS_A_WHOLE = GivingWay()
