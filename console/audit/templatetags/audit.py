"""The alarm when the log is not whole, and who printed what when."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from console.accounts.permissions import Permission
from console.audit.checks import latest_check
from console.core import clock

register = template.Library()

KINDS: dict[str, Any] = {
    "account": pgettext_lazy("kind of object", "account"),
    "cluster": pgettext_lazy("kind of object", "cluster"),
    "config": pgettext_lazy("kind of object", "priority file"),
    "incident": pgettext_lazy("kind of object", "incident"),
    "job": pgettext_lazy("kind of object", "job"),
    "log": pgettext_lazy("kind of object", "audit log"),
    "node": pgettext_lazy("kind of object", "node"),
    "partition": pgettext_lazy("kind of object", "partition"),
    "plan": pgettext_lazy("kind of object", "plan"),
    "project": pgettext_lazy("kind of object", "project"),
    "project_proposal": pgettext_lazy("kind of object", "proposed project"),
    "project_rules": pgettext_lazy("kind of object", "rules for projects"),
    "study": pgettext_lazy("kind of object", "study"),
    "urgency_request": pgettext_lazy("kind of object", "urgency asked for"),
}


def kind_of_object(kind: str) -> str:
    """What kind of thing a row is about, in words."""
    return str(KINDS.get(kind, kind))


@register.inclusion_tag("audit/_alarm.html", takes_context=True)
def audit_alarm(context: Mapping[str, Any]) -> dict[str, Any]:
    """The latest check when it found a fault, on every page of those who read the whole log."""
    user = context.get("user")
    if user is None or not user.has_perm(Permission.AUDIT_VIEW_ALL):
        return {"check": None}
    check = latest_check()
    return {"check": check if check and check.faults else None}


@register.simple_tag(takes_context=True)
def printed_by(context: Mapping[str, Any]) -> SafeString:
    """On paper only: who printed it, when, and from which address."""
    request = context["request"]
    text = _("Giveway, cluster %(cluster)s. Printed by %(who)s on %(when)s. %(address)s") % {
        "cluster": context.get("cluster_name", ""),
        "who": request.user.username,
        "when": f"{timezone.localtime(clock.now()):%Y-%m-%d %H:%M:%S %Z}",
        "address": request.build_absolute_uri(),
    }
    return format_html('<p class="print-only">{}</p>', text)
