"""What a waiting job wants, as the play of the queue knows it: so many nodes of some, with so much on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from scheduler.model.jobs import Request
from scheduler.model.resources import Amounts, covers


@dataclass(frozen=True, slots=True)
class PlayedNode:
    """A node that takes jobs. `total` and `free`: amounts by resource."""

    name: str
    total: Amounts
    free: Amounts
    features: frozenset[str]
    partitions: frozenset[str]


@dataclass(frozen=True, slots=True)
class PlayedWant:
    """So many nodes, each with `amounts`, among the nodes with these numbers."""

    nodes: int
    amounts: Amounts
    among: frozenset[int]


def want_of(request: Request, nodes: Sequence[PlayedNode], partitions: frozenset[str]) -> PlayedWant | None:
    """The want of a request; None where too few nodes could ever have room for it.

    What a request leaves open is settled plainly: amounts on any nodes lie on as few as they can, in equal shares; an
    exclusive job wants the smallest of its nodes whole; of features of which each node needs some, any is right.
    """
    among = [n for n, node in enumerate(nodes) if node.partitions & partitions and _may_use(request, node)]
    if not among:
        return None
    count, amounts = _shape(request, [nodes[n].total for n in among])
    if request.exclusive:
        whole = reduce(_least, (nodes[n].total for n in among))
        amounts = {name: max(amounts.get(name, 0), whole.get(name, 0)) for name in {*amounts, "cpu"}}
    fitting = frozenset(n for n in among if covers(nodes[n].total, amounts))
    return PlayedWant(count, amounts, fitting) if len(fitting) >= count else None


def _may_use(request: Request, node: PlayedNode) -> bool:
    if request.only_nodes and node.name not in request.only_nodes:
        return False
    if node.name in request.not_nodes or not request.features <= node.features:
        return False
    sets = (*request.any_of, *request.same_of)
    asked = sets or tuple(features for _, features in request.counted)
    return not asked or any(features <= node.features for features in asked)


def _shape(request: Request, totals: Sequence[Amounts]) -> tuple[int, Amounts]:
    """How many nodes, and how much on each."""
    if request.nodes:
        return request.nodes, request.per_node
    for nodes in range(1, len(totals) + 1):
        share = _share(request, nodes)
        if sum(covers(total, share) for total in totals) >= nodes:
            return nodes, share
    return len(totals) + 1, _share(request, 1)


def _share(request: Request, nodes: int) -> dict[str, int]:
    """What lies on the fullest of so many nodes."""
    if request.spread:
        return {name: -(-amount // nodes) for name, amount in request.spread.items()}
    return {name: amount * -(-request.count // nodes) for name, amount in request.unit.items()}


def _least(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: min(amount, second.get(name, 0)) for name, amount in first.items()}
