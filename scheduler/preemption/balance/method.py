"""Nodes of equal compute power, behind the door of planning methods (`scheduler.preemption.methods`).

On where the policy has `balance`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import DecidedVictim, Decision, DecisionKind, How, PlanningResult
from scheduler.model.policy import Balance, Otherwise
from scheduler.model.reasons import Reason
from scheduler.model.sentence import Listed, Seconds, Sentence, join, say
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.balance.designated import designated
from scheduler.preemption.balance.evenset import ONE
from scheduler.preemption.balance.exchange import Exchange, Swap
from scheduler.preemption.free_room import start, wait_for_endings
from scheduler.preemption.methods import Ask, Method, MethodRun, Planning, Step, StepTurn
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.search import Wanted
from scheduler.preemption.sentences import clean
from scheduler.preemption.shapes import Shape
from scheduler.preemption.stopping import no_room, stop_lower_jobs, stop_or_not

# --- What is said of even sets, exchanges and nodes that are not measured ---


def evenness(balancing: Balancing, places: Iterable[NodeState]) -> Sentence:
    """How even the nodes are that a job gets, as a sentence that follows another one."""
    chosen = list(places)
    unknown = [place for place in chosen if place.order not in balancing.powers.of]
    if unknown:
        return say("even.not_measured", nodes=Listed(clean(place.node.name) for place in unknown))
    distance = balancing.powers.distance(place.order for place in chosen)
    given = {"n": figure(distance), "m": figure(balancing.most)}
    if distance > balancing.most:
        return say("even.nearest", **given)
    units = {place.node.unit for place in chosen}
    unit = units.pop() if len(units) == 1 else None
    return say("even.unit", **given, name=clean(unit)) if unit else say("even", **given)


def too_uneven(cycle: PlanningRun, ask: Ask, distance: int, most: int) -> Sentence:
    """There is room, but not on an even set."""
    return say("uneven", **cycle.say.needs(ask.job), n=figure(distance), m=figure(most))


def not_measured(cycle: PlanningRun, ask: Ask, resource: str, measured: int) -> Sentence:
    """Too few nodes have a figure."""
    return say("uneven.not_measured", **cycle.say.needs(ask.job), n=measured, name=clean(resource))


def exchanged(cycle: PlanningRun, ask: Ask, swap: Swap) -> Sentence:
    """One young job moves."""
    return say(
        "uneven.exchange",
        **cycle.say.needs(ask.job),
        victims=cycle.say.victim(swap.runner),
        node=clean(swap.up.node.name),
        other=clean(swap.instead.node.name),
        nodes=Listed(map(clean, swap.placement)),
    )


def wants_even(most: int) -> Sentence:
    """Why room that others would take is none for this job, as a sentence that follows another one."""
    return say("even.wanted", n=figure(most))


def waited_enough(balance: Balance, waited_s: int) -> Sentence:
    """Why a job takes the nearest set that was to wait for an even one, as a sentence that follows another one."""
    return say("even.waited", time=Seconds(waited_s), most=Seconds(balance.most_wait_s))


def figure(distance: int) -> str:
    """A distance as people write it: `0.05`."""
    return f"{distance / ONE:.6g}"


# --- The steps of a decision on a balanced job (spec 5): they come before, or instead of, those for any room ---
# 1. An even set is free: it starts. An even set is coming: it waits for the jobs that are ending.
# 2. What is free is too uneven, but an exchange with a young running job makes both sets even (`exchange`).
# 3. Where the partition says so, or it has waited as long as it is to, it gets the nearest set, however uneven.
# 4. Lower jobs make room on nodes that are even enough, in one unit if that does hardly more harm. Else it stays in
# the
#    queue.


def even_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 1."""
    placement = balancing.even(ask.shape, coming=False)
    if placement is not None:
        return _said(balancing, cycle, start(cycle, ask, placement))
    placement = balancing.even(ask.shape, coming=True) if cycle.cluster_state.coming else None
    return None if placement is None else _said(balancing, cycle, wait_for_endings(cycle, ask, placement))


def exchange_a_node(exchange: Exchange, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 2."""
    swap = exchange.find(Wanted(ask.shape, ask.scope))
    if swap is None or not cycle.limits.allows(ask.job, 1):
        return None
    sentence = exchanged(cycle, ask, swap)
    exchange.apply(swap)
    cycle.limits.stopped(ask.scope, [swap.runner])
    cycle.set_aside(ask.job, swap.placement, coming_first=True)
    up, instead = swap.up.node.name, swap.instead.node.name
    return Decision(
        ask.job.id,
        DecisionKind.SWAP,
        Reason.SWAPS_A_NODE,
        sentence,
        nodes=tuple(swap.placement),
        victims=(DecidedVictim(swap.runner.job.id, How.SWAP, nodes=(up,), gets=(instead,)),),
        placement=swap.placement,
    )


def nearest_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 3."""
    if not balancing.takes_nearest(ask.job):
        return None
    decision = None
    placement = balancing.nearest(ask.shape, coming=False)
    if placement is not None:
        decision = start(cycle, ask, placement)
    elif cycle.cluster_state.coming and (placement := balancing.nearest(ask.shape, coming=True)) is not None:
        decision = wait_for_endings(cycle, ask, placement)
    if decision is None:
        return None
    told = _said(balancing, cycle, decision)
    waited_s = cycle.snapshot.now - ask.job.submit
    if balancing.balance.otherwise is not Otherwise.NEAREST:
        told = replace(told, explain=join(told.explain, waited_enough(balancing.balance, waited_s)))
    return replace(told, reason=Reason.NEAREST_SET)


def stop_for_an_even_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 4, inside one unit if that does hardly more harm and no limit forbids it."""
    shape = balancing.inside_a_unit(Wanted(ask.shape, ask.scope))
    if shape is not None:
        below = cycle.cluster_state.below(ask.scope)
        found = cycle.limits.victims(ask.job, Wanted(shape, ask.scope), below)
        if found is not None and not found.held:
            return _said(balancing, cycle, stop_or_not(cycle, replace(ask, shape=shape), found))
    nearest = balancing.takes_nearest(ask.job)
    for shape in balancing.for_victims(Wanted(ask.shape, ask.scope), nearest=nearest):
        decision = stop_lower_jobs(cycle, replace(ask, shape=shape))
        if decision is not None:
            return _said(balancing, cycle, decision)
    return None


def no_even_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision:
    """It stays in the queue: is it the evenness that is missing, or the room?"""
    if not balancing.measured_suffice(ask.shape):
        measured = len(balancing.powers.measured(ask.shape).places)
        sentence = not_measured(cycle, ask, balancing.balance.resource, measured)
        return cycle.with_passed_over(cycle.queued(ask.job, Reason.NOT_MEASURED, sentence), ask)
    best = balancing.best(ask.shape, coming=True)
    if best is None:
        decision = no_room(cycle, ask)
        return replace(decision, explain=join(decision.explain, wants_even(balancing.most)))
    sentence = too_uneven(cycle, ask, best[0], balancing.most)
    return cycle.with_passed_over(cycle.queued(ask.job, Reason.NO_EVEN_SET, sentence), ask)


def _said(balancing: Balancing, cycle: PlanningRun, decision: Decision) -> Decision:
    """The decision with a word on how even its nodes are."""
    if not decision.nodes:
        return decision
    words_on_it = evenness(balancing, _places(cycle, decision.nodes))
    return replace(decision, explain=join(decision.explain, words_on_it))


def _places(cycle: PlanningRun, names: Iterable[str]) -> Iterable[NodeState]:
    return [cycle.cluster_state.by_name[name] for name in names]


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
            Step(StepTurn.FREE_ROOM, partial(even_set, self.balancing)),
            Step(StepTurn.PARTS, partial(exchange_a_node, self.exchange)),
            Step(StepTurn.PARTS, partial(nearest_set, self.balancing)),
            Step(StepTurn.STOPS, partial(stop_for_an_even_set, self.balancing)),
            Step(StepTurn.LESS, partial(no_even_set, self.balancing)),
        )
