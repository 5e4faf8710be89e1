"""All nodes at a glance: a square each, shaded by free room, highest level, immune jobs, power or the next end."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from django.db.models import Min, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from console.cluster.models import Job, JobPhase
from console.cluster.selectors import SeenNode
from console.core import saying
from console.core.saying import say_again as _
from console.core.templatetags.ui import level_class, node_state
from console.forecasts.models import JobForecast
from console.overview.nodemap import main_resource
from console.power.models import Processor
from scheduler.model.jobs import Level

SHADES = 5
"""`sq-0`, pale, to `sq-4`, strong."""
UNKNOWN, OFF = "sq-none", "sq-off"
SOON_S = (600, 3600, 6 * 3600, 24 * 3600)
"""Ends within these stand out: the sooner, the stronger."""
ROOM = "room"
COLOURS: dict[str, Promise] = {
    ROOM: gettext_lazy("free room"),
    "level": gettext_lazy("highest level"),
    "immune": gettext_lazy("immune jobs"),
    "power": gettext_lazy("compute power"),
    "end": gettext_lazy("next end"),
}
"""`by=` in the address."""


class HeatCell(NamedTuple):
    """A node's square: its class, and what is said of it."""

    name: str
    css: str
    label: str


class Shade(NamedTuple):
    """What a class means."""

    css: str
    label: Promise | str


class HeatColour(NamedTuple):
    """A way of colouring, as a link."""

    value: str
    label: Promise
    chosen: bool


@dataclass(frozen=True, slots=True)
class HeatScale:
    """A way of colouring with what it needs to know: `of` says a node's class and words.

    Sentences are translated once for all nodes, not once for each.
    """

    legend: Sequence[Shade]
    of: Callable[[SeenNode], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class HeatSource:
    """Where the colours come from: a partition's jobs, the column of their level, and the levels' names.

    `now`: the console's clock, epoch seconds, from which the time to an end is told.
    """

    jobs: QuerySet[Job]
    axis: str
    names: Sequence[str]
    processors: QuerySet[Processor]
    forecasts: QuerySet[JobForecast]
    now: float

    def scale(self, by: str, nodes: Iterable[SeenNode]) -> HeatScale:
        """Two queries at most; none for free room."""
        return {
            ROOM: _room,
            "level": self._levels,
            "immune": self._immune,
            "power": lambda: self._power({node.name: main_resource(node.total) for node in nodes}),
            "end": self._ends,
        }[by]()

    def _levels(self) -> HeatScale:
        highest: dict[str, Level] = {}
        alone = self.jobs.exclude(on_node="").order_by().values_list("on_node").annotate(Min(self.axis))
        spread = self.jobs.filter(on_node="").order_by().values_list(self.axis, "alloc")
        several = ((name, level) for level, alloc in spread for name in alloc)
        for name, level in chain(alone, several):
            known = highest.get(name)
            highest[name] = level if known is None else known if level is None else min(level, known)

        no_job, unconfigured, said = _("no job"), _("unconfigured jobs only"), _("highest level %(level)s")

        def of(node: SeenNode) -> tuple[str, str]:
            if node.name not in highest:
                return UNKNOWN, no_job
            level = highest[node.name]
            if level is None or level >= len(self.names):
                return level_class(None), unconfigured
            return level_class(level), said % {"level": self.names[level]}

        named = [Shade(level_class(place), name) for place, name in enumerate(self.names)]
        others = [Shade(level_class(None), _("unconfigured")), Shade(UNKNOWN, no_job)]
        return HeatScale([*named, *others], of)

    def _immune(self) -> HeatScale:
        held: dict[str, dict[str, int]] = {}
        rows = self.jobs.filter(phase=JobPhase.RUNNING).exclude(immune="").order_by()
        for alloc in rows.values_list("alloc", flat=True):
            for name, amounts in alloc.items():
                there = held.setdefault(name, {})
                for resource, amount in amounts.items():
                    there[resource] = there.get(resource, 0) + amount

        said = _("%(part)s of %(whole)s %(what)s held by immune jobs")

        def of(node: SeenNode) -> tuple[str, str]:
            resource = main_resource(node.total)
            part, whole = held.get(node.name, {}).get(resource, 0), node.total.get(resource, 0)
            words = {"part": part, "whole": whole, "what": resource}
            return _part_shade(part, whole), said % words

        return HeatScale(_ends_of_scale(_("no immune jobs"), _("immune jobs hold all of it")), of)

    def _power(self, wanted: Mapping[str, str]) -> HeatScale:
        slowest: dict[str, float] = {}
        for name, resource, figure in self.processors.order_by().values_list("node", "resource", "figure"):
            if wanted.get(name) == resource:
                slowest[name] = max(figure, slowest.get(name, 0.0))
        least, most = min(slowest.values(), default=0.0), max(slowest.values(), default=0.0)

        unmeasured, said = _("not measured"), _("slowest processor %(s)s s")

        def of(node: SeenNode) -> tuple[str, str]:
            figure = slowest.get(node.name)
            if figure is None:
                return UNKNOWN, unmeasured
            return _shade(figure - least, most - least), said % {"s": f"{figure:.4g}"}

        ends = _ends_of_scale(_("fastest"), _("slowest"))
        return HeatScale([*ends, Shade(UNKNOWN, unmeasured)], of)

    def _ends(self) -> HeatScale:
        said = self.forecasts.filter(ended_at=None, end_p50__isnull=False).order_by()
        ends = dict(said.values_list("job_id", "end_p50"))
        running = self.jobs.filter(phase=JobPhase.RUNNING).order_by()
        first: dict[str, int] = {}
        alone = running.exclude(on_node="").values_list("job_id", "on_node")
        spread = running.filter(on_node="").values_list("job_id", "alloc")
        several = ((job_id, name) for job_id, alloc in spread for name in alloc)
        for job_id, name in chain(alone, several):
            if (end := ends.get(job_id)) is not None:
                first[name] = min(end, first.get(name, end))

        unknown, words = _("no end predicted"), _("a job there should end in %(time)s")

        def of(node: SeenNode) -> tuple[str, str]:
            end = first.get(node.name)
            if end is None:
                return UNKNOWN, unknown
            left = max(0.0, end - self.now)
            strength = SHADES - 1 - sum(left > limit for limit in SOON_S)
            return f"sq-{strength}", words % {"time": saying.duration(left)}

        soon = [
            Shade(f"sq-{SHADES - 1 - place}", _("within %(time)s") % {"time": saying.duration(limit)})
            for place, limit in enumerate(SOON_S)
        ]
        return HeatScale([*soon, Shade("sq-0", _("later")), Shade(UNKNOWN, unknown)], of)


def cells(nodes: Iterable[SeenNode], scale: HeatScale) -> list[HeatCell]:
    """A square for each node; one that takes no jobs says so, whatever is asked."""
    return [_cell(node, scale) for node in nodes]


def colours(asked: str | None) -> list[HeatColour]:
    """The ways of colouring, the chosen one marked; what makes no sense in the address is free room."""
    chosen = asked if asked in COLOURS else ROOM
    return [HeatColour(value, label, value == chosen) for value, label in COLOURS.items()]


def _cell(node: SeenNode, scale: HeatScale) -> HeatCell:
    css, words = scale.of(node)
    if not node.up:
        css, words = f"{css} {OFF}", f"{node_state(node.state)}, {words}"
    return HeatCell(node.name, css, f"{node.name}: {words}")


def _room() -> HeatScale:
    said = _("%(free)s of %(total)s %(what)s free")

    def of(node: SeenNode) -> tuple[str, str]:
        resource = main_resource(node.total)
        whole = node.total.get(resource, 0)
        free = max(0, whole - node.used.get(resource, 0)) if node.up else 0
        return _part_shade(free, whole), said % {"free": free, "total": whole, "what": resource}

    return HeatScale(_ends_of_scale(_("full"), _("all of it free")), of)


def _part_shade(part: float, whole: float) -> str:
    """Nothing is the palest and everything the strongest; between them there are three more."""
    if part <= 0 or whole <= 0:
        return "sq-0"
    return f"sq-{SHADES - 1}" if part >= whole else f"sq-{1 + int((SHADES - 2) * part / whole)}"


def _shade(above: float, spread: float) -> str:
    return "sq-0" if spread <= 0 else f"sq-{min(SHADES - 1, int(SHADES * above / spread))}"


def _ends_of_scale(least: str, most: str) -> list[Shade]:
    """The five shades, of which only the first and the last have words."""
    between = [Shade(f"sq-{strength}", "") for strength in range(1, SHADES - 1)]
    return [Shade("sq-0", least), *between, Shade(f"sq-{SHADES - 1}", most)]
