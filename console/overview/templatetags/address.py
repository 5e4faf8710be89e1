"""Links to the present page with something changed: what a page shows stands in its address."""

from typing import Any

from django import template
from django.http import QueryDict

register = template.Library()


@register.simple_tag(takes_context=True)
def here(context: dict[str, Any], **changes: object) -> str:
    """The present address with some parameters changed; an empty one is left out, and so is the poll's version."""
    return f"?{present(context, **changes).urlencode()}"


def present(context: dict[str, Any], **changes: object) -> QueryDict:
    """The same, to be changed further."""
    query: QueryDict = context["request"].GET.copy()
    query.pop("since", None)
    for name, value in changes.items():
        if value == "":
            query.pop(name, None)
        else:
            query[name] = str(value)
    return query
