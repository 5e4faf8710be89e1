"""What is said of even sets, exchanges and nodes that are not measured."""

from collections.abc import Iterable

from scheduler.model import words
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.balance.evenset import ONE
from scheduler.preemption.balance.exchange import Swap
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.planning_run import Ask, PlanningRun
from scheduler.preemption.sentences import clean


def evenness(balancing: Balancing, places: Iterable[NodeState]) -> str:
    """How even the nodes are that a job gets, as a sentence that follows another one."""
    chosen = list(places)
    unknown = [place for place in chosen if place.order not in balancing.powers.of]
    if unknown:
        return f" Not measured: {words.names(clean(place.node.name) for place in unknown)}."
    distance = balancing.powers.distance(place.order for place in chosen)
    apart, allowed = figure(distance), figure(balancing.most)
    if distance > balancing.most:
        return f" It is the nearest set: the nodes differ by {apart} in compute power, {allowed} is allowed."
    units = {place.node.unit for place in chosen}
    unit = units.pop() if len(units) == 1 else None
    where = f", all in {clean(unit)}" if unit else ""
    return f" The nodes differ by {apart} in compute power, {allowed} is allowed{where}."


def too_uneven(cycle: PlanningRun, ask: Ask, distance: int, most: int) -> str:
    """There is room, but not on an even set."""
    return (
        f"{cycle.say.needs(ask.job)} of equal compute power; there is room, but the nearest set differs by "
        f"{figure(distance)}, {figure(most)} is allowed."
    )


def not_measured(cycle: PlanningRun, ask: Ask, resource: str, measured: int) -> str:
    """Too few nodes have a figure."""
    return (
        f"{cycle.say.needs(ask.job)} of equal compute power; only {measured} of the nodes that it may use have been "
        f"measured ({clean(resource)})."
    )


def exchanged(cycle: PlanningRun, ask: Ask, swap: Swap) -> str:
    """One young job moves."""
    up, instead = clean(swap.up.node.name), clean(swap.instead.node.name)
    return (
        f"{cycle.say.needs(ask.job)} of equal compute power; what is free is too uneven. "
        f"{cycle.say.victim(swap.runner)} exchanges {up} for {instead}, so that both have even sets; it starts on "
        f"{words.names(clean(name) for name in swap.placement)}."
    )


def wants_even(most: int) -> str:
    """Why room that others would take is none for this job, as a sentence that follows another one."""
    return f" It asks for nodes of equal compute power: {figure(most)} apart is allowed."


def figure(distance: int) -> str:
    """A distance as people write it: `0.05`."""
    return f"{distance / ONE:.6g}"
