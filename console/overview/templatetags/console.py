"""The frame's navigation: what this person may open, and no more."""

from typing import Any

from django import template
from django.http import HttpRequest

from console.accounts.permissions import Permission
from console.partitions.selectors import visible_partitions

register = template.Library()

MOST_LISTED = 24
"""Partitions named in the bar; the overview has them all."""


@register.inclusion_tag("_navigation.html", takes_context=True)
def navigation(context: dict[str, Any]) -> dict[str, Any]:
    """The main navigation."""
    request: HttpRequest = context["request"]
    user = request.user
    partitions = visible_partitions(user).filter(revision__isnull=False).select_related("revision")
    return {
        "request": request,
        "user": user,
        "path": request.path,
        "partitions": partitions[:MOST_LISTED],
        "may": {
            "projects": user.has_perm(Permission.PROJECT_VIEW),
            "audit": user.has_perm(Permission.AUDIT_VIEW),
            "file": user.has_perm(Permission.CONFIG_EXPORT),
        },
    }
