"""Plots as numbers for a template: columns over time, of parts on top of each other, drawn as SVG by the server."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from django.utils import timezone
from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.core.l10n_format import percent
from console.core.templatetags.ui import level_class
from console.history.timeline import UNCONFIGURED, Timeline, read_days
from scheduler.model.resource_kinds import LABELS

WIDTH, HEIGHT = 960, 150
LEFT, TOP, BOTTOM = 44, 8, 20
PLAIN = "plain"
MOST_LABELS = 8


class SeenStep(Protocol):
    """A step of time, and how many of its minutes were looked at."""

    @property
    def at(self) -> datetime:
        """When it begins."""

    @property
    def minutes(self) -> int:
        """0: nothing is known of it."""


S = TypeVar("S", bound=SeenStep)


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """A piece of a column: `css` is its level's class, or `plain`; `hatched` for unconfigured."""

    css: str
    y: str
    height: str

    @property
    def hatched(self) -> bool:
        """Whether it has the pattern of nothing configured."""
        return self.css == "lv-none"


@dataclass(frozen=True, slots=True)
class PlotColumn:
    """One step. `label` says its numbers in words."""

    x: str
    label: str
    parts: list[ColumnPart]


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A word at an axis, and where."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot; all measures as SVG takes them."""

    key: str
    title: str
    summary: str
    columns: list[PlotColumn]
    width: str
    rows: list[AxisMark]
    times: list[AxisMark]

    size = f"0 0 {WIDTH} {HEIGHT}"
    left, right, base, foot = LEFT, WIDTH, HEIGHT - BOTTOM, HEIGHT - 5
    high = HEIGHT - BOTTOM - TOP
    top = TOP
    inner = f"{LEFT} {TOP} {WIDTH - LEFT} {HEIGHT - BOTTOM - TOP}"
    """The columns alone, without words."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How numbers are told to people, and the end of the scale where it is fixed (0: the highest number)."""

    say: Callable[[float], str]
    most: float = 0


def css_of(level: str) -> str:
    """The class of a level as the record writes it."""
    return level_class(None if level == UNCONFIGURED else int(level))


def plot(
    key: str,
    title: str,
    summary: str,
    steps: Sequence[S],
    values: Callable[[S], Sequence[tuple[str, float]]],
    scale: Scale,
) -> Plot:
    """Columns of what `values` answers for each step: a class and a number not below zero, from the bottom up."""
    stacks = [list(values(step)) for step in steps]
    say = scale.say
    highest = scale.most or max((sum(value for _css, value in stack) for stack in stacks), default=0) or 1
    width = (WIDTH - LEFT) / max(1, len(stacks))
    columns = [
        PlotColumn(svg_number(LEFT + i * width), _said(step, stack, say), _parts(stack, highest))
        for i, (step, stack) in enumerate(zip(steps, stacks, strict=True))
        if step.minutes
    ]
    rows = [
        AxisMark(svg_number(HEIGHT - BOTTOM - Plot.high * share), say(highest * share))
        for share in (0.0, 0.5, 1.0)
    ]
    return Plot(key, title, summary, columns, svg_number(max(1.0, width - 1)), rows, _times(steps, width))


def _parts(stack: Sequence[tuple[str, float]], highest: float) -> list[ColumnPart]:
    parts, base = [], float(HEIGHT - BOTTOM)
    for css, value in stack:
        if value > 0:
            height = min(1.0, value / highest) * Plot.high
            base -= height
            parts.append(ColumnPart(css, svg_number(base), svg_number(height)))
    return parts


def _said(step: SeenStep, stack: Sequence[tuple[str, float]], say: Callable[[float], str]) -> str:
    return f"{timezone.localtime(step.at):%Y-%m-%d %H:%M %Z}: {say(sum(value for _css, value in stack))}"


def _times(steps: Sequence[SeenStep], width: float) -> list[AxisMark]:
    """Words under the axis: dates where the plot is longer than two days, else hours; the first names the zone."""
    if not steps:
        return []
    long = steps[-1].at - steps[0].at > timedelta(days=2)
    every = max(1, -(-len(steps) // MOST_LABELS))
    style = "%m-%d %H:%M" if long else "%H:%M"
    return [
        AxisMark(
            svg_number(LEFT + i * width),
            f"{timezone.localtime(steps[i].at):{style if i else f'{style} %Z'}}",
        )
        for i in range(0, len(steps), every)
    ]


def svg_number(value: float) -> str:
    """A measure as SVG takes it, the same in every language."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def day_plots(cluster: Cluster, names: Iterable[str]) -> dict[str, list[Plot]]:
    """By partition; none for one of which nothing is recorded. One query for all."""
    return {name: _plots(day) for name, day in read_days(cluster.pk, sorted(names)).items() if day.seen}


def _plots(day: Timeline) -> list[Plot]:
    """Their keys are those of the timeline's own plots, to which they lead."""
    facts = {"what": LABELS[day.resource], "share": percent(day.busy or 0.0)}
    busy = plot(
        "busy",
        _("Running by level"),
        _("%(what)ss %(share)s busy") % facts,
        day.steps,
        lambda step: [(css_of(level), step.ran(level)) for level in day.running_levels],
        Scale(count_words),
    )
    return [busy, queue_plot(day, _("Waiting by level")), stops_plot(day)]


def queue_plot(found: Timeline, title: str) -> Plot:
    """How many jobs waited, by level."""
    return plot(
        "queue",
        title,
        _("%(n)s at most") % {"n": count_words(max(step.waiting for step in found.steps))},
        found.steps,
        lambda step: [(css_of(level), step.mean(level)) for level in found.levels],
        Scale(count_words),
    )


def stops_plot(found: Timeline) -> Plot:
    """How many runs were stopped."""
    return plot(
        "stops",
        _("Runs stopped"),
        _("%(n)s in all") % {"n": found.stops},
        found.steps,
        lambda step: [(PLAIN, float(step.stops))],
        Scale(count_words),
    )


def count_words(value: float) -> str:
    """A number to three places."""
    return f"{value:.3g}"
