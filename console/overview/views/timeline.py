"""A partition's last hours and days: plots with their numbers beside them."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.core.l10n_format import duration, percent
from console.core.lazy import lazy
from console.history.timeline import UNCONFIGURED, Timeline, TimelineStep, picks, read_timeline, timeline_key
from console.overview.nodemap import share
from console.overview.plots import PLAIN, Plot, Scale, count_words, css_of, plot, queue_plot, stops_plot
from console.partitions.models import Partition
from console.partitions.quotas import LevelLimit, Use, all_uses, limits_of
from console.partitions.selectors import policy_of, visible_partitions
from console.reports.levels import Named, named_level
from console.steering.selectors import hours, work_short, work_words
from scheduler.model.policy import PartitionPolicy
from scheduler.model.resource_kinds import LABELS


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A step as a row of the table; the cells after the time in words."""

    step: TimelineStep
    busy: str
    waiting: list[str]
    lost: str


@dataclass(frozen=True, slots=True)
class Wait:
    """How long the jobs of a level waited; `part` is its share of the longest."""

    level: Named
    css: str
    jobs: int
    text: str
    part: str


@dataclass(frozen=True, slots=True)
class Quota:
    """How far a limit of a level is used: the most by one user, by how many users, how many of whom have all of it.

    Where all users count together, `users` is None.
    """

    limit: LevelLimit
    most: Use
    users: int | None
    full: int


@require_safe
def partition_timeline(request: HttpRequest, name: str) -> HttpResponse:
    """The page."""
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.PARTITION_VIEW, partition)
    policy = policy_of(partition)
    span = request.GET.get("span", "")
    known_by = timeline_key(partition, span)
    found = read_timeline(partition, span, known_by)
    context = {
        "partition": partition,
        "tab": "timeline",
        "may_see_policy": request.user.has_perm(Permission.POLICY_VIEW, partition),
        "spans": picks(found.span),
        "timeline": found,
        # The same for all who see the partition: what the template makes of it is kept by this.
        "looks_like": f"{known_by} {partition.revision_id} {get_language()}",
        "plots": lazy(_plots, found),
        "waits": lazy(_waits, found, policy),
        "quotas": _quotas(partition, policy),
        "levels": lazy(lambda: [_named(policy, level) for level in found.levels]),
        "rows": lazy(lambda: [_row(step, found) for step in reversed(found.steps) if step.minutes]),
    }
    return render(request, "overview/timeline.html", context)


def _named(policy: PartitionPolicy, level: str) -> Named:
    return named_level(policy, None if level == UNCONFIGURED else int(level))


def _plots(found: Timeline) -> list[Plot]:
    what, lost = LABELS[found.resource], found.work_lost
    busy = plot(
        "busy",
        _("%(what)ss busy") % {"what": what},
        _("%(share)s over the whole time") % {"share": percent(found.busy or 0.0)},
        found.steps,
        lambda step: [(PLAIN, step.share(found.resource) or 0.0)],
        Scale(percent, most=1.0),
    )
    work = plot(
        "lost",
        _("Work of the stopped runs, %(what)s-hours") % {"what": what},
        work_words(lost),
        found.steps,
        lambda step: [(PLAIN, hours(step.work_lost, found.resource))],
        Scale(count_words),
    )
    return [busy, queue_plot(found, _("Waiting jobs by level")), stops_plot(found), work]


def _waits(found: Timeline, policy: PartitionPolicy) -> list[Wait]:
    longest = max((wait.mean_s for wait in found.waits), default=0.0)
    return [
        Wait(
            _named(policy, wait.level),
            css_of(wait.level),
            wait.jobs,
            duration(wait.mean_s),
            share(wait.mean_s, longest),
        )
        for wait in found.waits
    ]


def _quotas(partition: Partition, policy: PartitionPolicy) -> list[Quota]:
    """How the quotas are used now; one query where there are any."""
    uses: dict[LevelLimit, list[Use]] = {limit: [] for limit in limits_of(policy)}
    for use in all_uses(partition, policy):
        uses[use.limit].append(use)
    return [_quota(limit, each) for limit, each in uses.items()]


def _quota(limit: LevelLimit, uses: list[Use]) -> Quota:
    most = uses[0] if uses else Use(limit, "", 0)
    return Quota(limit, most, None if limit.of_all else len(uses), sum(use.full for use in uses))


def _row(step: TimelineStep, found: Timeline) -> TimelineRow:
    busy = step.share(found.resource)
    return TimelineRow(
        step,
        "–" if busy is None else percent(busy),
        [count_words(step.mean(level)) for level in found.levels],
        work_short(step.work_lost),
    )
