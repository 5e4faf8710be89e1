"""The heads of a list's columns, and the boxes that choose them. They are written here and not in a template: a page
has forty of them, and each look would go through the template again for what hardly ever changes."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from console.core.markup import text
from console.core.templatetags.addresses import sort_link, sort_query
from console.core.templatetags.ui import icon
from console.overview.columns import ALWAYS, COLUMNS, TableColumn
from console.overview.joblists import JobList

register = template.Library()


@register.simple_tag(takes_context=True)
def column_heads(context: Mapping[str, Any], jobs: JobList) -> SafeString:
    """A head for each column; one that sorts is a link that says how the list is sorted now."""
    return SafeString("".join(_heads(context, jobs, text(str(context.get("target", ""))))))


def _heads(context: Mapping[str, Any], jobs: JobList, target: str) -> Iterator[str]:
    language = get_language()
    for column in jobs.columns:
        label = _label(column.key, language)
        if not column.sort:
            yield f'<th scope="col"{_css(column)}>{label}</th>'
            continue
        link = sort_link(jobs.key, column.sort, jobs.sort)
        to = text(sort_query(context, link))
        sorted_so = f' aria-sort="{link["aria"]}"' if link["aria"] else ""
        arrow = icon(link["icon"]) if link["icon"] else ""
        yield (
            f'<th scope="col"{sorted_so}{_css(column)}><a href="{to}" hx-get="{to}" hx-target="#{target}" '
            f'hx-push-url="true" id="{jobs.key}-head-{column.key}">{label}{arrow}</a></th>'
        )


def _css(column: TableColumn) -> str:
    return f' class="{column.css}"' if column.css else ""


@register.simple_tag
def column_boxes(jobs: JobList) -> SafeString:
    """A box for each column on offer, ticked where it is shown; that of the job itself stays."""
    return _boxes(jobs.column_param, jobs.kind.offered, jobs.keys, get_language())


@lru_cache(maxsize=256)
def _boxes(param: str, offered: tuple[str, ...], shown: tuple[str, ...], language: str | None) -> SafeString:
    """Kept by all that it is made of: the same few choices stand on page after page."""
    made = []
    for key in COLUMNS:
        if key in offered:
            marks = (" checked" if key in shown else "") + (" disabled" if key == ALWAYS else "")
            made.append(
                f'<label class="check"><input type="checkbox" name="{param}" value="{key}" id="{param}-{key}"{marks}> '
                f"{_label(key, language)}</label>"
            )
    return SafeString("".join(made))


@lru_cache(maxsize=256)
def _label(key: str, _language: str | None) -> str:
    """What a column is called, once in each language."""
    return text(str(COLUMNS[key].label))
