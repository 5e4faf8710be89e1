"""The way to the first minutes, from the sign-in and from the navigation; what the doctor looks at."""

from django import template

from console.health.names import CHECKS
from console.setup.selectors import has_administrator

register = template.Library()


@register.simple_tag
def nobody_administers() -> bool:
    """Whether the first administrator's seat is free."""
    return not has_administrator()


@register.filter
def check_name(check: str) -> str:
    """The name of one of the doctor's checks."""
    return str(CHECKS.get(check, check))
