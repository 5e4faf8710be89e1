"""Tags for links to the present page in another order, or at another of its pages."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


def sort_link(table: str, key: str, current: str) -> dict[str, str]:
    """Where a click on a column's head leads, and how the column is sorted now (for aria-sort and the arrow)."""
    if current == key:
        return {"param": f"{table}_sort", "value": f"-{key}", "aria": "ascending", "icon": "arrow-up"}
    aria = "descending" if current == f"-{key}" else ""
    return {"param": f"{table}_sort", "value": key, "aria": aria, "icon": "arrow-down" if aria else ""}


_LIVE_ONLY = ("since",)


def _query(context: Mapping[str, Any], changes: Mapping[str, str]) -> str:
    query = context["request"].GET.copy()
    for key in _LIVE_ONLY:
        query.pop(key, None)
    for key, value in changes.items():
        query[key] = value
    return f"?{query.urlencode()}"


def sort_query(context: Mapping[str, Any], link: Mapping[str, str]) -> str:
    """The present address ordered as `link` (of `sort_link`) says, from the first page on."""
    table = link["param"].partition("_")[0]
    return _query(context, {link["param"]: link["value"], f"{table}_page": "1"})


@register.simple_tag(takes_context=True)
def page_query(context: Mapping[str, Any], param: str, number: int) -> str:
    """The present address at another page."""
    return _query(context, {param: str(number)})
