"""The blocks of the node map and the columns of plots. They are written here and not in a template: a page has a
thousand of them, so each is one piece of text, and what comes from the cluster is escaped once."""

from collections.abc import Iterator
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString

from console.core.templatetags.ui import level_class
from console.overview.nodemap import NodeBar, Segment
from console.overview.plots import Plot

register = template.Library()


@register.simple_tag
def blocks(bar: NodeBar, of_node: str) -> SafeString:
    """A bar's blocks as links, each to its job; one that stands for many jobs leads to `of_node`, the node's jobs."""
    return SafeString("".join(_blocks(bar, reverse("jobs"), of_node)))


def _blocks(bar: NodeBar, jobs: str, of_node: str) -> Iterator[str]:
    for block in bar.segments:
        if block.elsewhere:
            yield (
                f"<g><title>{escape(block.label)}</title>"
                f'<rect class="elsewhere" x="{block.x}" width="{block.w}" height="100%"/></g>'
            )
        else:
            yield _link(block, f"{jobs}{quote(block.job_id)}/" if block.job_id else of_node)
    for tick in bar.ticks:
        yield f'<line class="tick" x1="{tick}" x2="{tick}" y2="100%"/>'
    for block in bar.segments:
        if block.start:
            yield f'<line class="edge" x1="{block.x}" x2="{block.x}" y2="100%"/>'


def _link(block: Segment, to: str) -> str:
    """Places and widths are shares (`12.5%`) that `nodemap` has written: nothing to escape."""
    label, leaving = escape(block.label), " leaving" if block.leaving else ""
    fill = ' fill="url(#hatch)"' if block.level is None else ""
    letters = ""
    if block.letters:
        letters = f'<text x="{block.middle}" y="50%" aria-hidden="true">{escape(block.letters)}</text>'
    return (
        f"""<a class="{level_class(block.level)}{leaving}" href="{escape(to)}" aria-label="{label}">"""
        f"<title>{label}</title>"
        f'<rect x="{block.x}" width="{block.w}" height="100%"{fill}/>{letters}</a>'
    )


@register.simple_tag
def columns(plot: Plot) -> SafeString:
    """A plot's columns, each with its parts on the ground that says that somebody looked."""
    return SafeString("".join(_columns(plot)))


def _columns(plot: Plot) -> Iterator[str]:
    """Places, heights and classes are what `plots` has written: nothing to escape."""
    for column in plot.columns:
        yield (
            f'<g><title>{escape(column.label)}</title><rect class="seen" x="{column.x}" y="{plot.top}" '
            f'width="{plot.width}" height="{plot.high}"/>'
        )
        for part in column.parts:
            fill = ' fill="url(#hatch)"' if part.hatched else ""
            yield (
                f'<rect class="{part.css}" x="{column.x}" y="{part.y}" '
                f'width="{plot.width}" height="{part.height}"{fill}/>'
            )
        yield "</g>"
