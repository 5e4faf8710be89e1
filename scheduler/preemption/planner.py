"""From a snapshot to a plan (contract A), by the core (`deciding`) and every planning method.

This is the one place that names the methods. In their order: which notes first what a running job may lose, and whose
step comes first of one stage.
"""

from collections.abc import Sequence
from functools import partial

from scheduler.model.plan import PlanningResult
from scheduler.model.snapshot import Snapshot
from scheduler.preemption import collector
from scheduler.preemption.balance.method import EvenSetsMethod
from scheduler.preemption.chains import without_chains
from scheduler.preemption.deciding import decide_all
from scheduler.preemption.elastic.method import ElasticMethod
from scheduler.preemption.methods import Method, Planning
from scheduler.preemption.reservation.method import ReservationMethod
from scheduler.preemption.units.method import UnitsMethod

METHODS: Sequence[Method] = (UnitsMethod(), ElasticMethod(), EvenSetsMethod(), ReservationMethod())


def plan(snapshot: Snapshot) -> PlanningResult:
    """The plan for a snapshot: one decision per pending job, in the order in which they were made.

    Where stopped jobs have a rest, nobody is stopped who would be the next to have others stopped for it (`chains`).
    """
    planning: Planning = _without_chains
    for method in METHODS:
        planning = partial(method.around, planning=planning)
    with collector.paused():
        return planning(snapshot)


def _without_chains(snapshot: Snapshot) -> PlanningResult:
    return without_chains(snapshot, _made(snapshot), _made)


def _made(snapshot: Snapshot, alone: frozenset[str] = frozenset()) -> PlanningResult:
    return decide_all(snapshot, METHODS, alone)
