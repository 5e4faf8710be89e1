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

from scheduler.preemption.offers import Offers
from scheduler.preemption.pricing import Gone, Price, by_tier, cost_of_runners, price
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Candidate, Place, Runner, Universe

MOST_FOR_SECOND_ATTEMPT = 2000


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
        dearest = cheapest[-1][1].cost[0][0]
        attempts = [self._trimmed(self._one_by_one(dearest))]
        everybody = self._everybody(dearest)
        if len(everybody) <= MOST_FOR_SECOND_ATTEMPT:
            attempts.append(self._trimmed(everybody))
        return min(attempts, key=_harm)

    def _one_by_one(self, dearest: int) -> frozenset[Runner]:
        """Step 2: the victims."""
        shape = self._shape
        alone = list(self._offers.cheapest(2 * shape.count + 8, dearest + 1))
        gone: frozenset[Runner] = frozenset()
        again: dict[int, Price | None] = {}
        chosen: set[int] = set()
        for _ in range(shape.count):
            best = self._next(alone, again, chosen)
            chosen.add(best[0])
            gone |= frozenset(best[1].victims)
            for place in _touched(best[1].victims):
                if place.order in self._allowed and place.order not in chosen:
                    again[place.order] = self._price(place, dearest, gone)
        return gone

    def _next(
        self, alone: list[tuple[Place, Price]], again: dict[int, Price | None], chosen: set[int]
    ) -> tuple[int, Price]:
        """The cheapest node not chosen yet; nodes priced again count with their new price."""
        fresh = ((order, known) for order, known in again.items() if known is not None)
        old = ((place.order, known) for place, known in alone if place.order not in again)
        left = ((order, known) for order, known in (*fresh, *old) if order not in chosen)
        return min(left, key=lambda entry: (entry[1].cost, len(entry[1].victims), entry[0]))

    def _price(self, place: Place, dearest: int, gone: Gone) -> Price | None:
        ordered = by_tier(self._universe.candidates_at(place, self._shape.harm), self._reach)
        return price(place, self._shape, _up_to(ordered, dearest), gone)

    def _everybody(self, dearest: int) -> frozenset[Runner]:
        """Step 3: all candidates up to the class, on nodes where the job may run."""
        ordered = by_tier(self._universe.candidates(self._shape.harm), self._reach)
        allowed = self._allowed
        runners = (candidate[4] for candidate in _up_to(ordered, dearest))
        return frozenset(
            runner for runner in runners if any(place.order in allowed for place, _ in runner.parts)
        )

    def _trimmed(self, victims: frozenset[Runner]) -> Room:
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
        return price(place, self._shape, (), frozenset(r for r in place.runners if r in gone)) is not None


def _up_to(ordered: Iterable[Candidate], dearest: int) -> list[Candidate]:
    return [candidate for candidate in ordered if candidate[4].alive and candidate[0] <= dearest]


def _touched(runners: Iterable[Runner]) -> list[Place]:
    places = {place.order: place for runner in runners for place, _ in runner.parts}
    return [places[order] for order in sorted(places)]


def _harm(room: Room) -> tuple[object, ...]:
    victims = room.price.victims
    return room.price.cost, len(victims), tuple(runner.order for runner in victims)
