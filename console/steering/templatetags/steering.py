"""What every page says of steering: failures and pauses that hold, and how many plans wait for whoever looks."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from console.accounts.permissions import Permission
from console.core import l10n_format
from console.core.templatetags.ui import state, word
from console.core.vocabulary import STATES
from console.partitions.models import Partition
from console.steering import selectors
from console.steering.folded_losses import OPENED
from console.steering.models import Pause, Plan, PlannedAction
from console.steering.operations.pausing import EVERYWHERE
from console.steering.operations.standing import SteeringNotices, standing_for
from scheduler.model.actions import FIRST_ALLOW, ActionKind
from scheduler.model.line import is_front

register = template.Library()


SHOWN = 5
"""Incidents at the top of a page; the others are in their list."""


def _standing(request: HttpRequest) -> SteeringNotices:
    """Asked once per request."""
    return standing_for(request.user, settings.GIVEWAY_CLUSTER_NAME)


def _pauses(request: HttpRequest) -> tuple[Pause, ...]:
    return _standing(request).pauses


@register.inclusion_tag("steering/_incidents.html", takes_context=True)
def incident_banners(
    context: dict[str, Any],
    partition: Partition | None = None,
    job: str = "",
    plan: Plan | None = None,
    apart: Collection[int] = (),
) -> dict[str, Any]:
    """The open incidents of a partition, a job or a plan; without one: all but those that are told `apart` by their
    numbers. For whoever sees the page."""
    request: HttpRequest = context["request"]
    if not request.user.is_authenticated:
        return {"incidents": []}
    found = [
        incident
        for incident in _standing(request).incidents
        if incident.pk not in apart
        and (partition is None or incident.partition == partition.name)
        and (not job or incident.job_id == job)
        and (plan is None or incident.plan == plan.pk)
    ]
    return {"incidents": found[:SHOWN], "more": max(0, len(found) - SHOWN)}


@register.inclusion_tag("steering/_pauses.html", takes_context=True)
def pause_banners(context: dict[str, Any]) -> dict[str, Any]:
    """Cycles that failed; who paused what, since when and why; with the button that lifts it, for whom it is."""
    request: HttpRequest = context["request"]
    if not request.user.is_authenticated:
        return {"pauses": []}
    pauses = _pauses(request)
    named = {each.partition for each in pauses} - {EVERYWHERE}
    rows = Partition.objects.filter(cluster__name=settings.GIVEWAY_CLUSTER_NAME, name__in=named)
    partitions = {row.name: row for row in rows} if named else {}
    return {
        "request": request,
        "csrf_token": context.get("csrf_token"),
        "streaks": _standing(request).streaks,
        "made_up_until": _standing(request).made_up_until,
        "pauses": [(each, _may_resume(request, each, partitions)) for each in pauses],
    }


def _may_resume(request: HttpRequest, pause: Pause, partitions: dict[str, Partition]) -> bool:
    if pause.partition == EVERYWHERE:
        return request.user.has_perm(Permission.PAUSE_ALL)
    partition = partitions.get(pause.partition)
    return partition is not None and request.user.has_perm(Permission.PAUSE_PARTITION, partition)


@dataclass(frozen=True, slots=True)
class HowFar:
    """How far the plans of a partition go now. `state`: its word among the states, and so its icon and tone."""

    state: str
    words: str

    @property
    def icon(self) -> str:
        """The icon of the state."""
        return STATES[self.state][0]


@register.simple_tag(takes_context=True)
def how_far(context: dict[str, Any], name: str, enforcement: str) -> HowFar:
    """What the policy says; while the partition is paused, or cycles fail, that it is so: then nobody is stopped."""
    found = _standing(context["request"])
    said = {"how": word(enforcement)}
    if any(pause.partition in {name, EVERYWHERE} for pause in found.pauses):
        return HowFar("paused", _("%(how)s, paused") % said)
    if any(streak.partition in {name, EVERYWHERE} for streak in found.streaks):
        return HowFar("degraded", _("%(how)s, but cycles fail") % said)
    return HowFar(enforcement, said["how"])


@register.simple_tag(takes_context=True)
def enforcement(context: dict[str, Any], name: str, enforcement: str) -> SafeString:
    """The same as a state: icon and words."""
    found = how_far(context, name, enforcement)
    return state(found.state, found.words)


@register.inclusion_tag("steering/_pause_button.html", takes_context=True)
def pause_button(context: dict[str, Any], partition: Partition | None = None) -> dict[str, Any]:
    """The button that pauses a partition (or everything), for whom it is, and while it is not paused."""
    request: HttpRequest = context["request"]
    permission = Permission.PAUSE_PARTITION if partition else Permission.PAUSE_ALL
    name = partition.name if partition else EVERYWHERE
    paused = {each.partition for each in _pauses(request)}
    return {
        "csrf_token": context.get("csrf_token"),
        "partition": partition,
        "may": request.user.has_perm(permission, partition) and not paused & {name, EVERYWHERE},
    }


@register.simple_tag(takes_context=True)
def plans_to_decide(context: dict[str, Any]) -> int | None:
    """How many plans wait for the person; None for who decides nowhere."""
    request: HttpRequest = context["request"]
    if not request.user.has_perm(Permission.PLAN_DECIDE):
        return None
    return _to_decide(request)["plans"]


@register.simple_tag(takes_context=True)
def requests_to_decide(context: dict[str, Any]) -> int | None:
    """How many requests of managers wait for the person; None for who decides on none."""
    request: HttpRequest = context["request"]
    return _to_decide(request)["requests"] if request.user.has_perm(Permission.REQUEST_DECIDE) else None


def _to_decide(request: HttpRequest) -> Counter[str]:
    """Asked once per request."""
    if not hasattr(request, "_to_decide"):
        found = selectors.numbers_to_decide(request.user, settings.GIVEWAY_CLUSTER_NAME)
        request._to_decide = found  # type: ignore[attr-defined]  # noqa: SLF001
    kept: Counter[str] = request._to_decide  # type: ignore[attr-defined]  # noqa: SLF001
    return kept


@register.simple_tag(takes_context=True)
def fold_of(context: dict[str, Any], page: str, group: str, is_open: bool) -> str:
    """The address of a page with a group unfolded, or folded again."""
    query = context["request"].GET.copy()
    for name in ("since", "seen"):
        query.pop(name, None)
    opened = [each for each in query.getlist(OPENED) if each != group]
    query.setlist(OPENED, opened if is_open else [*opened, group])
    return f"{page}?{query.urlencode()}"


PLACES = frozenset({ActionKind.PRIORITISE, ActionKind.RESTORE_PRIORITY, ActionKind.RELEASE})
"""Actions whose value is a priority on Slurm's scale."""


@register.filter
def step_value(step: PlannedAction) -> str:
    """What a step is done with, for people: the number of a place at the front says nothing to anybody."""
    number = step.value.removeprefix("~")
    if step.kind in PLACES and number.isdecimal():
        if is_front(int(number)):
            return _("front of the queue")
        return _("its own place in the queue")
    return _("after allowing it to be requeued") if step.value == FIRST_ALLOW else step.value


@register.simple_tag
def begin_of(plan: Plan, steps: Sequence[PlannedAction]) -> datetime:
    """From when a plan's steps are counted: when the first was done, or, before that, when it was decided."""
    return min((step.issued_at for step in steps if step.issued_at), default=plan.created_at)


@register.filter
def offset(moment: datetime | None, begin: datetime) -> SafeString | str:
    """`+1.8 s`, `+2 min 5 s`: how long after the begin, the exact time on hover."""
    if moment is None:
        return "–"
    at = f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S %Z}"
    said = offset_words((moment - begin).total_seconds())
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), at, said)


def offset_words(seconds: float) -> str:
    """`+1.8 s`, also in front of the begin: `−2.0 s`."""
    sign, size = ("−" if seconds <= -0.05 else "+"), abs(seconds)
    return sign + (f"{size:.1f} {l10n_format.units()['s']}" if size < 59.95 else _long(size))


def _long(seconds: float) -> str:
    """Minutes with their seconds: two steps of one minute are to stay apart."""
    if seconds >= 3600:
        return l10n_format.duration(seconds)
    minutes, rest = divmod(round(seconds), 60)
    units = l10n_format.units()
    return f"{minutes} {units['min']} {rest} {units['s']}"
