"""What a person chooses for all pages: the language, and light or dark."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

SHORT = {"en": "EN", "zh-hans": "中文"}
"""What stands on the button of a language; its whole name is told on hover and to screen readers."""


@register.simple_tag
def languages() -> list[tuple[str, str, str]]:
    """The languages to choose from: code, name and short name, each in itself."""
    return [(code, name, SHORT.get(code, code)) for code, name in settings.LANGUAGES]


THEMES = ("light", "dark")


def _theme(context: Mapping[str, Any]) -> str:
    request = context.get("request")
    chosen = request.COOKIES.get("theme", "") if request else ""
    return chosen if chosen in THEMES else ""


@register.simple_tag(takes_context=True)
def current_theme(context: Mapping[str, Any]) -> str:
    """`light` or `dark` if the person chose one; empty: as the system."""
    return _theme(context)


@register.simple_tag(takes_context=True)
def theme_attribute(context: Mapping[str, Any]) -> SafeString:
    """The attribute of `<html>` that fixes light or dark; none when it follows the system."""
    chosen = _theme(context)
    return format_html(' data-theme="{}"', chosen) if chosen else SafeString("")
