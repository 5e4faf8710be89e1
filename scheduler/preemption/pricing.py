"""What room on one node costs: the victims it takes, and how their cost compares.

On one node the victims are chosen in the document's order (¶95-¶97, ¶121):
1. From the first to go to the last, take candidates until what is free, coming and taken suffices.
2. From the most valuable taken to the least, give back each one without whom it still suffices. Among all
   sets of candidates that suffice this gives the one whose most valuable member is the least valuable
   possible, then its second, and so on; so it is irreducible and never uses a higher class than it must,
   whatever resources are asked.
"""

from collections.abc import Iterable, Set
from typing import NamedTuple

from scheduler.preemption.candidates import Candidate, loss_of
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape

Cost = tuple[tuple[int, int, int], ...]
"""Per class, the highest first: the class, the cost in it, the number of victims. Compares as it
stands."""

Loss = tuple[RunningJob, str, int]
"""A runner, a node of its, and how many of its pieces there it loses."""

Gone = Set[RunningJob]
NOBODY: Gone = frozenset()
_NONE: dict[str, int] = {}


class Price(NamedTuple):
    """What a node costs: nothing (`victims` empty), or these victims, the most valuable first.

    `losses`: who of them only lose pieces, with the node and how many; the others are stopped. `units`: for a request
    in units, how many that gives.
    """

    cost: Cost = ()
    victims: tuple[RunningJob, ...] = ()
    waste: int = 0
    losses: tuple[Loss, ...] = ()
    units: int = 0


FREE = Price()


def fits(place: NodeState, shape: Shape, coming: bool) -> bool:
    """Whether the shape fits on a node without stopping anybody, counting what is coming or not."""
    if shape.exclusive and (place.holders or (place.leaving and not coming)):
        return False
    free, more = place.free, place.coming if coming else _NONE
    for name, amount in shape.wants:  # noqa: SIM110 - this is asked for every node, and a loop is twice as fast
        if free.get(name, 0) + more.get(name, 0) < amount:
            return False
    return True


def present(coming: bool, name: str, place: NodeState) -> int:
    """How much of a resource is free on a node, counting what is coming or not."""
    free = place.free.get(name, 0)
    return free + place.coming.get(name, 0) if coming else free


def obtainable(name: str, place: NodeState) -> int:
    """How much of a resource there is on a node once everybody has gone who may be stopped."""
    return place.free.get(name, 0) + place.coming.get(name, 0) + place.stoppable.get(name, 0)


def price_without_victims(place: NodeState, shape: Shape, coming: bool) -> Price | None:
    """The price of a node on which the shape fits: of several the one with the least left over is taken."""
    if not fits(place, shape, coming):
        return None
    total, free = place.node.total, place.free
    return Price(
        waste=sum((free.get(name, 0) - amount) * 1000 // total[name] for name, amount in shape.wants)
    )


def price(
    place: NodeState, shape: Shape, candidates: Iterable[Candidate], gone: Gone = NOBODY
) -> Price | None:
    """The price of a node when these candidates (the first to go first) may be stopped; None when not enough.

    `gone`: runners that are stopped anyway, whose room counts as there.
    """
    if shape.exclusive:
        return _price_of_all(place, shape, candidates, gone)
    short = missing(place, shape, gone)
    if not short:
        return FREE
    taken = take(short, (c for c in candidates if c[4].may_go and c[4] not in gone) if gone else candidates)
    return None if taken is None else chosen(place, taken, short)


def chosen(_: NodeState, taken: list[Candidate], short: dict[str, int]) -> Price:
    """The price of a node when these are taken in step 1 above, and `short` is missing then."""
    return priced(taken if len(taken) == 1 else give_back(taken, short))


def take(short: dict[str, int], candidates: Iterable[Candidate]) -> list[Candidate] | None:
    """Step 1 above; None when all candidates are not enough. Afterwards `short` is negative by what is
    left over."""
    taken = []
    rest = 1
    for candidate in candidates:
        if not candidate[4].may_go:
            continue
        taken.append(candidate)
        gives = candidate[5]
        for name, missing in short.items():
            rest = short[name] = missing - gives.get(name, 0)
        # With one resource short (the usual case) `rest` says it all.
        if rest <= 0 and (len(short) == 1 or all(missing <= 0 for missing in short.values())):
            return taken
    return None


def missing(place: NodeState, shape: Shape, gone: Gone = NOBODY) -> dict[str, int]:
    """What is missing on a node, by resource."""
    free, coming = place.free, place.coming
    short = {}
    for name, amount in shape.wants:
        rest = amount - free.get(name, 0) - coming.get(name, 0)
        if rest > 0:
            short[name] = rest
    if short and gone:
        for runner, gives in [(r, r.alloc[place.node.name]) for r in place.runners if r in gone]:
            for name in short:
                short[name] -= gives.get(name, 0) if runner.alive else 0
        short = {name: rest for name, rest in short.items() if rest > 0}
    return short


def give_back(taken: list[Candidate], short: dict[str, int]) -> list[Candidate]:
    """Step 2 above. `short` holds what is missing, negative what is left over; gives the most valuable
    first."""
    kept = []
    for candidate in reversed(taken):
        gives = candidate[5]
        for name, rest in short.items():
            if rest + gives.get(name, 0) > 0:
                kept.append(candidate)
                break
        else:
            for name in short:
                short[name] += gives.get(name, 0)
    return kept


def _price_of_all(
    place: NodeState, shape: Shape, candidates: Iterable[Candidate], gone: Gone
) -> Price | None:
    """The price of a node that must be empty: everybody on it goes, or it cannot be had."""
    leaving = sum(runner in gone and runner.alive for runner in place.runners)
    taken = [c for c in candidates if c[4].may_go and c[4] not in gone]
    if len(taken) + leaving != place.holders:
        return None
    if any(place.node.total.get(name, 0) < amount for name, amount in shape.wants):
        return None
    return priced(taken[::-1])


def priced(victims: list[Candidate]) -> Price:
    """The price of candidates, given the most valuable first."""
    if not victims:
        return FREE
    cost: list[tuple[int, int, int]] = []
    present, lost, count = victims[0][0], 0, 0
    for victim in victims:
        if victim[0] != present:
            cost.append((present, lost, count))
            present, lost, count = victim[0], 0, 0
        lost += victim[1]
        count += 1
    cost.append((present, lost, count))
    return Price(tuple(cost), tuple([victim[4] for victim in victims]))


def cost_of_runners(runners: Iterable[RunningJob], shape: Shape, scope: PreemptionScope) -> Price:
    """The price of a set of runners, whatever nodes they are on."""
    return priced(candidates_of(runners, shape, scope))


def candidates_of(runners: Iterable[RunningJob], shape: Shape, scope: PreemptionScope) -> list[Candidate]:
    """Some runners as victims, the most valuable first, without those who are out of scope."""
    victims: list[Candidate] = [
        (own_class, loss_of(runner, shape.cost_in), runner.ran, runner.order, runner, _NONE)
        for runner in runners
        if (own_class := scope.class_of(runner.first, runner.second)) is not None
    ]
    victims.sort(reverse=True)
    return victims
