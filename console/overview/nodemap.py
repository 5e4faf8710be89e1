"""A partition's nodes on its page: which of them, shown as bars, squares or a table, all in the address.

A bar is what counts on a node, a block per job in the colour of the job's level.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.cluster.lookups import HasAnyKey
from console.cluster.models import Job
from console.cluster.selectors import SeenNode, alike
from console.core import clock, l10n_format
from console.core.templatetags.ui import node_state
from console.overview.openplans import OpenPlan
from console.reports import squares
from console.reports.squares import (
    Shade,
    Square,
    SquareColour,
    SquareScale,
    UnitOfSquares,
    drawn_resource,
    lacks_cpus,
)
from console.steering.models import KeptPlace, Plan, PlanState
from scheduler.model.jobs import Level
from scheduler.model.resource_kinds import main_resource
from scheduler.priority.order import natural


class HeldJob(NamedTuple):
    """What a node's bar needs of a job that holds a part of it: thousands are read for a map, so no more than this."""

    job_id: str
    name: str
    user: str
    level: Level
    alloc: Mapping[str, Mapping[str, int]]


def held_jobs(jobs: QuerySet[Job], axis: str, nodes: Collection[str]) -> list[HeldJob]:
    """Jobs that hold something on some of these nodes; `axis` is the level that colours them. One query."""
    if not nodes:
        return []
    # Most jobs are on one node, which an index finds; with OR no database would use it. The others' JSON is read.
    parts = (jobs.filter(on_node__in=nodes), jobs.filter(HasAnyKey(F("alloc"), list(nodes)), on_node=""))
    columns = ("job_id", "name", "user", axis, Cast("alloc", TextField()))
    one, several = (part.order_by().values_list(*columns) for part in parts)
    rows: Iterable[tuple[str, str, str, Level, str]] = one.union(several, all=True)
    return [
        HeldJob(job_id, name, user, level, json.loads(alloc)) for job_id, name, user, level, alloc in rows
    ]


DENSE_ABOVE = 48
"""With more nodes than this the map shows bars only, and each bar's jobs on hover."""
MOST_TICKS = 32
LISTED_JOBS = 3
LETTERED = 0.16
"""A block of a larger share of its bar has room for the name of its level."""
LONGEST_LETTERS = 4
MOST_BLOCKS = 16
"""A node with more jobs shows one block per level, which leads to the list of the node's jobs."""


def share(part: float, whole: float) -> str:
    """A share as SVG takes it, the same in every language: `12.5%`."""
    return f"{100 * part / whole:.5g}%" if whole else "0%"


@dataclass(frozen=True, slots=True)
class Segment:
    """A job's block on a node's bar: `start` in units of the resource, `x`, `w` and `middle` as SVG takes them.

    Without a `job_id` it stands for many jobs of a level, or (`elsewhere`) for what is held outside this partition.
    `letters`: the level's name, where it fits. `leaving`: a plan under way stops the job. `takeable`: it is a worker
    that may be taken, or has some.
    """

    start: int
    x: str
    w: str
    level: int | None
    label: str
    job_id: str = ""
    letters: str = ""
    middle: str = ""
    leaving: bool = False
    takeable: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Coming:
    """A job that open plans make room for on a node; without a `plan` the node is kept for it, until a moment."""

    plan: int
    job_id: str
    user: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Moves:
    """What open plans do on the map: who leaves (job id -> for whom), and who is to come, by node.

    `takeable`: the jobs that are, or have, workers of elastic jobs above their minimum.
    """

    leaving: Mapping[str, str] = field(default_factory=dict)
    coming: Mapping[str, list[Coming]] = field(default_factory=dict)
    takeable: Collection[str] = ()


def moves_of(
    plans: Iterable[Plan | OpenPlan], kept: Iterable[KeptPlace] = (), takeable: Collection[str] = ()
) -> Moves:
    """The stops and the room of plans under way, and who has nodes kept; one that is only proposed moves nobody yet."""
    leaving: dict[str, str] = {}
    coming: dict[str, list[Coming]] = {}
    for plan in plans:
        if plan.state == PlanState.PROPOSED:
            continue
        leaving |= {str(victim["job"]): plan.job_id for victim in plan.victims}
        for node in plan.placement:
            coming.setdefault(node, []).append(Coming(plan.pk, plan.job_id, plan.user))
    for place in kept:
        for node in place.nodes:
            until = clock.from_epoch(place.until)
            coming.setdefault(node, []).append(Coming(0, place.job_id, place.user, until))
    return Moves(leaving, coming, takeable)


@dataclass(frozen=True, slots=True)
class NodeBar:
    """One node. `ticks` are the borders of single units, when there are few enough to be told apart."""

    node: SeenNode
    resource: str
    total: int
    used: int
    segments: list[Segment]
    jobs: list[HeldJob]
    free: str
    ticks: list[str] = field(default_factory=list)
    coming: list[Coming] = field(default_factory=list)

    @property
    def idle(self) -> int:
        """Units of the main resource that a job could have at once."""
        return self.total - self.used if self.node.up else 0

    @property
    def more(self) -> int:
        """How many jobs the list leaves out."""
        return len(self.jobs) - len(self.listed)

    @property
    def listed(self) -> list[HeldJob]:
        """The jobs that are named under the bar."""
        limit = LISTED_JOBS if len(self.jobs) <= LISTED_JOBS else LISTED_JOBS - 1
        return self.jobs[:limit]

    @property
    def summary(self) -> str:
        """The bar in words, for its label."""
        facts = {"node": self.node.name, "used": self.used, "total": self.total, "what": self.resource}
        if self.node.up:
            return _("%(node)s: %(used)s of %(total)s %(what)s busy") % facts
        facts["state"] = node_state(self.node.state)
        return _("%(node)s, %(state)s: %(used)s of %(total)s %(what)s busy") % facts


def node_map(
    nodes: Collection[SeenNode],
    jobs: Iterable[HeldJob],
    names: Sequence[str] = (),
    moves: Moves | None = None,
) -> list[NodeBar]:
    """The bars of some nodes; `names` are those of the levels.

    Jobs of other partitions on shared nodes are not among `jobs`: their share is told as `held elsewhere`.
    """
    by_node: dict[str, list[HeldJob]] = {node.name: [] for node in nodes}
    for job in jobs:
        for name in job.alloc:
            if name in by_node:
                by_node[name].append(job)
    ticked = len(nodes) <= DENSE_ABOVE
    painter = _Painter(tuple(names), moves or Moves())
    return [painter.bar(node, by_node[node.name], ticked=ticked) for node in nodes]


def _rank(job: HeldJob) -> tuple[bool, int, str]:
    return (job.level is None, job.level or 0, job.job_id)


class _Share(NamedTuple):
    """A part of a bar before it has a place on it."""

    job_id: str
    level: Level
    width: int
    label: str
    stopped_for: str = ""


@dataclass(frozen=True, slots=True)
class _Painter:
    """Makes bars, knowing the levels' names and what the plans move."""

    names: tuple[str, ...]
    moves: Moves

    def bar(self, node: SeenNode, jobs: list[HeldJob], *, ticked: bool) -> NodeBar:
        """One node's bar, the highest level first."""
        jobs.sort(key=_rank)
        resource = drawn_resource(node.total, (job.alloc[node.name] for job in jobs))
        total = node.total.get(resource, 0)
        used = min(node.used.get(resource, 0), total)
        return NodeBar(
            node=node,
            resource=resource,
            total=total,
            used=used,
            segments=self._segments(node.name, jobs, resource, total, used),
            jobs=jobs,
            free=_free(node),
            ticks=[share(unit, total) for unit in range(1, total)] if ticked and total <= MOST_TICKS else [],
            coming=list(self.moves.coming.get(node.name, ())),
        )

    def _segments(
        self, node: str, jobs: Sequence[HeldJob], resource: str, total: int, used: int
    ) -> list[Segment]:
        result: list[Segment] = []
        at = 0
        for share_of in self._shares(node, jobs, resource):
            width = min(share_of.width, total - at)
            if width > 0:
                result.append(self._block(share_of, at, width, total))
                at += width
        if used > at:
            label = _("held elsewhere (%(n)s %(what)s)") % {"n": used - at, "what": resource}
            place = (share(at, total), share(used - at, total))
            result.append(Segment(at, *place, None, label, elsewhere=True))
        return result

    def _shares(self, node: str, jobs: Sequence[HeldJob], resource: str) -> Iterator[_Share]:
        """What to draw: the jobs, or their levels where there are too many jobs to be told apart."""
        if len(jobs) <= MOST_BLOCKS:
            for job in jobs:
                width = job.alloc[node].get(resource, 0)
                stopped_for = self.moves.leaving.get(job.job_id, "")
                label = l10n_format.with_aside(f"{job.job_id} {job.name} {job.user}", f"{width} {resource}")
                yield _Share(job.job_id, job.level, width, label, stopped_for)
            return
        for level, theirs in groupby(jobs, key=lambda job: job.level):
            held = [job.alloc[node].get(resource, 0) for job in theirs]
            count = ngettext("%(n)s job", "%(n)s jobs", len(held)) % {"n": len(held)}
            yield _Share("", level, sum(held), l10n_format.with_aside(count, f"{sum(held)} {resource}"))

    def _block(self, part: _Share, at: int, width: int, total: int) -> Segment:
        name, label, takeable = self._name(part.level), part.label, False
        if name:
            label = l10n_format.part_of(label, name)
        if part.stopped_for:
            label = _("%(job)s, gives way to %(other)s") % {"job": label, "other": part.stopped_for}
        elif takeable := part.job_id in self.moves.takeable:
            label = _("%(job)s, elastic: may give way first") % {"job": label}
        fits = width > LETTERED * total and len(name) <= LONGEST_LETTERS
        return Segment(
            at,
            share(at, total),
            share(width, total),
            part.level,
            label,
            job_id=part.job_id,
            letters=name if fits else "",
            middle=share(at + width / 2, total),
            leaving=bool(part.stopped_for),
            takeable=takeable,
        )

    def _name(self, level: Level) -> str:
        return self.names[level] if level is not None and level < len(self.names) else ""


def _free(node: SeenNode) -> str:
    if not node.up:
        return node_state(node.state)
    free = {name: amount - node.used.get(name, 0) for name, amount in node.total.items() if ":" not in name}
    shown = {name: amount for name, amount in free.items() if amount > 0 and name != "mem"}
    if not shown:
        return _("full")
    words = _("%(amounts)s free, no cpu") if lacks_cpus(node.total, node.used) else _("%(amounts)s free")
    return words % {"amounts": l10n_format.amounts(shown)}


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
    return l10n_format.amounts({name: n for name, n in node.total.items() if name != "mem"})


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
        return (*kinds[id(node.total)], natural(node.name))

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
