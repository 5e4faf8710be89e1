"""Which nodes a partition's map shows, and how: the choice, the kinds, the page and the table, all in the address."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy

from console.cluster.selectors import SeenNode, alike
from console.core import l10n_format
from console.overview.heldjobs import HeldJob
from console.overview.nodemap import DENSE_ABOVE, Moves, NodeBar, node_map
from console.reports import squares
from console.reports.kinds import Shade, lacks_cpus
from console.reports.squares import Square, SquareColour, SquareScale, UnitOfSquares
from scheduler.model.resource_kinds import main_resource
from scheduler.priority.order import natural

NODES_PER_PAGE = 120
ALL = "all"
GRID, BARS, TABLE = "grid", "bars", "table"
VIEWS: dict[str, tuple[str, Promise]] = {
    GRID: ("dots", gettext_lazy("Squares")),
    BARS: ("layout-dashboard", gettext_lazy("Bars")),
    TABLE: ("list-details", gettext_lazy("Table")),
}
"""`map=` in the address, with icon and name. What does not fit one page of bars is first shown as squares."""


def _idle(node: SeenNode) -> int:
    resource = main_resource(node.total)
    return node.total.get(resource, 0) - node.used.get(resource, 0)


def _has_room(node: SeenNode) -> bool:
    return _idle(node) > 0 and not lacks_cpus(node.total, node.used)


CHOICES: dict[str, tuple[Promise, Callable[[SeenNode], bool]]] = {
    ALL: (gettext_lazy("all"), lambda node: True),
    "room": (gettext_lazy("with room"), lambda node: node.up and _has_room(node)),
    "full": (gettext_lazy("full"), lambda node: node.up and not _has_room(node)),
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
class MapView:
    """A way to show the nodes, as a link."""

    value: str
    icon: str
    label: Promise
    chosen: bool


@dataclass(frozen=True, slots=True)
class NodeKind:
    """The nodes of one kind on this page; `count`, `idle` and `off` are over all pages. As bars, or as squares:
    by unit, where units are known."""

    label: str
    resource: str
    count: int
    idle: int
    off: int
    bars: list[NodeBar] = field(default_factory=list)
    cells: list[Square] = field(default_factory=list)
    units: list[UnitOfSquares] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NodeView:
    """The map as the address asks for it. `colours` and `legend` are those of squares, empty for bars."""

    page: Page[SeenNode]
    kinds: list[NodeKind]
    choices: list[MapChoice]
    dense: bool
    views: list[MapView]
    colours: list[SquareColour] = field(default_factory=list)
    legend: Sequence[Shade] = ()

    @property
    def shown(self) -> str:
        """Which of the views it is."""
        return next(view.value for view in self.views if view.chosen)

    @property
    def bars(self) -> list[NodeBar]:
        """All bars of the page."""
        return [bar for kind in self.kinds for bar in kind.bars]


@dataclass(frozen=True, slots=True)
class Squaring:
    """How nodes are shown as squares: coloured by what, and in which unit each is."""

    scale: Callable[[str], SquareScale]
    unit_of: Callable[[SeenNode], str] = lambda _node: ""


def kind_of(node: SeenNode) -> str:
    """What a node is: `8 × a100, 64 cpu`. Memory is left out: it differs between nodes that are the same to people."""
    return _kind_words(tuple(node.total.items()), get_language() or "")


@lru_cache(maxsize=1024)
def _kind_words(total: tuple[tuple[str, int], ...], language: str) -> str:
    """Of one kind and language once per process: a map asks it of thousands of nodes."""
    return l10n_format.amounts({name: n for name, n in total if name != "mem"})


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
    moves: Callable[[Iterable[HeldJob]], Moves] = lambda _jobs: Moves(),
    squaring: Squaring | None = None,
) -> NodeView:
    """The map of a partition's nodes; what makes no sense in the address is left out.

    `held`: the jobs that hold something on some of these nodes; they and `moves` are asked for where there are bars.
    `squaring`: how squares are made.
    """
    asked = query.get("nodes", ALL)
    chosen = asked if asked in CHOICES else ALL
    kinds = _by_kind(nodes)

    def order(node: SeenNode) -> Order:
        """GPUs first, the larger kinds first; then by name, numbers as numbers."""
        return (*kinds[id(node.total)], _natural(node.name))

    wanted = sorted(filter(CHOICES[chosen][1], nodes), key=order)
    every = {
        label: list(group) for label, group in groupby(wanted, key=lambda node: kinds[id(node.total)][2])
    }
    view = _view(query, len(wanted))
    if view == GRID and squaring:
        return _grid(query, nodes, wanted, every, chosen, squaring)
    page = Paginator(wanted, NODES_PER_PAGE).get_page(query.get("n_page"))
    jobs = held([node.name for node in page])
    bars = node_map(list(page), jobs, names, moves(jobs))
    return NodeView(
        page=page,
        kinds=[
            _kind(label, every[label], bars=list(group))
            for label, group in groupby(bars, lambda bar: kinds[id(bar.node.total)][2])
        ],
        choices=_choices(nodes, chosen),
        dense=len(wanted) > DENSE_ABOVE,
        views=_views(view),
    )


def _view(query: QueryDict, count: int) -> str:
    """As asked; else squares, if the bars would not fit one page. Who asks for a page of bars wants bars."""
    asked = query.get("map", "")
    if asked in VIEWS:
        return asked
    return GRID if count > NODES_PER_PAGE and not query.get("n_page") else BARS


def _grid(
    query: QueryDict,
    nodes: Sequence[SeenNode],
    wanted: Sequence[SeenNode],
    every: Mapping[str, list[SeenNode]],
    chosen: str,
    squaring: Squaring,
) -> NodeView:
    """All wanted nodes at once."""
    colours = squares.colours(query.get("by"))
    shades = squaring.scale(next(colour.value for colour in colours if colour.chosen))
    return NodeView(
        page=Paginator(wanted, max(1, len(wanted))).get_page(1),
        kinds=[
            _kind(label, group, cells=squares.squares(group, shades), unit_of=squaring.unit_of)
            for label, group in every.items()
        ],
        choices=_choices(nodes, chosen),
        dense=True,
        views=_views(GRID),
        colours=colours,
        legend=shades.legend,
    )


def _views(shown: str) -> list[MapView]:
    return [MapView(value, icon, label, value == shown) for value, (icon, label) in VIEWS.items()]


def _choices(nodes: Sequence[SeenNode], chosen: str) -> list[MapChoice]:
    sorts = alike(nodes)
    return [
        MapChoice(value, label, sum(count for node, count in sorts if test(node)), value == chosen)
        for value, (label, test) in CHOICES.items()
    ]


def _kind(
    label: str,
    nodes: Sequence[SeenNode],
    bars: Sequence[NodeBar] = (),
    cells: Sequence[Square] = (),
    unit_of: Callable[[SeenNode], str] = lambda _node: "",
) -> NodeKind:
    sorts = alike(nodes)
    return NodeKind(
        label=label,
        resource=main_resource(nodes[0].total),
        count=len(nodes),
        idle=sum(max(0, _idle(node)) * count for node, count in sorts if node.up),
        off=sum(count for node, count in sorts if not node.up),
        bars=list(bars),
        cells=list(cells),
        units=squares.by_unit(cells, unit_of),
    )
