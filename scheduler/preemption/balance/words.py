"""What is said of even sets, exchanges and nodes that are not measured."""

from collections.abc import Iterable

from scheduler.model.policy import Balance
from scheduler.model.sentence import Listed, Seconds, Sentence, say
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.balance.evenset import ONE
from scheduler.preemption.balance.exchange import Swap
from scheduler.preemption.methods import Ask
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.sentences import clean


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
