"""The rows of a table of plans. They are written here and not in a template: every page that watches has them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from console.core.l10n_format import in_a_row, part_of, with_aside
from console.core.markup import job_address, link_to, text
from console.core.templatetags.ui import ago, said, state
from console.steering.models import Plan, PlanKind, PlanState
from scheduler.model.plan import How
from scheduler.model.policy import Enforcement

register = template.Library()

NAMED = 4
"""So many victims are named in a row."""


@register.simple_tag
def plan_rows(plans: Iterable[Plan], *, show_partition: bool = False) -> SafeString:
    """A row for each plan: for whom, whom it stops, why, and what became of it."""
    jobs, language = reverse("jobs"), get_language()
    return SafeString("".join(_row(plan, jobs, language, show_partition=show_partition) for plan in plans))


@lru_cache(maxsize=64)
def state_words(value: str, _language: str | None) -> str:
    """A plan's state as people say it, once in each language."""
    return str(dict(PlanState.choices).get(value, value))


def _row(plan: Plan, jobs: str, language: str | None, *, show_partition: bool) -> str:
    to = text(reverse("plan", args=[plan.pk]))
    shadow = f' <span class="chip">{_("shadow")}</span>' if plan.enforcement == Enforcement.SHADOW else ""
    where = f"<td>{link_to('partition', plan.partition)}</td>" if show_partition else ""
    tight = ' class="tight"'
    outcome = f"<p>{text(said(plan.outcome))}</p>" if plan.outcome else ""
    return (
        f'<tr><td class="num tight"><a href="{to}" id="plan-{plan.pk}">{plan.pk}</a></td>'
        f'<td class="tight">{state(plan.state, state_words(plan.state, language))}{shadow}</td>{where}'
        f'<td class="clip"><a href="{text(job_address(jobs, plan.job_id))}">{text(plan.job_id)}</a> '
        f'{text(plan.job_name)} <span class="quiet">{text(plan.user)}</span></td>'
        f"<td{'' if any(map(goes_on, plan.victims)) else tight}>{''.join(_stops(plan, jobs))}</td>"
        f'<td class="why"><details id="plan-why-{plan.pk}"><summary>{text(said(plan.explain))}</summary>{outcome}'
        f'</details></td><td class="num tight">{text(ago(plan.created_at))}</td></tr>'
    )


def _stops(plan: Plan, jobs: str) -> Iterator[str]:
    """The jobs that it stops, those that give something up and go on, or what else it does."""
    if plan.kind == PlanKind.GROW or not plan.victims:
        yield _without_stops(plan.kind)
        return
    in_order = sorted(plan.victims, key=lambda victim: bool(goes_on(victim)))
    said = (_together(how, some, jobs) for how, some in groupby(in_order[:NAMED], key=goes_on))
    yield in_a_row(said)
    if len(in_order) > NAMED:
        yield " " + text(_("of %(n)s")) % {"n": len(in_order)}


def _together(how: str, victims: Iterable[Mapping[str, object]], jobs: str) -> str:
    """Jobs that make room in the same way, with the way where it is no stop."""
    named = in_a_row(
        f'<a href="{text(job_address(jobs, str(victim["job"])))}" title="{text(_who(victim))}">'
        f"{text(str(victim['job']))}</a>"
        for victim in victims
    )
    return with_aside(named, text(how)) if how else named


@register.filter
def goes_on(victim: Mapping[str, object]) -> str:
    """What is taken of a job that goes on; empty for one that is stopped."""
    if victim.get("worker_of"):
        return _("given up")
    match victim.get("how"):
        case How.NODES | How.UNITS:
            return _("a part given up")
        case How.SWAP:
            return _("nodes exchanged")
        case _:
            return ""


@register.filter
def whose(victim: Mapping[str, object]) -> str:
    """Whose job it is, and what is taken of one that goes on."""
    user, how = str(victim.get("user", "")), goes_on(victim)
    return part_of(user, how) if how else user


def _who(victim: Mapping[str, object]) -> str:
    return with_aside(victim.get("name", ""), victim.get("user", ""))


def _without_stops(kind: str) -> str:
    match kind:
        case PlanKind.GROW:
            return text(_("starts again on more nodes"))
        case PlanKind.QUOTA:
            return text(_("holds the job"))
        case PlanKind.WHOLE:
            return text(_("holds the jobs"))
        case _:
            return "–"
