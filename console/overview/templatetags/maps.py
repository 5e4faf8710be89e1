"""The bars of the node map and the columns of plots. They are written here and not in a template: a page has a
thousand pieces of them, so each bar is one piece of text, and what comes from the cluster is escaped once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from django import template
from django.http import QueryDict
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from console.cluster.selectors import SeenNode
from console.core import clock
from console.core.markup import job_address, text
from console.core.templatetags.ui import colon, level_class, state
from console.core.translate import resay
from console.overview.firstlanes import TALL, TALL_OF_UNITS
from console.overview.nodemap import NodeBar, Segment
from console.overview.plots import Plot
from console.overview.templatetags.address import present
from console.reports.lane_part import MANY
from console.reports.squares import Square

register = template.Library()

STAND_IN = "0-node-0"
"""In the place of a node's name, which may be anything."""


@dataclass(frozen=True)
class MapLinks:
    """Where a map leads to: `jobs` is the address of all jobs, `query` the present one without what a node changes."""

    jobs: str
    query: QueryDict

    @cached_property
    def _of_any(self) -> str:
        query = self.query.copy()
        query["node"] = STAND_IN
        return f"?{query.urlencode()}#running-head"

    def of_node(self, name: str) -> str:
        """The present page with the node's jobs only."""
        return self._of_any.replace(STAND_IN, quote_plus(name))


@register.simple_tag(takes_context=True)
def map_links(context: dict[str, Any]) -> MapLinks:
    """Made once a page, for all bars."""
    return MapLinks(reverse("jobs"), present(context, w_page="", r_page=""))


@register.simple_tag
def drawn(bar: NodeBar, links: MapLinks, *, dense: bool) -> SafeString:
    """A node's head and its bar: blocks as links, each to its job; what stands for many jobs leads to the node's."""
    return SafeString(_drawn(_Look(bar, links.jobs, links.of_node(bar.node.name), dense)))


@register.simple_tag
def dense_bars(bars: Iterable[NodeBar], links: MapLinks) -> SafeString:
    """The bars of many nodes, without lists of their jobs."""
    made: list[str] = []
    for bar in bars:
        off = "" if bar.node.up else " off"
        coming = render_to_string("overview/_coming.html", {"coming": bar.coming}) if bar.coming else ""
        made.append(f'<div class="node{off}">\n  {drawn(bar, links, dense=True)}\n{coming}</div>\n')
    return SafeString("".join(made))


class _Look:
    """A bar with all that its drawing is made of, and by which it is remembered: two that are equal look the same."""

    __slots__ = ("_key", "bar", "dense", "jobs", "of_node")

    def __init__(self, bar: NodeBar, jobs: str, of_node: str, dense: bool) -> None:
        self.bar, self.jobs, self.of_node, self.dense = bar, jobs, of_node, dense
        node = bar.node
        self._key = (
            *(
                get_language(),
                get_script_prefix(),
                jobs,
                of_node,
                dense,
                node.pk,
                node.name,
                node.up,
                node.state,
            ),
            *(node.state_reason, bar.resource, bar.total, bar.used, bar.free, *bar.ticks, *bar.segments),
        )

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Look) and self._key == other._key


@lru_cache(maxsize=1024)
def _drawn(look: _Look) -> str:
    bar, of_node = look.bar, look.of_node
    hatched = "" if bar.node.up else '<rect width="100%" height="100%" fill="url(#hatch)"/>'
    return (
        f"""<div class="node-head">{_head(bar, of_node, dense=look.dense)}</div>
  <svg class="cells" role="group" aria-label="{text(bar.summary)}">{hatched}"""
        f"{''.join(_blocks(bar, look.jobs, of_node))}</svg>"
    )


@register.simple_tag
def squares(cells: Iterable[Square]) -> SafeString:
    """A kind's nodes as squares, each a link to its node's page."""
    prefix, told, mark, pieces = get_script_prefix(), _Told(), colon(), []
    for cell in cells:
        to, name = _square_link(cell.node.name, prefix)
        pieces.append(f'<a class="sq {cell.css}" href="{to}" title="{name}{mark}{told[cell.words]}"></a>')
    return SafeString("".join(pieces))


class _Told(dict[str, str]):
    """Texts as they may stand on a page: the same few are said of thousands of nodes."""

    def __missing__(self, words: str) -> str:
        self[words] = text(words)
        return self[words]


@lru_cache(maxsize=20_000)
def _square_link(name: str, _prefix: str) -> tuple[str, str]:
    """The address of a node's page and its name as they may stand on a page. Nodes keep their names."""
    to = reverse("node", args=[STAND_IN]).replace(STAND_IN, quote(name, safe=""))
    return text(to), text(name)


def _head(bar: NodeBar, of_node: str, *, dense: bool) -> str:
    node, name, free = bar.node, text(bar.node.name), text(bar.free)
    link = f'<a class="node-name" href="{text(of_node)}" id="node-{node.pk}" title="{name}">{name}</a>'
    if node.up:
        said = f"{bar.used}/{bar.total}" if dense else free
        return f'{link}<span class="quiet" title="{free}">{said}</span>'
    return (
        f'{link}<span class="quiet" title="{text(resay(node.state_reason))}">{state("down", bar.free)}</span>'
    )


def _blocks(bar: NodeBar, jobs: str, of_node: str) -> Iterator[str]:
    for block in bar.segments:
        if block.elsewhere:
            yield (
                f"<g><title>{text(block.label)}</title>"
                f'<rect class="elsewhere" x="{block.x}" width="{block.w}" height="100%"/></g>'
            )
        else:
            yield _link(block, job_address(jobs, block.job_id) if block.job_id else of_node)
    for tick in bar.ticks:
        yield f'<line class="tick" x1="{tick}" x2="{tick}" y2="100%"/>'
    for block in bar.segments:
        if block.start:
            yield f'<line class="edge" x1="{block.x}" x2="{block.x}" y2="100%"/>'


def _link(block: Segment, to: str) -> str:
    """Places and widths are shares (`12.5%`) that `nodemap` has written: nothing to escape."""
    label, mark = text(block.label), " leaving" if block.leaving else " takeable" if block.takeable else ""
    fill = ' fill="url(#hatch)"' if block.level is None else ""
    letters = ""
    if block.letters:
        letters = f'<text x="{block.middle}" y="50%" aria-hidden="true">{text(block.letters)}</text>'
    return (
        f"""<a class="{level_class(block.level)}{mark}" href="{text(to)}" aria-label="{label}">"""
        f"<title>{label}</title>"
        f'<rect x="{block.x}" width="{block.w}" height="100%"{fill}/>{letters}</a>'
    )


@register.simple_tag
def columns(plot: Plot) -> SafeString:
    """A plot's columns, each with its parts on the ground that says that somebody looked."""
    return SafeString("".join(_columns(plot)))


@register.simple_tag
def small_columns(plot: Plot) -> SafeString:
    """The same for a plot the size of a word: one shape for each colour, and nothing to point at."""
    shapes: dict[str, list[str]] = {"seen": []}
    for column in plot.columns:
        shapes["seen"].append(f"M{column.x} {plot.top}h{plot.width}v{plot.high}h-{plot.width}z")
        for part in column.parts:
            shape = f"M{column.x} {part.y}h{plot.width}v{part.height}h-{plot.width}z"
            shapes.setdefault(part.css, []).append(shape)
    return SafeString("".join(_shape(css, parts) for css, parts in shapes.items()))


def _shape(css: str, parts: list[str]) -> str:
    fill = ' fill="url(#hatch)"' if css == "lv-none" else ""
    return f'<path class="{css}" d="{"".join(parts)}"{fill}/>'


def _columns(plot: Plot) -> Iterator[str]:
    """Places, heights and classes are what `plots` has written: nothing to escape."""
    for column in plot.columns:
        yield (
            f'<g><title>{text(column.label)}</title><rect class="seen" x="{column.x}" y="{plot.top}" '
            f'width="{plot.width}" height="{plot.high}"/>'
        )
        for part in column.parts:
            fill = ' fill="url(#hatch)"' if part.hatched else ""
            yield (
                f'<rect class="{part.css}" x="{column.x}" y="{part.y}" '
                f'width="{plot.width}" height="{part.height}"{fill}/>'
            )
        yield "</g>"


@register.simple_tag
def server_time() -> int:
    """What time it is, epoch seconds: a reader's own clock may be wrong."""
    return int(clock.now().timestamp())


@register.filter
def lanes_are_tall(nodes: Sequence[SeenNode], partition: str) -> bool:
    """Whether the lane chart will be as high as it may be: then its place is kept, and nothing moves when it comes."""
    if len(nodes) <= MANY:
        return len(nodes) >= TALL
    units = [node.unit_in(partition) for node in nodes]
    return len(set(units)) + units.count("") >= TALL_OF_UNITS
