"""What a waiting job wants, as the play of the queue knows it: so many nodes of some, with so much on each."""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from scheduler.contracts.errors import InputError
from scheduler.contracts.requests import decode_request
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


class WantedNodes:
    """The nodes as requests look at them: of those that are alike it is asked once, and each request once.

    What a request leaves open is settled plainly: amounts on any nodes lie on as few as they can, in equal shares; an
    exclusive job wants the smallest of its nodes whole; of features of which each node needs some, any is right.
    """

    def __init__(self, nodes: Sequence[PlayedNode]) -> None:
        alike: dict[Hashable, tuple[PlayedNode, list[int]]] = {}
        for number, node in enumerate(nodes):
            kind = tuple(sorted(node.total.items())), node.features, node.partitions
            alike.setdefault(kind, (node, []))[1].append(number)
        self._nodes, self._kinds = nodes, list(alike.values())
        self._wants: dict[Hashable, PlayedWant | None] = {}

    def want_of_job(self, request: Mapping[str, Any], partitions: frozenset[str]) -> PlayedWant | None:
        """The want of a request as the mirror has it (contract A); None also of one that is not understood."""
        key = partitions, json.dumps(request, sort_keys=True)
        if key not in self._wants:
            try:
                self._wants[key] = self.want_of(decode_request(request, "request"), partitions)
            except InputError:
                self._wants[key] = None  # The job's page has said so already.
        return self._wants[key]

    def want_of(self, request: Request, partitions: frozenset[str]) -> PlayedWant | None:
        """The want of a request; None where too few nodes could ever have room for it."""
        among = [
            (node.total, mine)
            for node, numbers in self._kinds
            if node.partitions & partitions and _may_use(request, node)
            and (mine := [number for number in numbers if _may_be(request, self._nodes[number].name)])
        ]  # fmt: skip
        if not among:
            return None
        count, amounts = _shape(request, [(total, len(mine)) for total, mine in among])
        if request.exclusive:
            whole = reduce(_least, (total for total, _ in among))
            amounts = {name: max(amounts.get(name, 0), whole.get(name, 0)) for name in {*amounts, "cpu"}}
        fitting = frozenset(number for total, mine in among if covers(total, amounts) for number in mine)
        return PlayedWant(count, amounts, fitting) if len(fitting) >= count else None


def _may_use(request: Request, node: PlayedNode) -> bool:
    if not request.features <= node.features:
        return False
    sets = (*request.any_of, *request.same_of)
    asked = sets or tuple(features for _, features in request.counted)
    return not asked or any(features <= node.features for features in asked)


def _may_be(request: Request, name: str) -> bool:
    return name not in request.not_nodes and (not request.only_nodes or name in request.only_nodes)


def _shape(request: Request, totals: Sequence[tuple[Amounts, int]]) -> tuple[int, Amounts]:
    """How many nodes, and how much on each. `totals`: of some nodes, and how many have so much."""
    if request.nodes:
        return request.nodes, request.per_node
    most = sum(count for _, count in totals)
    for nodes in range(1, most + 1):
        share = _share(request, nodes)
        if sum(count for total, count in totals if covers(total, share)) >= nodes:
            return nodes, share
    return most + 1, _share(request, 1)


def _share(request: Request, nodes: int) -> dict[str, int]:
    """What lies on the fullest of so many nodes."""
    if request.spread:
        return {name: -(-amount // nodes) for name, amount in request.spread.items()}
    return {name: amount * -(-request.count // nodes) for name, amount in request.unit.items()}


def _least(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: min(amount, second.get(name, 0)) for name, amount in first.items()}
