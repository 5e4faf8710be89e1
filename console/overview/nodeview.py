"""Which nodes a partition's map shows, and how: the choice, the kinds, the page and the table, all in the address."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy

from console.cluster.selectors import SeenNode, alike
from console.core import saying
from console.overview.nodemap import DENSE_ABOVE, HeldJob, Moves, NodeBar, main_resource, node_map
from scheduler.priority.order import natural

NODES_PER_PAGE = 120
ALL, TABLE = "all", "table"


def _idle(node: SeenNode) -> int:
    resource = main_resource(node.total)
    return node.total.get(resource, 0) - node.used.get(resource, 0)


CHOICES: dict[str, tuple[Promise, Callable[[SeenNode], bool]]] = {
    ALL: (gettext_lazy("all"), lambda node: True),
    "room": (gettext_lazy("with room"), lambda node: node.up and _idle(node) > 0),
    "full": (gettext_lazy("full"), lambda node: node.up and _idle(node) <= 0),
    "off": (gettext_lazy("take no jobs"), lambda node: not node.up),
}
"""`nodes=` in the address."""


@dataclass(frozen=True, slots=True)
class MapChoice:
    """A link above the map."""

    value: str
    label: Promise
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class NodeKind:
    """The nodes of one kind on this page; `count`, `idle` and `off` are over all pages."""

    label: str
    resource: str
    count: int
    idle: int
    off: int
    bars: list[NodeBar] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NodeView:
    """The map as the address asks for it."""

    page: Page[SeenNode]
    kinds: list[NodeKind]
    choices: list[MapChoice]
    dense: bool
    table: bool

    @property
    def bars(self) -> list[NodeBar]:
        """All bars of the page."""
        return [bar for kind in self.kinds for bar in kind.bars]


def kind_of(node: SeenNode) -> str:
    """What a node is: `8 × a100, 64 cpu`. Memory is left out: it differs between nodes that are the same to people."""
    return _kind_words(tuple(node.total.items()), get_language() or "")


@lru_cache(maxsize=1024)
def _kind_words(total: tuple[tuple[str, int], ...], language: str) -> str:
    """Of one kind and language once per process: a map asks it of thousands of nodes."""
    return saying.amounts({name: n for name, n in total if name != "mem"})


_natural = lru_cache(maxsize=20_000)(natural)
"""Nodes keep their names: each is taken to pieces once per process."""

Order = tuple[int, int, str, tuple[str, str]]


def _by_kind(nodes: Iterable[SeenNode]) -> dict[int, tuple[int, int, str]]:
    """Of what nodes have, by its identity, the place among the kinds: what nodes share is looked at once."""
    alike = {id(node.total): node for node in nodes}
    return {key: _kind_order(node) for key, node in alike.items()}


def _kind_order(node: SeenNode) -> tuple[int, int, str]:
    resource = main_resource(node.total)
    return (resource == "cpu", -node.total.get(resource, 0), kind_of(node))


def read_nodes(
    query: QueryDict,
    nodes: Sequence[SeenNode],
    held: Callable[[list[str]], Iterable[HeldJob]],
    names: Sequence[str] = (),
    moves: Moves | None = None,
) -> NodeView:
    """The map of a partition's nodes; what makes no sense in the address is left out.

    `held`: the jobs that hold something on some of these nodes.
    """
    asked = query.get("nodes", ALL)
    chosen = asked if asked in CHOICES else ALL
    kinds = _by_kind(nodes)

    def order(node: SeenNode) -> Order:
        """GPUs first, the larger kinds first; then by name, numbers as numbers."""
        return (*kinds[id(node.total)], _natural(node.name))

    def label_of(node: SeenNode) -> str:
        return kinds[id(node.total)][2]

    wanted = sorted(filter(CHOICES[chosen][1], nodes), key=order)
    page = Paginator(wanted, NODES_PER_PAGE).get_page(query.get("n_page"))
    bars = node_map(list(page), held([node.name for node in page]), names, moves)
    sorts = alike(nodes)
    every = {label: list(group) for label, group in groupby(wanted, key=label_of)}
    return NodeView(
        page=page,
        kinds=[
            _kind(label, every[label], list(group))
            for label, group in groupby(bars, lambda bar: label_of(bar.node))
        ],
        choices=[
            MapChoice(value, label, sum(count for node, count in sorts if test(node)), value == chosen)
            for value, (label, test) in CHOICES.items()
        ],
        dense=len(wanted) > DENSE_ABOVE,
        table=query.get("map") == TABLE,
    )


def _kind(label: str, nodes: Sequence[SeenNode], bars: list[NodeBar]) -> NodeKind:
    sorts = alike(nodes)
    return NodeKind(
        label=label,
        resource=bars[0].resource,
        count=len(nodes),
        idle=sum(max(0, _idle(node)) * count for node, count in sorts if node.up),
        off=sum(count for node, count in sorts if not node.up),
        bars=bars,
    )
