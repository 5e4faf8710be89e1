"""The rows of what needs somebody, written in code: there may be hundreds."""

from collections.abc import Iterable, Iterator

from django import template
from django.utils.safestring import SafeString

from console.core.markup import text
from console.core.templatetags.ui import ago, icon
from console.needs.rows import Need

register = template.Library()


@register.simple_tag
def need_rows(needs: Iterable[Need]) -> SafeString:
    """Kind, sentence with a link, partition and since when."""
    return SafeString("".join(map(_row, needs)))


def _row(need: Need) -> str:
    kind = f'<span class="state state-{need.tone}">{icon(need.icon)} {text(str(need.kind.label))}</span>'
    link = f'<a href="{text(need.url)}">{text(need.text)}</a>'
    return f'<li>{kind} {link} <span class="quiet">{" ".join(_where(need))}</span></li>\n'


def _where(need: Need) -> Iterator[str]:
    if need.partition:
        yield f'<span class="nowrap">{text(need.partition)}</span>'
    if need.since:
        yield text(ago(need.since))
