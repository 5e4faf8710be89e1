"""What each node has as time goes on. Running jobs only release, so of each resource that is a row of amounts that
rises: when a request fits is found by bisection.

- What is there now changes often, what is released seldom: they are kept apart, and added up when asked.
- All of it is worked out once for all requests, until the index names the node.
- How much is released in all is a mere sum, and rules most nodes out: a row is made only where a request seems to fit.
- A sum or row that is out of date says too much, never too little, since running jobs only go: it is worked out again
  only for a request that seems to fit.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import accumulate

from scheduler.model.resources import Amounts
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_index import Changes
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.reservation.ends import Ends, Releases
from scheduler.preemption.shapes import Wants

Entry = tuple[int, int, int]
"""A node that a shape fits onto: the moment, what the node lacks of full health, its order."""

_NOT_YET = -1
"""No moment has been reached: it is before all of them."""


class Future(dict[str, list[int]]):
    """What is released on one node, added up: of each resource nothing now, and so much after each of its releases."""

    __slots__ = ("releases",)

    def __init__(self, releases: Releases) -> None:
        self.releases = releases

    def __missing__(self, name: str) -> list[int]:
        amounts = [gives.get(name, 0) for _, _, gives in self.releases]
        row = self[name] = [*accumulate(amounts, initial=0)]
        return row

    def most(self, name: str, by: int | None) -> int:
        """What is released of a resource in the end, or by a moment."""
        return sum([gives.get(name, 0) for end, _, gives in self.releases if by is None or end <= by])


class Futures:
    """The futures of all nodes of a state of the cluster. `changes`: of those that may have become other ones."""

    def __init__(
        self,
        cluster_state: ClusterState,
        claimed: Callable[[NodeState], Amounts],
        ends: Ends,
        forgotten: Set[int],
    ) -> None:
        """`claimed`: of what is there, not to be had. `forgotten`: nodes that give nothing, and never will."""
        self.changes = Changes(len(cluster_state.places))
        self._cluster_state = cluster_state
        self._claimed = claimed
        self._ends = ends
        self._forgotten = forgotten
        self._start = cluster_state.snapshot.now
        self._watch = cluster_state.index.changes.watch()
        self._on = [place.runners.copy() for place in cluster_state.places]
        self._made: dict[int, Future] = {}
        self._outdated: set[int] = set()
        self._there: dict[str, list[int]] = {}
        self._most: dict[str, dict[int | None, list[int]]] = defaultdict(dict)
        self._gaining: dict[int, set[int]] = {}

    def fitting(self, wants: Wants, by: int | None, node_indices: Iterable[int]) -> Iterable[tuple[int, int]]:
        """Of some nodes those onto which so much fits, with the moment and the order of each; `by`: until then."""
        for name, amount in wants:
            most = self.most(name, by)
            node_indices = [order for order in node_indices if most[order] >= amount]
        forgotten = self._forgotten
        awaited = {order: 0 for order in node_indices if order not in forgotten}
        for name, amount in wants:
            self._wait_for(name, amount, awaited)
        made = self._made
        found = [
            (made[order].releases[number - 1][0] if number else self._start, order)
            for order, number in awaited.items()
        ]
        return found if by is None else [entry for entry in found if entry[0] <= by]

    def there_is(self, wants: Wants, order: int) -> bool:
        """Whether a node has so much now."""
        for name, amount in wants:  # noqa: SIM110 - asked for many nodes; a loop is twice as fast
            if self.there(name)[order] < amount:
                return False
        return True

    def moment(self, wants: Wants, order: int) -> int | None:
        """When a node has so much; None when that is not known."""
        number = 0
        for name, amount in wants:
            have = self.there(name)[order]
            if have >= amount:
                continue
            if have < 0 and amount - have > self._cluster_state.places[order].node.total[name]:
                return None
            row = self._of(order)[name]
            number = bisect_left(row, amount - have, number)
            if number == len(row):
                return None
        return self._made[order].releases[number - 1][0] if number else self._start

    def _wait_for(self, name: str, amount: int, awaited: dict[int, int]) -> None:
        """Count how many releases on each of some nodes have to be awaited until there is so much; nodes where that is
        not known drop out."""
        there = self._there[name]
        for order in [order for order in awaited if there[order] < amount]:
            have = there[order]
            # A node that lacks more than all that it is made of has been promised away, or is overcommitted.
            if have >= 0 or amount - have <= self._cluster_state.places[order].node.total[name]:
                row = self._of(order)[name]
                number = bisect_left(row, amount - have, awaited[order])
                if number < len(row):
                    awaited[order] = number
                    continue
            del awaited[order]

    def most(self, name: str, by: int | None) -> Sequence[int]:
        """What there is at most of a resource in the end, or by a moment, by node. It may be less, never more. Nothing
        is said of nodes that are forgotten."""
        amounts = self._most[name].get(by)
        if amounts is None:
            amounts = self._most[name][by] = self.there(name).copy()
            self._ends.add_released(amounts, name, by)
        return amounts

    def gaining(self, by: int) -> Set[int]:
        """The nodes on which something may be released by a moment: elsewhere there is by then what there is now."""
        node_indices = self._gaining.get(by)
        if node_indices is None:
            node_indices = self._gaining[by] = self._ends.places(by)
        return node_indices

    def there(self, name: str) -> list[int]:
        """What there is of a resource now, by node: below zero where it was promised away, or is overcommitted."""
        amounts = self._there.get(name)
        if amounts is None:
            claimed = self._claimed
            amounts = self._there[name] = [
                place.free.get(name, 0) + place.coming.get(name, 0) - claimed(place).get(name, 0)
                for place in self._cluster_state.places
            ]
        return amounts

    def catch_up(self) -> None:
        """Look again at the nodes that have changed."""
        for order in self._watch.changed():
            if order not in self._forgotten:
                self._look_at(order, self._cluster_state.places[order])

    def _look_at(self, order: int, place: NodeState) -> None:
        changed = order in self._made
        self._outdated.add(order)
        free, coming, claimed = place.free, place.coming, self._claimed(place)
        for name, there in self._there.items():
            more = free.get(name, 0) + coming.get(name, 0) - claimed.get(name, 0) - there[order]
            if more:
                changed = True
                there[order] += more
                for most in self._most[name].values():
                    most[order] += more
        if place.runners != self._on[order]:
            if not set(place.runners) <= set(self._on[order]):
                # Somebody has moved there.
                for gaining in self._gaining.values():
                    gaining.add(order)
                self._renew(order)
                changed = True
            self._on[order] = place.runners.copy()
        if changed:
            self.changes.note(order)

    def _of(self, order: int) -> Future:
        """What is released on a node, as it is now."""
        if order in self._outdated:
            return self._renew(order)
        future = self._made.get(order)
        if future is None:
            future = self._made[order] = Future(self._ends.releases(self._cluster_state.places[order]))
        return future

    def _renew(self, order: int) -> Future:
        future = self._made[order] = Future(self._ends.releases(self._cluster_state.places[order]))
        self._outdated.discard(order)
        for name, known in self._most.items():
            for by, most in known.items():
                most[order] = self._there[name][order] + future.most(name, by)
        return future


class EarliestNodes:
    """The nodes that a shape fits onto some time, the earliest first, kept up to date.

    It reaches no further into the future than somebody has asked: to a moment at first, then to the end of time.
    """

    def __init__(
        self,
        own: frozenset[int],
        changes: Changes,
        look: Callable[[Iterable[int], int | None], Iterable[Entry]],
        forgotten: Set[int],
    ) -> None:
        """`look` gives the entries of those nodes, of some, that the shape fits onto in the end, or by a moment.
        `forgotten`: nodes that nobody gets any more; they drop out when they come to the front."""
        self._own = own
        self._look = look
        self._forgotten = forgotten
        self._reached: int | None = _NOT_YET
        self._watch = changes.watch()
        self._known: dict[int, Entry] = {}
        self._sorted: list[Entry] = []

    def until(self, by: int | None) -> Iterator[Entry]:
        """As it is now, until a moment; of equal moments the healthiest first."""
        if named := self._watch.changed():
            self._catch_up(named)
        if self._reached is not None and (by is None or by > self._reached):
            self._look_further(by if self._reached == _NOT_YET else None)
        self._drop_forgotten()
        forgotten = self._forgotten
        for entry in self._sorted:
            if by is not None and entry[0] > by:
                return
            if entry[2] not in forgotten:
                yield entry

    def _look_further(self, by: int | None) -> None:
        """Who fits by the moment that is reached is known already: all others come later, but for forgotten nodes,
        which have dropped out of the line and stay out."""
        left = self._own - self._forgotten
        found = sorted([entry for entry in self._look(left, by) if entry[2] not in self._known])
        self._sorted += found
        self._known.update({entry[2]: entry for entry in found})
        self._reached = by

    def _catch_up(self, named: Iterable[int]) -> None:
        changed = self._own.intersection(named)
        if not changed or self._reached == _NOT_YET:
            return
        before = {self._known.pop(order) for order in changed & self._known.keys()}
        now = {*self._look(changed, self._reached)}
        self._known.update({entry[2]: entry for entry in now})
        for entry in before - now:
            del self._sorted[bisect_left(self._sorted, entry)]
        for entry in now - before:
            insort(self._sorted, entry)

    def _drop_forgotten(self) -> None:
        line, number = self._sorted, 0
        while number < len(line) and line[number][2] in self._forgotten:
            del self._known[line[number][2]]
            number += 1
        del line[:number]
