"""Each answer in a sentence, and what there is to draw of it."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.core.l10n_format import duration, one_after_the_other, short_duration
from console.history.plots import BarPlot, bars
from console.insights.answers import (
    QUESTIONS,
    Coverage,
    ForecastNearness,
    Insights,
    LevelWaits,
)
from console.insights.nearness import LEAST_FORECASTS, RUN_TIMES
from console.insights.project_wording import number, project_words, projects, sum_of, unevenness
from console.insights.selectors import LEAST_DAYS, LEAST_STARTS, per_job_hours
from console.steering.work import hours, work_words
from scheduler.model.resource_kinds import COUNTED, LABELS

MOST_GROUPS = 12
"""Bars stand beside one another for so many; a table has the rest."""


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question on the page: its name in addresses, its title, the sentence that answers it, and a plot if any."""

    key: str
    title: str
    sentence: str
    plot: BarPlot | None


def sections(found: Insights) -> list[ShownQuestion]:
    """All questions, in the order of the page."""
    titles = {
        "waits": _("How long did jobs wait?"),
        "work": _("What work was lost, and what saved?"),
        "projects": _("Who gained, and who paid?"),
        "stops": _("How often are jobs stopped?"),
        "forecasts": _("How good are the forecasts?"),
        "unevenness": _("What did unequal processors cost?"),
    }
    return [ShownQuestion(key, titles[key], _SENTENCES[key](found), _plot(key, found)) for key in QUESTIONS]


def coverage_words(found: Insights) -> str:
    """How much was seen, which is said first, and whether the times can be compared."""
    if not found.seen.days:
        return _("Nothing is known of this time: nothing was seen in it, or it is not added up yet.")
    told = _("Seen: %s.") % _seen(found.seen)
    if found.comparable:
        before = _("The same time before: %s.") % _seen(found.seen_before)
        return one_after_the_other([told, before])
    if not found.seen_before.days:
        before = _("Of the same time before nothing was seen.")
        return one_after_the_other([told, before])
    before = _("The same time before: %s; that is too different to compare sums.") % _seen(found.seen_before)
    return one_after_the_other([told, before])


def _seen(coverage: Coverage) -> str:
    text = ngettext(
        "%(days)d of %(all)d day with data, %(hours)s h",
        "%(days)d of %(all)d days with data, %(hours)s h",
        coverage.of_days,
    )
    return text % {"days": coverage.days, "all": coverage.of_days, "hours": f"{coverage.hours:.0f}"}


def _waits(found: Insights) -> str:
    enough = [row for row in found.waits if row.median_s is not None]
    if not enough:
        jobs = sum(row.jobs for row in found.waits)
        return _too_few(jobs, LEAST_STARTS, _("starts in one level"))
    return one_after_the_other(map(wait_words, _told(enough)))


def _told(enough: list[LevelWaits]) -> Iterable[LevelWaits]:
    """The level that waits least and the one that waits most, in the middle."""
    named = [row for row in enough if row.rank is not None] or enough
    ordered = sorted(named, key=lambda row: row.median_s or 0)
    return ordered[:1] if len(ordered) == 1 else (ordered[0], ordered[-1])


def wait_words(row: LevelWaits) -> str:
    """How long half of a level's jobs waited at most, and nine in ten; in one sentence."""
    facts = {
        "level": level_words(row),
        "partition": row.partition,
        "median": duration(row.median_s or 0),
        "p90": duration(row.p90_s or 0),
    }
    if not row.p90_s and not row.median_before_s:
        return _("Nine in ten jobs of %(level)s on %(partition)s started at once.") % facts
    if not row.median_s and row.median_before_s is None:
        return (
            _("Half the jobs of %(level)s on %(partition)s started at once, nine in ten within %(p90)s.")
            % facts
        )
    if row.median_before_s is None:
        text = _(
            "Half the jobs of %(level)s on %(partition)s waited up to %(median)s, nine in ten up to %(p90)s."
        )
        return text % facts
    text = _(
        "Half the jobs of %(level)s on %(partition)s waited up to %(median)s (before: %(before)s), nine in ten up to"
        " %(p90)s."
    )
    return text % {**facts, "before": duration(row.median_before_s)}


def level_words(row: LevelWaits) -> str:
    """The level's name; the reader's word for none."""
    return _("unconfigured") if row.rank is None else row.level


def _work(found: Insights) -> str:
    stops = sum(row.stops for row in found.work)
    if not stops:
        told = _("Nobody was stopped.")
    else:
        text = ngettext(
            "%(n)d stop lost %(lost)s; checkpoints saved %(saved)s.",
            "%(n)d stops lost %(lost)s; checkpoints saved %(saved)s.",
            stops,
        )
        lost, saved = sum_of(row.lost for row in found.work), sum_of(row.saved for row in found.work)
        told = text % {"n": stops, "lost": work_words(lost), "saved": work_words(saved)}
    if not found.comparable:
        return told
    before = _("Before: %(lost)s lost, %(saved)s saved.") % {
        "lost": work_words(sum_of(row.lost_before for row in found.work)),
        "saved": work_words(sum_of(row.saved_before for row in found.work)),
    }
    return one_after_the_other([told, before])


def _stops(found: Insights) -> str:
    rate = per_job_hours(sum(row.stops for row in found.stops), sum(row.job_hours for row in found.stops))
    before = per_job_hours(
        sum(row.stops_before for row in found.stops), sum(row.job_hours_before for row in found.stops)
    )
    if rate is None or found.seen.days < LEAST_DAYS:
        return _too_few(found.seen.days, LEAST_DAYS, _("days with data"))
    if before is None or found.seen_before.days < LEAST_DAYS:
        told = _("%(rate)s stops per 1,000 hours that jobs ran.") % {"rate": number(rate)}
    else:
        text = _("%(rate)s stops per 1,000 hours that jobs ran (before: %(before)s).")
        told = text % {"rate": number(rate), "before": number(before)}
    return one_after_the_other([told, _bounds(found)])


def _bounds(found: Insights) -> str:
    """How near the partitions are to what their limits by the hour allow; the nearest is named."""
    bound = [row for row in found.stops if row.bound and row.rate is not None]
    if not bound:
        return ""
    nearest = max(bound, key=lambda row: (row.rate or 0) / (row.bound or 1))
    text = _("The limits of %(partition)s allow %(bound)s there; it had %(rate)s.")
    rate, most = number(nearest.rate or 0), number(nearest.bound or 0)
    return text % {"partition": nearest.partition, "bound": most, "rate": rate}


def _forecasts(found: Insights) -> str:
    return one_after_the_other(map(_forecast_of, found.forecasts))


def _forecast_of(row: ForecastNearness) -> str:
    what = _("Run times:") if row.of == RUN_TIMES else _("Starts:")
    if row.near is None or row.within is None:
        few = _too_few(row.jobs, LEAST_FORECASTS, _("jobs with a forecast"))
        return one_after_the_other([what, few])
    facts = {"n": row.jobs, "within": f"{100 * row.within:.0f}", "near": f"{row.near:.2f}"}
    if row.of == RUN_TIMES:
        text = _("%(n)d jobs, nearness %(near)s, %(within)s %% within the range.")
    else:
        facts["near"] = f"{100 * row.near:.0f}"
        text = _("%(n)d jobs, %(near)s %% within ten minutes, %(within)s %% within the range.")
    return one_after_the_other([what, text % facts, _forecast_before(row)])


def _forecast_before(row: ForecastNearness) -> str:
    if row.near_before is None:
        return ""
    near = f"{row.near_before:.2f}" if row.of == RUN_TIMES else f"{100 * row.near_before:.0f} %"
    return _("Before: %s.") % near


def _too_few(there: int, needed: int, what: str) -> str:
    text = _("Too little is known to answer: %(there)d %(what)s, and %(needed)d are needed.")
    return text % {"there": there, "needed": needed, "what": what}


_SENTENCES: dict[str, Callable[[Insights], str]] = {
    "waits": _waits,
    "work": _work,
    "projects": projects,
    "stops": _stops,
    "forecasts": _forecasts,
    "unevenness": unevenness,
}


def _plot(key: str, found: Insights) -> BarPlot | None:
    """A small one, where enough days were seen and the bars have room."""
    if found.seen.days < LEAST_DAYS:
        return None
    drawn = {"waits": _waits_plot, "projects": _projects_plot}.get(key)
    return drawn(found) if drawn else None


def _waits_plot(found: Insights) -> BarPlot | None:
    rows = [row for row in found.waits if row.median_s is not None]
    if not 0 < len(rows) <= MOST_GROUPS:
        return None
    several = len({row.partition for row in rows}) > 1
    groups = [
        (
            f"{row.partition} {level_words(row)}" if several else level_words(row),
            [row.median_s or 0, row.median_before_s or 0],
        )
        for row in rows
    ]
    if all(row.median_before_s is None for row in rows):
        groups = [(name, values[:1]) for name, values in groups]
    series = [_("now"), _("before")][: len(groups[0][1])]
    return bars(_("Median wait"), series, groups, words=short_duration)


def _projects_plot(found: Insights) -> BarPlot | None:
    counted: Counter[str] = Counter()
    for row in found.projects:
        counted.update({what: hours(row.room, what) + hours(row.lost, what) for what in COUNTED})
    main = next((what for what in COUNTED if counted[what]), None)
    if main is None:
        return None
    groups = [
        (project_words(row), [hours(row.room, main), hours(row.lost, main)])
        for row in found.projects[:MOST_GROUPS]
    ]
    title = _("%(what)s-hours by project") % {"what": LABELS[main]}
    return bars(title, [_("ran in room that was made"), _("lost by stops")], groups)
