"""The blocks of the node map. They are written here and not in a template: a page has a thousand of them."""

from collections.abc import Iterator
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.core.templatetags.ui import level_class
from console.overview.nodemap import NodeBar, Segment

register = template.Library()


@register.simple_tag
def blocks(bar: NodeBar, of_node: str) -> SafeString:
    """A bar's blocks as links, each to its job; one that stands for many jobs leads to `of_node`, the node's jobs."""
    jobs = reverse("jobs")
    return format_html_join("", "{}", ((each,) for each in _blocks(bar, jobs, of_node)))


def _blocks(bar: NodeBar, jobs: str, of_node: str) -> Iterator[SafeString]:
    for block in bar.segments:
        if block.elsewhere:
            yield format_html(
                '<g><title>{}</title><rect class="elsewhere" x="{}" width="{}" height="100%"/></g>',
                block.label,
                block.x,
                block.w,
            )
        else:
            yield _link(block, f"{jobs}{quote(block.job_id)}/" if block.job_id else of_node)
    for tick in bar.ticks:
        yield format_html('<line class="tick" x1="{}" x2="{}" y2="100%"/>', tick, tick)
    for block in bar.segments:
        if block.start:
            yield format_html('<line class="edge" x1="{}" x2="{}" y2="100%"/>', block.x, block.x)


def _link(block: Segment, to: str) -> SafeString:
    letters = SafeString("")
    if block.letters:
        letters = format_html(
            '<text x="{}" y="50%" aria-hidden="true">{}</text>', block.middle, block.letters
        )
    return format_html(
        '<a class="{}{}" href="{}" aria-label="{}"><title>{}</title>'
        '<rect x="{}" width="{}" height="100%"{}/>{}</a>',
        level_class(block.level),
        " leaving" if block.leaving else "",
        to,
        block.label,
        block.label,
        block.x,
        block.w,
        SafeString(' fill="url(#hatch)"') if block.level is None else "",
        letters,
    )
