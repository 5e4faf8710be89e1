"""What a request asks of a node, worked out once for all pending jobs that ask the same."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from scheduler.model.jobs import Request
from scheduler.model.nodes import SnapshotNode
from scheduler.model.policy import VictimOrder
from scheduler.model.resources import Amounts, covers
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pieces import units_in

ShapeKey = tuple[object, ...]
Wants = tuple[tuple[str, int], ...]

SUBMITTED = " submitted"
"""In place of a resource: of equal rank those submitted later go first (spec 2.2). No resource is called so."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A request against one state of the cluster.

    `count` nodes (0 for a spread request), `wants` of each (or in all), `places` where it may run now,
    `node_indices` of these.
    `units`: for a request in units, how many; `count` is 0 then, and `wants` is the unit. `partial`: fewer will do.
    `each`: equal for shapes that ask the same of a node, however many of them. `pool`: equal for spread
    shapes that ask for the same resources of the same nodes, however much. `cost_in`: the resource that lost
    work is counted in ("" when only running time counts). `ever`: whether the whole partition, empty and
    repaired, could hold it. If it could not, `suitable` is how many nodes, up or not, could give what it asks of each,
    and `beyond` what no node of the partition has so much of. `part`: of a spread that comes in parts, one of them.
    """

    count: int
    each: ShapeKey
    pool: ShapeKey
    wants: Wants
    exclusive: bool
    places: tuple[NodeState, ...]
    node_indices: frozenset[int]
    cost_in: str
    ever: bool
    units: int = 0
    partial: bool = False
    suitable: int = 0
    beyond: Wants = ()
    part: Wants = ()

    @property
    def asked(self) -> Iterable[tuple[str, int]]:
        """What a request that names no number of nodes asks for in all."""
        return ((name, amount * self.units) for name, amount in self.wants) if self.units else self.wants


def indices_of(places: Iterable[NodeState]) -> frozenset[int]:
    """Some nodes by their indices."""
    return frozenset([place.order for place in places])


class _Allowed(NamedTuple):
    """The nodes that a request allows: those that are up; how many there are, up or not, in all and of each kind."""

    up: tuple[NodeState, ...]
    node_indices: frozenset[int]
    number: int
    kinds: Mapping[int, int]


class Shapes:
    """The shapes of one state of the cluster, made when first asked for."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._known: dict[ShapeKey, Shape] = {}
        self._groups: dict[ShapeKey, tuple[Shape, ...]] = {}
        self._suitable: dict[ShapeKey, _Allowed] = {}
        # Many nodes have the same in total: what a request asks of that is asked once for all of them.
        kinds: dict[frozenset[tuple[str, int]], int] = {}
        totals = (frozenset(place.node.total.items()) for place in cluster_state.places)
        self._kinds = [kinds.setdefault(total, len(kinds)) for total in totals]
        self._totals: list[Amounts] = [dict(total) for total in kinds]

    def of(self, request: Request) -> Shape:
        """The shape of a request; equal requests share one."""
        key = _key(request)
        shape = self._known.get(key)
        if shape is None:
            shape = self._known[key] = self._make(request)
        return shape

    def groups(self, request: Request) -> tuple[Shape, ...]:
        """The shapes of the groups of nodes that a request counts by their features, each with nodes of its own."""
        key = (*_key(request), request.counted)
        known = self._groups.get(key)
        if known is None:
            nodes = [place.node for place in self._cluster_state.places]
            known = self._groups[key] = tuple([self.of(group) for group in groups_of(request, nodes)])
        return known

    def _make(self, request: Request) -> Shape:
        cluster_state = self._cluster_state
        asked = request.per_node if request.nodes else request.spread or request.unit
        wants = tuple(sorted((name, amount) for name, amount in asked.items() if amount))
        holds = self._holds(wants) if request.nodes or request.count else None
        allowed = self._allowed(request, holds)
        by_work = cluster_state.snapshot.partition.victim_order is VictimOrder.LEAST_LOST_WORK
        cost_in = cluster_state.scarcest(name for name, _ in wants) if by_work else ""
        part = tuple([(name, n // request.parts) for name, n in wants]) if request.parts else ()
        ever = self._ever(request, wants, allowed)
        return Shape(
            count=request.nodes,
            each=_key(request)[1:],
            pool=(
                wants if request.count else part or frozenset(name for name, _ in wants),
                *_key(request)[3:8],
            ),
            wants=wants,
            exclusive=request.exclusive,
            places=allowed.up,
            node_indices=allowed.node_indices,
            cost_in=SUBMITTED if request.count else cost_in,
            ever=ever,
            units=request.count,
            partial=request.count > 0 and request.partial,
            suitable=allowed.number,
            beyond=() if ever else self._beyond(wants),
            part=part,
        )

    def _ever(self, request: Request, wants: Wants, allowed: _Allowed) -> bool:
        """Whether these nodes, empty and repaired, are enough."""
        if request.nodes:
            return allowed.number >= request.nodes
        totals = [(self._totals[kind], count) for kind, count in allowed.kinds.items()]
        if request.count:
            held = sum(units_in(total, request.unit) * count for total, count in totals)
            return held >= (1 if request.partial else request.count)
        if request.parts:
            part = {name: n // request.parts for name, n in wants}
            return sum(units_in(total, part) * count for total, count in totals) >= request.parts
        return all(sum(total.get(name, 0) * count for total, count in totals) >= n for name, n in wants)

    def _beyond(self, wants: Wants) -> Wants:
        """What of it no single node has."""
        most = self._totals
        return tuple([(name, n) for name, n in wants if all(total.get(name, 0) < n for total in most)])

    def _holds(self, wants: Wants) -> tuple[bool, ...]:
        """Whether each kind of node, empty, could hold so much."""
        needs = dict(wants)
        return tuple([covers(total, needs) for total in self._totals])

    def _allowed(self, request: Request, holds: tuple[bool, ...] | None) -> _Allowed:
        """The nodes that the request allows by features and by name and, if that counts, by what each could hold.

        Many requests allow the same.
        """
        key = (request.features, request.any_of, request.only_nodes, request.not_nodes, holds)
        known = self._suitable.get(key)
        if known is None:
            places = [place for place in self._cluster_state.places if suits(request, place.node)]
            if holds is not None:
                places = [place for place in places if holds[self._kinds[place.order]]]
            up = tuple([place for place in places if place.node.up])
            kinds = Counter([self._kinds[place.order] for place in places])
            known = self._suitable[key] = _Allowed(up, indices_of(up), len(places), kinds)
        return known


def _key(request: Request) -> ShapeKey:
    return (
        request.nodes,
        frozenset(request.per_node.items()),
        frozenset(request.spread.items()),
        request.features,
        request.any_of,
        request.only_nodes,
        request.not_nodes,
        request.exclusive,
        frozenset(request.unit.items()),
        request.count,
        request.partial,
        request.parts,
    )


def in_parts(there: Amounts, part: Wants) -> dict[str, int]:
    """What of it can be used by whole parts."""
    count = max(0, min([there.get(name, 0) // amount for name, amount in part]))
    return {name: amount * count for name, amount in part} if count else {}


def alternatives(request: Request, nodes: Iterable[SnapshotNode] = ()) -> tuple[Request, ...]:
    """A request once for each set of features of which all its nodes must have the same, for each of the amounts of
    which they all give the same, and for each unit that could hold all of it; mostly just itself. Where nodes are
    counted by their features, any of the sets will do for a node."""
    if request.in_unit:
        units: dict[str, set[str]] = {}
        for node in nodes:
            if node.unit and (not request.only_nodes or node.name in request.only_nodes):
                units.setdefault(node.unit, set()).add(node.name)
        fitting = [frozenset(names) for _, names in sorted(units.items()) if len(names) >= request.nodes]
        every = [replace(request, in_unit=False, only_nodes=names) for names in fitting]
        return tuple(
            [each for one in every or [replace(request, in_unit=False)] for each in alternatives(one)]
        )
    if request.one_of:
        every = [replace(request, per_node={**request.per_node, **one}, one_of=()) for one in request.one_of]
        return tuple([each for one in every for each in alternatives(one)])
    if request.same_of:
        return tuple(
            [replace(request, features=request.features | one, same_of=()) for one in request.same_of]
        )
    if request.counted:
        return (replace(request, any_of=tuple([features for _, features in request.counted]), counted=()),)
    return (request,)


def groups_of(request: Request, nodes: Iterable[SnapshotNode]) -> tuple[Request, ...]:
    """What a request that counts nodes by their features asks of each group of them.

    A node that would do for several goes to the one that lacks most; then the others do not get it.
    """
    plain = replace(request, counted=())
    own: list[set[str]] = [set() for _ in request.counted]
    shared: list[tuple[str, list[int]]] = []
    for node in nodes:
        able = suits(plain, node) and covers(node.total, request.per_node)
        fits = [i for i, (_, features) in enumerate(request.counted) if able and features <= node.features]
        if len(fits) == 1:
            own[fits[0]].add(node.name)
        elif fits:
            shared.append((node.name, fits))
    for name, fits in shared:
        own[max(fits, key=lambda i: (request.counted[i][0] - len(own[i]), -i))].add(name)
    every = frozenset().union(*own)
    return tuple(
        [
            replace(
                plain,
                nodes=count,
                features=plain.features | features,
                not_nodes=plain.not_nodes | (every - own[i]),
            )
            for i, (count, features) in enumerate(request.counted)
        ]
    )


def suits(request: Request, node: SnapshotNode) -> bool:
    """Whether a node is one that the request allows, apart from its state and its room."""
    return (
        request.features <= node.features
        and (not request.any_of or any(one <= node.features for one in request.any_of))
        and (not request.only_nodes or node.name in request.only_nodes)
        and node.name not in request.not_nodes
    )


def with_type(place: NodeState, taken: dict[str, int]) -> dict[str, int]:
    """What is taken on a node, a plain `gpu` on a node with GPUs of one type only counting as that type too.

    Else the same cards could be promised again to a job that asks for them by their type.
    """
    result, total = dict(taken), place.node.total
    for name, amount in taken.items():
        for other, owned in total.items():
            if owned == total.get(name) and other.startswith(f"{name}:"):
                result[other] = amount
    return result
