"""The one index of what has changed on which node, for everybody who keeps something about nodes.

`ClusterState` notes every change here. Whoever keeps something derived (stocks, sums, bounds, prices, predicted rooms,
workers) takes one `Watch` and asks it what to look at again; nobody reads a log by hand, and a node that changed often
is named once. Nothing is told ahead of being asked: most of what is kept is asked seldom, or never again.
"""

from collections.abc import Iterable, Sequence

from scheduler.model.resources import Amounts, total
from scheduler.preemption.node_state import NodeState


class Changes:
    """Changes of things that are numbered from 0. `now`: how many there have been; `last`: by number, which was the
    last of each (0: none)."""

    __slots__ = ("_recent", "last", "now")

    def __init__(self, count: int) -> None:
        self.now = 0
        self.last = [0] * count
        self._recent: dict[int, None] = {}
        """Those that have changed, each once, by its last change."""

    def note(self, number: int) -> None:
        """It has changed."""
        self.now += 1
        self.last[number] = self.now
        self._recent.pop(number, None)
        self._recent[number] = None

    def since(self, then: int) -> list[int]:
        """Those that have changed after a change, each once."""
        last, found = self.last, list[int]()
        for number in reversed(self._recent):
            if last[number] <= then:
                break
            found.append(number)
        return found

    def watch(self) -> "Watch":
        """What changes from now on."""
        return Watch(self)


class Watch:
    """What one who keeps something has to look at again. `seen`: the last change that it was told."""

    __slots__ = ("_changes", "seen")

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self.seen = changes.now

    @property
    def behind(self) -> int:
        """How many changes there have been since this was asked last."""
        return self._changes.now - self.seen

    def skip(self) -> None:
        """Whatever has changed so far is known."""
        self.seen = self._changes.now

    def changed(self) -> list[int]:
        """Those that have changed since this was asked last, each once."""
        if self.seen == self._changes.now:
            return []
        found = self._changes.since(self.seen)
        self.seen = self._changes.now
        return found


class NodeIndex:
    """What has changed on the nodes of one partition.

    `changes`: of any kind. `weights`: of nodes on which nothing changed, but a piece counts for more since its job lost
    others elsewhere.
    """

    def __init__(self, places: Sequence[NodeState]) -> None:
        self.places = places
        self.changes = Changes(len(places))
        self.weights = Changes(len(places))
        self.cheaper = [0] * len(places)
        """By node: the last change that may have made room there cheaper: there is more of something, somebody has
        left, or may be stopped again. Whatever else happens, what it cost to stop somebody there is a lower bound of
        what it costs now: there is no more room than before, and nobody to stop who was not there before. As of
        `look`."""
        self._watch = self.changes.watch()
        self._rooms = [_room(place) for place in places]
        self._holders = [place.holders for place in places]

    def note(self, place: NodeState) -> None:
        """Something is other than before on a node."""
        self.changes.note(place.order)

    def note_all(self, places: Iterable[NodeState]) -> None:
        """The same of some nodes."""
        for place in places:
            self.changes.note(place.order)

    def note_again(self, place: NodeState) -> None:
        """Somebody there may be stopped again who was spared before."""
        self.changes.note(place.order)
        self.cheaper[place.order] = self.changes.now

    def look(self) -> None:
        """Bring `cheaper` up to date."""
        for order in self._watch.changed():
            if self._may_be_cheaper(self.places[order]):
                self.cheaper[order] = self.changes.last[order]

    def _may_be_cheaper(self, place: NodeState) -> bool:
        """Whether there is more than at the last look, or fewer hold it."""
        order, room, holders = place.order, _room(place), place.holders
        before, self._rooms[order] = self._rooms[order], room
        fewer, self._holders[order] = holders < self._holders[order], holders
        if fewer:
            return True
        for name, amount in room.items():  # noqa: SIM110 - asked for every change, and a loop is twice as fast
            if amount > before.get(name, 0):
                return True
        return False


def _room(place: NodeState) -> Amounts:
    """What is free or coming on a node now."""
    return total((place.free, place.coming)) if place.coming else place.free.copy()
