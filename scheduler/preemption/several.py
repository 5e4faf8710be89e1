"""Room on several nodes at once, when running jobs hold more than one node each.

Prices of nodes then depend on each other: stopping one job makes room on all of its nodes. Steps:
1. The highest class that must be used is known: with everybody up to it stopped, enough nodes fit, and with
   everybody below it, not. Nobody above it is looked at.
2. First attempt: take the cheapest node, count its victims as gone, price the nodes they touch again;
   repeat until there are enough nodes.
3. Second attempt, when there are not too many candidates: stop all of them, then give back from the most
   valuable to the least each one without whom enough nodes still fit.
4. Both attempts are trimmed: each victim without whom enough nodes fit, anywhere, is given back, the most
   valuable first. The cheaper one is taken.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from scheduler.preemption.offers import Offers
from scheduler.preemption.pricing import Price, by_tier, cost_of_runners, price
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place, Runner, Universe

MOST_FOR_SECOND_ATTEMPT = 200


@dataclass(frozen=True, slots=True)
class Room:
    """Nodes that a job gets and who is stopped for it, the most valuable first."""

    places: tuple[Place, ...]
    price: Price


class Together:
    """One search for `shape.count` nodes at once; `cheapest` are that many nodes, each priced alone."""

    def __init__(self, universe: Universe, shape: Shape, reach: Reach, offers: Offers) -> None:
        self._universe = universe
        self._shape = shape
        self._reach = reach
        self._offers = offers
        self._allowed = frozenset(place.order for place in shape.places)

    def room(self, cheapest: Sequence[tuple[Place, Price]]) -> Room:
        """The better of the attempts."""
        dearest = highest_class(cheapest)
        attempts = [self._trimmed(self._one_by_one(dearest))]
        everybody = self._everybody(dearest)
        if everybody is not None:
            attempts.append(self._trimmed(everybody))
        return min(attempts, key=_harm)

    def _one_by_one(self, dearest: int) -> set[Runner]:
        """Step 2: the victims."""
        shape = self._shape
        heap = [
            (known.cost, len(known.victims), place.order, 0, known.victims)
            for place, known in self._offers.cheapest(2 * shape.count + 8, dearest + 1)
        ]
        heapify(heap)
        stamps: dict[int, int] = {}
        chosen: set[int] = set()
        gone: set[Runner] = set()
        while len(chosen) < shape.count:
            _, _, order, stamp, victims = heappop(heap)
            if order in chosen or stamp != stamps.get(order, 0):
                continue
            chosen.add(order)
            gone.update(victims)
            for place in _touched(victims):
                if place.order in self._allowed and place.order not in chosen:
                    known = self._price(place, dearest, gone)
                    stamp = stamps[place.order] = stamps.get(place.order, 0) + 1
                    if known is not None:
                        heappush(heap, (known.cost, len(known.victims), place.order, stamp, known.victims))
        return gone

    def _price(self, place: Place, dearest: int, gone: set[Runner]) -> Price | None:
        ordered = by_tier(self._universe.candidates_at(place, self._shape.harm), self._reach)
        return price(place, self._shape, (c for c in ordered if c[0] <= dearest), gone)

    def _everybody(self, dearest: int) -> set[Runner] | None:
        """Step 3: all candidates up to the class, on nodes where the job may run; None when they are too
        many."""
        result: set[Runner] = set()
        for candidate in by_tier(self._universe.candidates(self._shape.harm), self._reach):
            runner = candidate[4]
            if candidate[0] > dearest or len(result) > MOST_FOR_SECOND_ATTEMPT:
                break
            if runner.alive and any(place.order in self._allowed for place, _ in runner.parts):
                result.add(runner)
        return result if len(result) <= MOST_FOR_SECOND_ATTEMPT else None

    def _trimmed(self, victims: set[Runner]) -> Room:
        """Step 4, and the nodes: those that victims leave, then free ones."""
        shape = self._shape
        free = [place for place, known in self._offers.cheapest(shape.count) if not known.victims]
        touched = [place for place in _touched(victims) if place.order in self._allowed]
        known = {place.order for place in touched}
        others = [place for place in free if place.order not in known]
        gone = set(victims)
        fitting = {place.order for place in touched if self._fits(place, gone)}
        for runner in cost_of_runners(victims, shape, self._reach).victims:
            gone.discard(runner)
            lost = {
                place.order
                for place, _ in runner.parts
                if place.order in fitting and not self._fits(place, gone)
            }
            if len(fitting) - len(lost) + len(others) >= shape.count:
                fitting -= lost
            else:
                gone.add(runner)
        places = [place for place in touched if place.order in fitting] + others
        chosen = sorted(places[: shape.count], key=lambda place: place.order)
        return Room(tuple(chosen), cost_of_runners(gone, shape, self._reach))

    def _fits(self, place: Place, gone: set[Runner]) -> bool:
        return price(place, self._shape, (), gone) is not None


def highest_class(cheapest: Sequence[tuple[Place, Price]]) -> int:
    """The highest class of victim among nodes that are given the cheapest first, the last of them not for
    free."""
    return cheapest[-1][1].cost[0][0]


def is_needed(universe: Universe, reach: Reach, dearest: int) -> bool:
    """Whether nodes can depend on each other: somebody who may be stopped, up to a class, is on several
    nodes."""
    for runner in universe.spanning:
        own_class = reach.class_of(runner.first, runner.second)
        if runner.alive and own_class is not None and own_class <= dearest:
            return True
    return False


def _touched(runners: Iterable[Runner]) -> list[Place]:
    places = {place.order: place for runner in runners for place, _ in runner.parts}
    return [places[order] for order in sorted(places)]


def _harm(room: Room) -> tuple[object, ...]:
    victims = room.price.victims
    return room.price.cost, len(victims), tuple(runner.order for runner in victims)
