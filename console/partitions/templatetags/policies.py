"""What only pages about a policy show."""

from datetime import datetime
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from console.core import clock
from console.core.templatetags.ui import ago, icon
from scheduler.model.policy import LevelRule, PartitionPolicy
from scheduler.priority import keywords

register = template.Library()


@register.simple_tag
def open_keywords(policy: PartitionPolicy) -> list[LevelRule]:
    """The levels with which anybody may have others stopped."""
    return keywords.open_keywords(policy)


@register.simple_tag
def ended(until: Any) -> SafeString:
    """That an override counts no more, and since when; nothing while it counts, or when its end is being typed."""
    if not isinstance(until, datetime) or clock.now() < until:
        return SafeString("")
    return format_html(
        '<span class="hint state state-warn">{} {} {}</span>',
        icon("hourglass"),
        _("counts no more, ended"),
        ago(until),
    )
