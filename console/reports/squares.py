"""All nodes of a partition at a glance: a square each, shaded by free room, highest level, immune jobs, power or the
next end. What is drawn is what the API tells.

Jobs of other partitions on shared nodes are known by what they hold only: where nobody of this partition is, such a
node is held elsewhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from django.db.models import Min, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.cluster.models import Job, JobPhase
from console.cluster.selectors import Kind, SeenNode, kind_of
from console.core import clock, l10n_format
from console.core.templatetags.ui import level_class, node_state
from console.forecasts.models import JobForecast
from console.partitions.models import Partition
from console.power.models import Processor
from console.reports.seen import level_field
from scheduler.model.jobs import Level
from scheduler.model.policy import PartitionPolicy
from scheduler.model.resource_kinds import main_resource
from scheduler.priority.order import natural

# --- The five shades of squares, from pale to strong, and what they mean ---


SHADES = 5
"""`sq-0`, pale, to `sq-4`, strong."""


class Shade(NamedTuple):
    """What a class means."""

    css: str
    label: Promise | str


def part_shade(part: float, whole: float) -> str:
    """Nothing is the palest and everything the strongest; between them there are three more."""
    if part <= 0 or whole <= 0:
        return "sq-0"
    return f"sq-{SHADES - 1}" if part >= whole else f"sq-{1 + int((SHADES - 2) * part / whole)}"


def spread_shade(above: float, spread: float) -> str:
    """How far above the least a figure is, of the spread between the least and the most."""
    return "sq-0" if spread <= 0 else f"sq-{min(SHADES - 1, int(SHADES * above / spread))}"


def ends_of_scale(least: str, most: str) -> list[Shade]:
    """The five shades, of which only the first and the last have words."""
    between = [Shade(f"sq-{strength}", "") for strength in range(1, SHADES - 1)]
    return [Shade("sq-0", least), *between, Shade(f"sq-{SHADES - 1}", most)]


def drawn_resource(total: Mapping[str, int], held: Iterable[Mapping[str, int]]) -> str:
    """What a node's bar counts: the main resource; CPUs while no job there holds any of it, so that jobs are seen."""
    main = main_resource(total)
    if main == "cpu":
        return main
    jobs = list(held)
    return "cpu" if jobs and "cpu" in total and not any(job.get(main) for job in jobs) else main


def lacks_cpus(total: Mapping[str, int], used: Mapping[str, int]) -> bool:
    """Whether all CPUs of a node are taken: then nothing starts there, however many GPUs are free."""
    cpus = total.get("cpu", 0)
    return 0 < cpus <= used.get("cpu", 0)


UNKNOWN, ELSEWHERE, OFF = "sq-none", "sq-elsewhere", "sq-off"
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
HELD = (JobPhase.RUNNING, JobPhase.COMPLETING)


class Said(NamedTuple):
    """What is said of a node: its class, words, and the figure behind them, None where there is none."""

    css: str
    words: str
    value: float | None = None


class Square(NamedTuple):
    """A node's square. `css`: how it is shaded, `off` or not; `words`: without the node's name."""

    node: SeenNode
    said: Said

    @property
    def css(self) -> str:
        """All of its classes; one that takes no jobs is crossed."""
        return self.said.css if self.node.up else f"{self.said.css} {OFF}"

    @property
    def words(self) -> str:
        """What is said of it; first of all that it takes no jobs."""
        return (
            self.said.words
            if self.node.up
            else l10n_format.part_of(node_state(self.node.state), self.said.words)
        )


class SquareColour(NamedTuple):
    """A way of colouring, as a link."""

    value: str
    label: Promise
    chosen: bool


class UnitOfSquares(NamedTuple):
    """Squares of one compute unit; those in none have no `name`."""

    name: str
    squares: list[Square]


@dataclass(frozen=True, slots=True)
class SquareScale:
    """A way of colouring with what it needs to know: `of` says a node's class and words.

    Sentences are translated once for all nodes, not once for each.
    """

    legend: Sequence[Shade]
    of: Callable[[SeenNode], Said]


@dataclass(frozen=True, slots=True)
class SquareSource:
    """Where the colours come from: a partition's jobs, the column of their level, and the levels' names.

    `now`: the console's clock, epoch seconds, from which the time to an end is told.
    """

    jobs: QuerySet[Job]
    axis: str
    names: Sequence[str]
    processors: QuerySet[Processor]
    forecasts: QuerySet[JobForecast]
    now: float

    @classmethod
    def of(cls, partition: Partition, policy: PartitionPolicy) -> "SquareSource":
        """Those of a partition; nothing is read yet."""
        cluster = partition.cluster_id
        return cls(
            jobs=Job.objects.filter(cluster=cluster, partition=partition.name, phase__in=HELD),
            axis=level_field(policy.mode),
            names=[rule.name for rule in policy.levels],
            processors=Processor.objects.filter(cluster=cluster),
            forecasts=JobForecast.objects.filter(cluster=cluster, partition=partition.name),
            now=clock.now().timestamp(),
        )

    def scale(self, by: str, nodes: Iterable[SeenNode]) -> SquareScale:
        """Two queries at most; none for free room."""
        return {
            ROOM: _room,
            "level": self._levels,
            "immune": self._immune,
            "power": lambda: self._power(nodes),
            "end": self._ends,
        }[by]()

    def _levels(self) -> SquareScale:
        highest: dict[str, Level] = {}
        alone = self.jobs.exclude(on_node="").order_by().values_list("on_node").annotate(Min(self.axis))
        spread = self.jobs.filter(on_node="").order_by().values_list(self.axis, "alloc")
        several = ((name, level) for level, alloc in spread for name in alloc)
        for name, level in chain(alone, several):
            known = highest.get(name)
            highest[name] = level if known is None else known if level is None else min(level, known)

        nobody, unconfigured = _nobody(_("no job")), Said(level_class(None), _("unconfigured jobs only"))
        said = _("highest level %(level)s")
        of_level: dict[Level, Said] = {
            place: Said(level_class(place), said % {"level": name}, place)
            for place, name in enumerate(self.names)
        }

        def of(node: SeenNode) -> Said:
            if node.name not in highest:
                return nobody(node)
            return of_level.get(highest[node.name], unconfigured)

        named = [Shade(level_class(place), name) for place, name in enumerate(self.names)]
        others = [Shade(level_class(None), _("unconfigured")), Shade(ELSEWHERE, _("held elsewhere"))]
        return SquareScale([*named, *others, Shade(UNKNOWN, _("no job"))], of)

    def _immune(self) -> SquareScale:
        held: dict[str, dict[str, int]] = {}
        rows = self.jobs.filter(phase=JobPhase.RUNNING).exclude(immune="").order_by()
        for alloc in rows.values_list("alloc", flat=True):
            for name, amounts in alloc.items():
                there = held.setdefault(name, {})
                for resource, amount in amounts.items():
                    there[resource] = there.get(resource, 0) + amount

        said = _("%(part)s of %(whole)s %(what)s held by immune jobs")

        def of(node: SeenNode) -> Said:
            resource = main_resource(node.total)
            part, whole = held.get(node.name, {}).get(resource, 0), node.total.get(resource, 0)
            words = {"part": part, "whole": whole, "what": resource}
            return Said(part_shade(part, whole), said % words, part)

        return SquareScale(ends_of_scale(_("no immune jobs"), _("immune jobs hold all of it")), of)

    def _power(self, nodes: Iterable[SeenNode]) -> SquareScale:
        """Within a kind of node: else a slow kind would hide what differs within a fast one."""
        kinds = {node.name: (main_resource(node.total), kind_of(node.total)) for node in nodes}
        slowest: dict[str, float] = {}
        for name, resource, figure in self.processors.order_by().values_list("node", "resource", "figure"):
            if name in kinds and kinds[name][0] == resource:
                slowest[name] = max(figure, slowest.get(name, 0.0))
        ends: dict[Kind, tuple[float, float]] = {}
        for name, figure in slowest.items():
            least, most = ends.get(kinds[name][1], (figure, figure))
            ends[kinds[name][1]] = min(least, figure), max(most, figure)

        unmeasured, said = _("not measured"), _("slowest processor %(s)s s")

        def of(node: SeenNode) -> Said:
            figure = slowest.get(node.name)
            if figure is None:
                return Said(UNKNOWN, unmeasured)
            least, most = ends[kinds[node.name][1]]
            return Said(spread_shade(figure - least, most - least), said % {"s": f"{figure:.4g}"}, figure)

        shades = ends_of_scale(_("fastest of its kind"), _("slowest of its kind"))
        return SquareScale([*shades, Shade(UNKNOWN, unmeasured)], of)

    def _ends(self) -> SquareScale:
        said = self.forecasts.filter(ended_at=None, end_p50__isnull=False).order_by()
        ends = dict(said.values_list("job_id", "end_p50"))
        running = self.jobs.filter(phase=JobPhase.RUNNING).order_by()
        first: dict[str, int | None] = {}
        alone = running.exclude(on_node="").values_list("job_id", "on_node")
        spread = running.filter(on_node="").values_list("job_id", "alloc")
        several = ((job_id, name) for job_id, alloc in spread for name in alloc)
        for job_id, name in chain(alone, several):
            known, end = first.get(name), ends.get(job_id)
            first[name] = end if known is None else known if end is None else min(end, known)

        unknown, words = _("no end predicted"), _("a job there should end in %(time)s")
        nobody = _nobody(unknown)

        def of(node: SeenNode) -> Said:
            end = first.get(node.name)
            if end is None:
                return Said(UNKNOWN, unknown) if node.name in first else nobody(node)
            left = max(0.0, end - self.now)
            strength = SHADES - 1 - sum(left > limit for limit in SOON_S)
            return Said(f"sq-{strength}", words % {"time": l10n_format.duration(left)}, end)

        soon = [
            Shade(f"sq-{SHADES - 1 - place}", _("within %(time)s") % {"time": l10n_format.duration(limit)})
            for place, limit in enumerate(SOON_S)
        ]
        others = [Shade(ELSEWHERE, _("held elsewhere")), Shade(UNKNOWN, unknown)]
        return SquareScale([*soon, Shade("sq-0", _("later")), *others], of)


def squares(nodes: Iterable[SeenNode], scale: SquareScale) -> list[Square]:
    """A square for each node."""
    return [Square(node, scale.of(node)) for node in nodes]


def by_unit(shown: Iterable[Square], unit_of: Callable[[SeenNode], str]) -> list[UnitOfSquares]:
    """The squares of each unit together, the units by name; those in none last. Empty where no unit is known."""
    found: dict[str, list[Square]] = {}
    for square in shown:
        found.setdefault(unit_of(square.node), []).append(square)
    if found.keys() <= {""}:
        return []
    names = sorted(found, key=lambda name: (not name, natural(name)))
    return [UnitOfSquares(name, found[name]) for name in names]


def colours(asked: str | None) -> list[SquareColour]:
    """The ways of colouring, the chosen one marked; what makes no sense in the address is free room."""
    chosen = asked if asked in COLOURS else ROOM
    return [SquareColour(value, label, value == chosen) for value, label in COLOURS.items()]


def _nobody(words: str) -> Callable[[SeenNode], Said]:
    """What is said of a node on which no job of this partition is: jobs of others may hold some of it."""
    nothing, elsewhere = Said(UNKNOWN, words), Said(ELSEWHERE, _("held elsewhere"))
    return lambda node: elsewhere if any(node.used.values()) else nothing


def _room() -> SquareScale:
    said = _("%(free)s of %(total)s %(what)s free")
    no_cpus = _("%(what)s, no cpu")
    known: dict[tuple[int, int, bool], Said] = {}

    def of(node: SeenNode) -> Said:
        # By what the node has and holds, as `alike` has it: what is written alike is shared, and said once.
        sort = id(node.total), id(node.used), node.up
        if sort not in known:
            resource = main_resource(node.total)
            whole = node.total.get(resource, 0)
            free = max(0, whole - node.used.get(resource, 0)) if node.up else 0
            words = said % {"free": free, "total": whole, "what": resource}
            if free and lacks_cpus(node.total, node.used):
                free, words = 0, no_cpus % {"what": words}
            known[sort] = Said(part_shade(free, whole), words, free)
        return known[sort]

    return SquareScale(ends_of_scale(_("full"), _("all of it free")), of)
