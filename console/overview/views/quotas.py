"""A partition's quotas: the matrix of limits, who uses how much of them now, and how far they were used over time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.permissions import Permission
from console.core.concurrent_changes import ChangedSinceError
from console.core.htmx import part_name, render_page
from console.core.l10n_format import duration, percent, set_in_type, with_aside
from console.core.lazy import lazy
from console.core.rows import BUTTON
from console.history.minutes import (
    QuotaLine,
    QuotaStep,
    QuotaTimes,
    quota_times_key,
    read_quota_times,
    usual_level,
)
from console.history.timeline import picks, span_asked
from console.overview.plots import Plot, Scale, css_of, plot
from console.partitions.drafts import Content
from console.partitions.forms import QuotaForm, quota_form, quota_initial
from console.partitions.models import Partition
from console.partitions.quotas import Use, all_uses, limits_of
from console.partitions.selectors import decoded, missed_revisions, policy_in_force, policy_of
from console.partitions.services import activate_policy
from console.partitions.views import (
    AS_DRAFT,
    asked_draft,
    head,
    readable_partition,
    save_draft,
    save_new_draft,
)
from scheduler.model.policy import PartitionPolicy

MINUTE_S = 60
NEAREST = 5
"""Users of a limit that the page names."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A user beside a limit: the most they used of it, and how long they had all of it, in words."""

    what: str
    use: Use
    full: str


@dataclass(frozen=True, slots=True)
class Cells:
    """What a row of the table says of one limit."""

    average: str
    most: str
    full: str


@dataclass(frozen=True, slots=True)
class QuotaPlotRow:
    """A step, with the cells of each limit."""

    at: datetime
    cells: list[Cells]


def quota_times_context(
    partition: Partition, policy: PartitionPolicy, level: str, span: str
) -> dict[str, Any]:
    """The context of the page's section about a level, by name; one that there is not counts as the first with a
    limit. Empty where the policy has no levels. One query, and one more where `times_look_like` is new."""
    names = [rule.name for rule in policy.levels]
    rank = names.index(level) if level in names else usual_level(policy)
    if rank is None:
        return {}
    key = quota_times_key(partition, policy, rank, span)
    times = lazy(read_quota_times, partition, policy, rank, span, key)
    return {
        "times": True,
        "times_look_like": f"{key} {partition.revision_id} {get_language()}",
        "level": names[rank],
        "level_picks": [(place, name, place == rank) for place, name in enumerate(names)],
        "span_picks": picks(span_asked(span)),
        "heads": lazy(lambda: [_what(line) for line in times().lines]),
        "plots": lazy(lambda: [_plot(line, number) for number, line in enumerate(times().lines)]),
        "nearest": lazy(lambda: list(_nearest(times()))),
        "rows": lazy(lambda: _rows(times())),
    }


def _what(line: QuotaLine) -> str:
    """`gpu of each user`."""
    if line.limit.of_all:
        return set_in_type(_("%(what)s of all users together") % {"what": line.limit.label})
    return set_in_type(_("%(what)s of each user") % {"what": line.limit.label})


def _plot(line: QuotaLine, number: int) -> Plot:
    css = css_of(str(line.limit.rank))
    # What runs when a limit is lowered goes on running: more than all of it can be used.
    highest = max((step.share or 0.0 for step in line.steps), default=0.0)
    return plot(
        f"quota-{number}",
        _what(line),
        _summary(line),
        line.steps,
        lambda step: [(css, step.share or 0.0)],
        Scale(percent, most=max(1.0, highest)),
    )


def _summary(line: QuotaLine) -> str:
    if line.peak is None:
        return _("nobody used any of it")
    said = _most(line.use(line.peak))
    if not line.full:
        return _("at most %(use)s") % {"use": said}
    facts = {"use": said, "time": duration(MINUTE_S * line.full)}
    if line.limit.of_all:
        return _("at most %(use)s; used up for %(time)s") % facts
    return _("at most %(use)s; somebody had all of it for %(time)s") % facts


def _most(use: Use) -> str:
    """`12 / 16 gpu (ann)`."""
    return with_aside(use.text, use.user) if use.user else use.text


def _nearest(times: QuotaTimes) -> Iterator[Nearest]:
    for line in times.lines:
        if not line.limit.of_all:
            for time in line.nearest[:NEAREST]:
                yield Nearest(
                    _what(line), line.use(time.peak), duration(MINUTE_S * time.full) if time.full else "–"
                )


def _rows(times: QuotaTimes) -> list[QuotaPlotRow]:
    """The latest first; steps of which nothing is known are left out."""
    if not times.lines:
        return []
    together = zip(*(line.steps for line in times.lines), strict=True)
    rows = [
        QuotaPlotRow(steps[0].at, [_cells(line, step) for line, step in zip(times.lines, steps, strict=True)])
        for steps in together
        if any(step.minutes for step in steps)
    ]
    return rows[::-1]


def _cells(line: QuotaLine, step: QuotaStep) -> Cells:
    return Cells(
        "–" if step.share is None else percent(step.share),
        "–" if step.peak is None else _most(line.use(step.peak)),
        duration(MINUTE_S * step.full) if step.full else "–",
    )


PAGE = "partitions/quotas.html"
TIMES = "quota-times"
USES_PER_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def quotas(request: HttpRequest, name: str) -> HttpResponse:
    """The page; saving puts the quotas in force as the policy's next revision, or keeps them as a draft.

    `?of=draft-3`: the quotas of that draft, and saving changes the draft.
    """
    partition = readable_partition(request, name)
    draft = asked_draft(request, partition)

    def make(**kwargs: Any) -> QuotaForm:
        return quota_form(partition, draft, **kwargs)

    def save(form: QuotaForm, _rows: object, by: dict[str, str]) -> Saved:
        if draft:
            return save_draft(request, draft, form, Content(draft.name, form.document()), by)
        based_on = form.cleaned_data["based_on"] or 0
        _check_levels(partition, based_on)
        if AS_DRAFT in request.POST:
            return save_new_draft(partition, form, form.document(), by)
        activate_policy(partition=partition, document=form.document(), based_on=based_on, **by)
        words = _("The quotas of %(name)s are in force.") % {"name": partition.name}
        return Saved(reverse("partition-quotas", args=[partition.name]), words)

    def show(form: QuotaForm, _rows: object = None, *, invalid: bool = False) -> HttpResponse:
        context = head(request, partition) | {"tab": "quotas", "draft": draft, "form": form}
        context |= {"of": f"?of={draft.key}"} if draft else {"of": "", **_use(request, partition)}
        return render_page(request, PAGE, context, invalid=invalid)

    if request.method == "POST":
        require_write(request, Permission.POLICY_CHANGE, partition)
        return audited_form(request, make, save, show, back=BUTTON)  # from a page where it was only tried
    policy = decoded(draft.document) if draft else policy_of(partition)
    based_on = draft.version if draft else policy_in_force(partition).number
    return show(make(initial={**quota_initial(policy), "based_on": based_on}))


def _check_levels(partition: Partition, based_on: int) -> None:
    """The cells are about the levels of the revision that the person had read, by rank."""
    current = policy_in_force(partition).number
    if based_on != current:
        what = _("policy of partition %(name)s") % {"name": partition.name}
        missed = missed_revisions(partition, based_on)
        raise ChangedSinceError(what, seen=based_on, current=current, missed=missed)


def _use(request: HttpRequest, partition: Partition) -> dict[str, Any]:
    """What the page says of the use of what is in force, now and over time."""
    policy = policy_of(partition)
    user = request.GET.get("user", "").strip()
    query = request.GET.urlencode()
    seen = (partition.pk, partition.cluster.version, partition.revision_id)
    uses = lazy(all_uses, partition, policy)
    context = {
        "limited": bool(limits_of(policy)),
        # The same for all who see the quotas: what the template makes of it is kept by this.
        "use_looks_like": f"{seen} {get_language()} {query}",
        "page": lazy(lambda: _page(uses(), user, request.GET.get("page"))),
        "uses": lazy(lambda: len(uses())),
        "user_sought": user,
        "target": "quota-use",
        "query": query,
    }
    if part_name(request, PAGE) in {None, TIMES}:
        asked = (request.GET.get(name, "") for name in ("level", "span"))
        context |= quota_times_context(partition, policy, *asked)
    return context


def _page(uses: list[Use], user: str, number: str | None) -> Page[Use]:
    """Who uses how much now: the page that is asked for."""
    found = [use for use in uses if user.casefold() in use.user.casefold()] if user else uses
    return Paginator(found, USES_PER_PAGE).get_page(number)
