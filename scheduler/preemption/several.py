"""Room on several nodes at once, when running jobs hold more than one node each.

Prices of nodes then depend on each other: stopping one job makes room on all of its nodes. Steps:
1. The highest class that must be used is known: with everybody up to it stopped, enough nodes fit, and with
   everybody below it, not. Nobody above it is looked at.
2. One attempt: take the cheapest node, count its victims as gone, price the nodes they touch again;
   repeat until there are enough nodes.
3. The same again, beginning with one job on several nodes as gone, for a few such jobs that do the least harm
   per node.
4. Every attempt is trimmed: each victim without whom enough nodes fit, anywhere, is given back, the most
   valuable first. The cheapest attempt is taken.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, nsmallest

from scheduler.preemption.candidates import harm_of
from scheduler.preemption.ladders import Ladders
from scheduler.preemption.offers import Offers
from scheduler.preemption.pricing import Cost, Price, cost_of_runners, price
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place, Runner, Universe

MOST_BEGINNINGS = 4
"""Of step 3."""

_Entry = tuple[Cost, int, int, int, tuple[Runner, ...]]


@dataclass(frozen=True, slots=True)
class Room:
    """Nodes that a job gets and who is stopped for it, the most valuable first."""

    places: tuple[Place, ...]
    price: Price


class Together:
    """One search for `shape.count` nodes at once, with victims up to the class `dearest` (step 1)."""

    def __init__(
        self, universe: Universe, ladders: Ladders, shape: Shape, reach: Reach, dearest: int
    ) -> None:
        self.shape = shape
        self.allowed = frozenset(place.order for place in shape.places)
        self._universe = universe
        self._ladders = ladders
        self._reach = reach
        self._dearest = dearest

    def room(self, offers: Offers) -> Room:
        """The best of the attempts; `offers` are the prices of the nodes one by one."""
        alone = offers.cheapest(2 * self.shape.count + 8, self._dearest + 1)
        free = [place for place, known in alone if not known.victims]
        attempts = [_one_by_one(self, alone, begin) for begin in ([], *([wide] for wide in self._wide()))]
        return min((self._trimmed(victims, free) for victims in attempts), key=_harm)

    def price(self, place: Place, gone: set[Runner]) -> Price | None:
        """What a node costs once some are gone."""
        ladder = self._ladders.on(place).candidates
        return price(place, self.shape, (c for c in ladder if c[0] <= self._dearest), gone)

    def _wide(self) -> list[Runner]:
        """Those who could free several nodes at once, the ones that do least harm per node first."""
        priced: list[tuple[int, int, int, Runner]] = []
        for own_class, runners in _spanning(self._universe, self._reach, self._dearest):
            for runner in runners:
                freed = sum([place.order in self.allowed for place in runner.places])
                if freed > 1:
                    harm = harm_of(runner, self.shape.harm) // freed
                    priced.append((own_class, harm, runner.order, runner))
            if len(priced) >= MOST_BEGINNINGS:
                break  # whoever is of a higher class comes behind them
        return [entry[3] for entry in nsmallest(MOST_BEGINNINGS, priced)]

    def _trimmed(self, victims: set[Runner], free: list[Place]) -> Room:
        """Step 4, and the nodes: those where victims leave, then free ones."""
        count = self.shape.count
        touched = [place for place in _touched(victims) if place.order in self.allowed]
        known = {place.order for place in touched}
        others = [place for place in free if place.order not in known]
        gone = set(victims)
        fitting = {place.order for place in touched if self._fits(place, gone)}
        for runner in cost_of_runners(victims, self.shape, self._reach).victims:
            gone.discard(runner)
            mine = (place for place in runner.places if place.order in fitting)
            lost = {place.order for place in mine if not self._fits(place, gone)}
            if len(fitting) - len(lost) + len(others) >= count:
                fitting -= lost
            else:
                gone.add(runner)
        places = [place for place in touched if place.order in fitting] + others
        chosen = sorted(places[:count], key=lambda place: place.order)
        return Room(tuple(chosen), cost_of_runners(gone, self.shape, self._reach))

    def _fits(self, place: Place, gone: set[Runner]) -> bool:
        return price(place, self.shape, (), gone) is not None


def is_needed(universe: Universe, reach: Reach, dearest: int) -> bool:
    """Whether nodes can depend on each other: somebody who may be stopped, up to a class, is on several
    nodes."""
    return any(runners for _, runners in _spanning(universe, reach, dearest))


def highest_class(cheapest: Sequence[tuple[Place, Price]]) -> int:
    """The highest class of victim among nodes that are given the cheapest first, the last of them not for
    free."""
    return cheapest[-1][1].cost[0][0]


def _spanning(universe: Universe, reach: Reach, dearest: int) -> Iterator[tuple[int, list[Runner]]]:
    """Those on several nodes who may be stopped, class by class, the lowest first."""
    by_class: dict[int, list[list[Runner]]] = {}
    for weights, runners in universe.spanning.items():
        own_class = reach.class_of(*weights)
        if own_class is not None and own_class <= dearest:
            by_class.setdefault(own_class, []).append(runners)
    for own_class in sorted(by_class):
        yield own_class, [runner for runners in by_class[own_class] for runner in runners if runner.may_go]


def _one_by_one(
    search: Together, alone: Sequence[tuple[Place, Price]], begin: Iterable[Runner]
) -> set[Runner]:
    """Step 2: the victims; with those in `begin` gone from the beginning, step 3."""
    heap: list[_Entry] = [_entry(place, known, 0) for place, known in alone]
    heapify(heap)
    stamps: dict[int, int] = {}
    chosen: set[int] = set()
    gone: set[Runner] = set()
    leaving = tuple(begin)
    while True:
        gone.update(leaving)
        for place in _touched(leaving):
            if place.order in search.allowed and place.order not in chosen:
                stamp = stamps[place.order] = stamps.get(place.order, 0) + 1
                known = search.price(place, gone)
                if known is not None:
                    heappush(heap, _entry(place, known, stamp))
        if len(chosen) == search.shape.count:
            return gone
        _, _, order, stamp, leaving = heappop(heap)
        while order in chosen or stamp != stamps.get(order, 0):
            _, _, order, stamp, leaving = heappop(heap)
        chosen.add(order)


def _entry(place: Place, known: Price, stamp: int) -> _Entry:
    return known.cost, len(known.victims), place.order, stamp, known.victims


def _touched(runners: Iterable[Runner]) -> list[Place]:
    places = {place.order: place for runner in runners for place in runner.places}
    return [places[order] for order in sorted(places)]


def _harm(room: Room) -> tuple[object, ...]:
    victims = room.price.victims
    return room.price.cost, len(victims), tuple(runner.order for runner in victims)
