"""When there is room for a request that is counted over nodes: amounts anywhere, or units.

Running jobs are gone through in the order of their expected ends, whatever nodes they are on, until what is free,
coming and released on all nodes together suffices. At that moment the job takes what it needs from as few nodes as
possible: those that give most first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from heapq import heapify, heappop

from scheduler.model.resources import Amounts, add, subtract
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.reservation.moments import Moments
from scheduler.preemption.shapes import Shape, ShapeKey, in_parts, with_type

_UNITS = ""
_NOTHING: Amounts = {}


class Summed:
    """The sums of one state of the cluster over its predicted future."""

    def __init__(self, cluster_state: ClusterState, moments: Moments) -> None:
        self._cluster_state = cluster_state
        self._moments = moments
        self._present: dict[ShapeKey, Present] = {}

    def earliest(self, shape: Shape, by: int | None = None) -> tuple[int, Mapping[str, Amounts]] | None:
        """When a job can start, and on what; None when that is not known, or later than `by`."""
        wants = {_UNITS: shape.units} if shape.units else dict(shape.wants)
        present = self._present.get(shape.pool)
        if present is None:
            present = self._present[shape.pool] = Present(self._cluster_state, self._moments, shape)
        if not present.suffices(wants, by):
            return None
        have = dict(present.total())
        rooms: dict[NodeState, dict[str, int]] = {}
        at = self._cluster_state.snapshot.now
        for end, place, amounts in () if _covered(have, wants) else self._releases(present, shape, by):
            if by is not None and end > by:
                return None
            room = rooms.get(place)
            if room is None:
                room = rooms[place] = present.room(place)
            subtract(have, _counted(room, shape))
            add(room, amounts)
            add(have, _counted(room, shape))
            if _covered(have, wants):
                at = end
                break
        if not _covered(have, wants):
            return None
        changed: dict[NodeState, Amounts] = {place: _counted(room, shape) for place, room in rooms.items()}
        return at, _taken(present, changed, shape, wants, have)

    def _releases(
        self, present: "Present", shape: Shape, by: int | None
    ) -> Iterable[tuple[int, NodeState, Amounts]]:
        """What comes free and when, the earliest first: as a whole when a node must be empty."""
        if not shape.exclusive:
            return self._moments.ends.timeline(present.own, by)
        emptied = [
            (end, place.order, place)
            for place in shape.places
            if place.holders and (end := self._moments.empty(place)) is not None
        ]
        return [
            (end, place, place.node.total) for end, _, place in sorted(emptied, key=lambda entry: entry[:2])
        ]


class Present:
    """What each node counts for before anybody has ended, kept up to date by the index of nodes."""

    def __init__(self, cluster_state: ClusterState, moments: Moments, shape: Shape) -> None:
        self.own = moments.left(shape.node_indices)
        self._cluster_state = cluster_state
        self._moments = moments
        self._shape = shape
        self._names = [name for name, _ in shape.wants]
        self._there = [moments.futures().there(name) for name in self._names]
        self._watch = cluster_state.index.changes.watch()
        self._counted: dict[NodeState, dict[str, int]] = {}
        self._total: dict[str, int] = {}
        self._having: dict[str, dict[NodeState, None]] = {name: {} for name in (_UNITS, *self._names)}
        for order in sorted(self._promising()):
            self._look_at(cluster_state.places[order])

    def _promising(self) -> set[int]:
        """The nodes that may count for something: most have nothing left of anything."""
        if self._shape.exclusive:
            return self.own
        return {order for there in self._there for order in self.own if there[order] > 0}

    def total(self) -> Amounts:
        """All nodes together."""
        for order in self._watch.changed():
            if order in self.own:
                self._look_at(self._cluster_state.places[order])
        return self._total

    def suffices(self, wants: Amounts, by: int | None) -> bool:
        """A quick look: whether there will be enough in the end, or by a moment. No is certain.

        Not for nodes that must be empty: what is there on one of them counts at once, or not at all.
        """
        futures = self._moments.futures()
        if self._shape.exclusive:
            return True
        have = dict(self.total())
        gaining = self.own if by is None else self.own & futures.gaining(by)
        subtract(have, self._counts(self._there, gaining))
        add(have, self._counts([futures.most(name, by) for name in self._names], gaining))
        return _covered(have, wants)

    def _counts(self, amounts: Sequence[Sequence[int]], node_indices: Set[int]) -> Amounts:
        """What some nodes count for together, with so much on each."""
        each = [[*map(there.__getitem__, node_indices)] for there in amounts]
        pieces = self._shape.wants if self._shape.units else self._shape.part
        if not pieces:
            sums = [sum([there for there in own if there > 0]) for own in each]
            return dict(zip(self._names, sums, strict=True))
        parts = [[there // amount for there in own] for own, (_, amount) in zip(each, pieces, strict=True)]
        number = sum([count for count in map(min, zip(*parts, strict=True)) if count > 0])
        return {_UNITS: number} if self._shape.units else {name: amount * number for name, amount in pieces}

    def of(self, place: NodeState) -> Amounts:
        """What a node counts for."""
        return self._counted.get(place, _NOTHING)

    def having(self, name: str) -> Iterable[NodeState]:
        """The nodes that count for any of it."""
        return self._having[name]

    def __iter__(self) -> Iterator[NodeState]:
        """The nodes that count for anything."""
        return iter(self._counted)

    def room(self, place: NodeState) -> dict[str, int]:
        """What counts on a node; nothing of one that must be empty and is not."""
        if self._shape.exclusive and (place.holders or self._moments.claimed(place)):
            return dict.fromkeys(self._names, 0)
        order = place.order
        return {name: there[order] for name, there in zip(self._names, self._there, strict=True)}

    def _look_at(self, place: NodeState) -> None:
        old = self._counted.get(place, _NOTHING)
        forgotten = self._moments.forgotten(place)
        counted = {} if forgotten else _counted(self.room(place), self._shape)
        if forgotten:
            self.own.discard(place.order)
        if counted == old:
            return
        if old:
            del self._counted[place]
            subtract(self._total, old)
            for name in old:
                del self._having[name][place]
        if counted:
            self._counted[place] = counted
            add(self._total, counted)
            for name in counted:
                self._having[name][place] = None


def _counted(room: Amounts, shape: Shape) -> dict[str, int]:
    """What a node counts for: whole units, or what is there of each resource."""
    if shape.units:
        units = min([room.get(name, 0) // amount for name, amount in shape.wants])
        return {_UNITS: units} if units > 0 else {}
    if shape.part:
        return in_parts(room, shape.part)
    return {name: amount for name, amount in room.items() if amount > 0}


def _covered(have: Amounts, wants: Amounts) -> bool:
    for name, amount in wants.items():  # noqa: SIM110 - asked at every release; a loop is twice as fast
        if have.get(name, 0) < amount:
            return False
    return True


def _taken(
    present: Present, changed: dict[NodeState, Amounts], shape: Shape, wants: Mapping[str, int], have: Amounts
) -> Mapping[str, Amounts]:
    """What the job takes: from the nodes that give most of what it wants first, of those that have any of what is
    scarcest; then from others. `changed`: the nodes that count for something else by then."""
    scarce = min(wants, key=lambda name: (have.get(name, 0) / wants[name], name))
    left = dict(wants)
    result: dict[NodeState, dict[str, int]] = {}
    for first in (True, False):
        if not any(left.values()):
            break
        there = present.having(scarce) if first else present
        rooms = {place: present.of(place) for place in there} | changed
        useful = [
            (-_share(room, wants), place.order, place)
            for place, room in rooms.items()
            if room and (scarce in room) is first
        ]
        heapify(useful)
        while useful and any(left.values()):
            place = heappop(useful)[2]
            taken = _part(rooms[place], left)
            if taken:
                subtract(left, taken)
                result[place] = taken
    return {
        place.node.name: _placed(place, shape, result[place])
        for place in sorted(result, key=lambda place: place.order)
    }


def _placed(place: NodeState, shape: Shape, taken: Mapping[str, int]) -> dict[str, int]:
    if shape.units:
        return with_type(place, {name: amount * taken[_UNITS] for name, amount in shape.wants})
    return dict(place.node.total) if shape.exclusive else with_type(place, dict(taken))


def _share(gives: Amounts, wants: Amounts) -> int:
    return sum(min(gives.get(name, 0), amount) * 1000 // amount for name, amount in wants.items())


def _part(gives: Amounts, left: Mapping[str, int]) -> dict[str, int]:
    """What a node gives of what is left: a typed resource counts for its plain one too, on the same cards."""
    part: dict[str, int] = {}
    for name in sorted(left, key=lambda name: (":" not in name, name)):
        base = name.partition(":")[0]
        amount = min(left[name] - part.get(name, 0), gives.get(name, 0) - part.get(name, 0))
        if amount <= 0:
            continue
        part[name] = part.get(name, 0) + amount
        if base != name and base in left:
            part[base] = part.get(base, 0) + amount
    return part
