"""The answers that name projects, and how sums of work and shares are told."""

from collections.abc import Callable, Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.core.l10n_format import one_after_the_other
from console.insights.answers import Insights, ProjectBalance, ProjectUnevenness
from console.steering.work import Work, add_work, work_words
from scheduler.model.resource_kinds import COUNTED

SECONDS_PER_HOUR = 3600


def project_words(row: ProjectBalance | ProjectUnevenness) -> str:
    """The project's code; words for none."""
    return row.project or _("no known project")


def _who(row: ProjectBalance | ProjectUnevenness) -> str:
    """The project, as a sentence begins."""
    return row.project or _("Jobs of no known project")


def number(value: float) -> str:
    """Three digits, or all of a hundred and more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def sum_of(works: Iterable[Work]) -> Work:
    """All work together."""
    total: Work = {}
    for work in works:
        add_work(total, work)
    return total


def _weight(work: Work) -> tuple[float, ...]:
    return tuple(work.get(what, 0.0) for what in COUNTED)


def projects(found: Insights) -> str:
    """Who gained, and who paid?"""
    if not found.sees_projects:
        return _("These rows are for the managers of projects; none is yours to see.")
    if not found.projects:
        return _("No project gained or paid by a stop.")
    told = []
    most = max(found.projects, key=lambda row: (row.made, _weight(row.room)))
    if most.made or most.jobs:
        text = ngettext(
            "%(project)s gained the most: %(n)d stop made room for it, and its jobs that had got room ran %(work)s.",
            "%(project)s gained the most: %(n)d stops made room for it, and its jobs that had got room ran %(work)s.",
            most.made,
        )
        told.append(text % {"project": _who(most), "n": most.made, "work": work_words(most.room)})
    paid = max(found.projects, key=lambda row: (_weight(row.lost), row.suffered))
    if paid.suffered:
        text = ngettext(
            "%(project)s paid the most: %(work)s lost by %(n)d stop.",
            "%(project)s paid the most: %(work)s lost by %(n)d stops.",
            paid.suffered,
        )
        told.append(text % {"project": _who(paid), "n": paid.suffered, "work": work_words(paid.lost)})
    return one_after_the_other(told)


def unevenness(found: Insights) -> str:
    """What did unequal processors cost?"""
    if not found.sees_projects:
        return _("These rows are for the managers of projects; none is yours to see.")
    held = sum(row.hours_held for row in found.unevenness)
    if not held:
        return _("No job on several measured processors has ended.")
    lost = sum(row.hours_lost for row in found.unevenness)
    text = _(
        "Jobs on several processors held %(held)s and waited %(lost)s of it for their slowest one (%(share)s %%)."
    )
    told = text % {
        "held": work_words(_resources(found.unevenness, lambda row: row.hours_held)),
        "lost": work_words(_resources(found.unevenness, lambda row: row.hours_lost)),
        "share": number(100 * lost / held),
    }
    held_before = sum(row.hours_held_before for row in found.unevenness)
    if held_before and found.comparable:
        share = number(100 * sum(row.hours_lost_before for row in found.unevenness) / held_before)
        before = _("Before: %s.") % f"{share} %"
        told = one_after_the_other([told, before])
    most = found.unevenness[0]
    if len(found.unevenness) == 1 or not most.hours_lost:
        return told
    text = _("%(project)s lost the most: %(lost)s.")
    worst = text % {
        "project": _who(most),
        "lost": work_words(_resources([most], lambda row: row.hours_lost)),
    }
    return one_after_the_other([told, worst])


def _resources(rows: Iterable[ProjectUnevenness], hours_of: Callable[[ProjectUnevenness], float]) -> Work:
    """Hours by resource, as seconds of work."""
    total: Work = {}
    for row in rows:
        add_work(total, {row.resource: SECONDS_PER_HOUR * hours_of(row)})
    return total
