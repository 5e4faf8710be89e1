"""The way to the first minutes, from the sign-in and from the navigation."""

from django import template

from console.setup.selectors import has_administrator

register = template.Library()


@register.simple_tag
def nobody_administers() -> bool:
    """Whether the first administrator's seat is free."""
    return not has_administrator()
