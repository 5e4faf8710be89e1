"""The last day of each partition as three small plots for its card: what ran, what waited, what was stopped.

The record gets a line a minute; polls come every few seconds. So the days are kept in the process for a minute.
"""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.core import clock
from console.core.l10n_format import percent
from console.core.ttl_cache import recall_answer
from console.history.timeline import Timeline, read_days
from console.overview.plots import PLAIN, Plot, Scale, css_of, plot
from scheduler.model.resource_kinds import LABELS

_Days = Mapping[str, Timeline]


def day_plots(cluster: Cluster, names: Iterable[str]) -> dict[str, list[Plot]]:
    """By partition; none for one of which nothing is recorded. One query for all, at most once a minute."""
    return {name: _plots(day) for name, day in _days(cluster, names).items() if day.seen}


def _days(cluster: Cluster, names: Iterable[str]) -> _Days:
    asked = tuple(sorted(names))
    key = (cluster.pk, clock.now().replace(second=0, microsecond=0), asked)
    return recall_answer("days", key, lambda: read_days(cluster.pk, asked), most=4)


def _plots(day: Timeline) -> list[Plot]:
    """Their keys are those of the timeline's own plots, to which they lead."""
    facts = {"what": LABELS[day.resource], "share": percent(day.busy or 0.0)}
    return [
        plot(
            "busy",
            _("Running by level"),
            _("%(what)ss %(share)s busy") % facts,
            day.steps,
            lambda step: [(css_of(level), step.ran(level)) for level in day.running_levels],
            Scale(_count),
        ),
        plot(
            "queue",
            _("Waiting by level"),
            _("%(n)s at most") % {"n": _count(max(step.waiting for step in day.steps))},
            day.steps,
            lambda step: [(css_of(level), step.mean(level)) for level in day.levels],
            Scale(_count),
        ),
        plot(
            "stops",
            _("Runs stopped"),
            _("%(n)s in all") % {"n": day.stops},
            day.steps,
            lambda step: [(PLAIN, float(step.stops))],
            Scale(_count),
        ),
    ]


def _count(value: float) -> str:
    return f"{value:.3g}"
