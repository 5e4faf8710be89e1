"""What a change would do, in sentences; the tables beside them have it job by job."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.core import l10n_format
from console.core.l10n_format import names
from console.core.translate import resay
from console.history.past import PastStudy
from console.history.plots import BarPlot, bars
from console.steering.work import Work, add_work, work_of, work_words
from scheduler.reconcile.compare import ComparedStop, Comparison, NamedLevel, Start


def lost_by(stops: Iterable[ComparedStop]) -> Work:
    """The work that stops would destroy, had nothing been saved."""
    lost: Work = {}
    for stop in stops:
        add_work(lost, work_of({"amounts": stop.amounts, "ran_s": stop.ran_s}))
    return lost


def sentences(found: Comparison) -> list[str]:
    """What changes in a partition, the gravest first."""
    if found.nothing:
        return [_("Nothing changes for the jobs that are there now.")]
    told = [*_stops(found), *_starts(found), *_moves(found)]
    if found.only_planned:
        told.append(_("The partition is in shadow: these are plans, and nothing is touched."))
    elif found.after.policy.enforcement == "approve" and found.stopped:
        told.append(_("Nobody is stopped before an administrator has approved the plan."))
    return told


def _stops(found: Comparison) -> Iterable[str]:
    if found.stopped:
        yield ngettext(
            "Stops %(n)d more job (of %(users)s), %(work)s lost where nothing was saved.",
            "Stops %(n)d more jobs (of %(users)s), %(work)s lost where nothing was saved.",
            len(found.stopped),
        ) % {
            "n": len(found.stopped),
            "users": _of(stop.victim.user for stop in found.stopped),
            "work": work_words(lost_by(found.stopped)),
        }
    if found.spared:
        yield ngettext(
            "Spares %(n)d job (of %(users)s) that is stopped without the change.",
            "Spares %(n)d jobs (of %(users)s) that are stopped without the change.",
            len(found.spared),
        ) % {"n": len(found.spared), "users": _of(stop.victim.user for stop in found.spared)}


def _starts(found: Comparison) -> Iterable[str]:
    if found.started:
        yield ngettext(
            "Starts %(n)d more waiting job (of %(users)s).",
            "Starts %(n)d more waiting jobs (of %(users)s).",
            len(found.started),
        ) % _counted(found.started)
    if found.kept_waiting:
        yield ngettext(
            "Keeps %(n)d job (of %(users)s) waiting that starts without the change.",
            "Keeps %(n)d jobs (of %(users)s) waiting that start without the change.",
            len(found.kept_waiting),
        ) % _counted(found.kept_waiting)


def _moves(found: Comparison) -> Iterable[str]:
    users = len({move.who for move in found.users})
    if users:
        yield ngettext("Moves %(n)d user to another level.", "Moves %(n)d users to another level.", users) % {
            "n": users
        }
    tasks = len({move.who for move in found.tasks})
    if tasks:
        yield ngettext(
            "Moves the jobs of %(n)d name to another task level.",
            "Moves the jobs of %(n)d names to another task level.",
            tasks,
        ) % {"n": tasks}


def _counted(starts: Sequence[Start]) -> dict[str, object]:
    return {"n": len(starts), "users": _of(start.job.user for start in starts)}


def _of(users: Iterable[str]) -> str:
    """`ann, bob and cy`, each once."""
    return names(dict.fromkeys(users))


def plots_of(past: PastStudy) -> list[BarPlot]:
    """What is shown above the tables; nothing where no partition is touched, or too little is recorded."""
    return [stops_plot(past), waiting_plot(past)] if past.partitions and past.enough else []


def coverage(past: PastStudy) -> str:
    """How much of the days that were asked for the answer rests on."""
    said = {
        "used": past.used,
        "looks": past.looks,
        "span": l10n_format.duration(past.recorded_s),
    }
    looked = _("%(used)d of %(looks)d recorded looks at the cluster, over %(span)s.") % said
    if not past.days_asked:
        return looked
    share = min(1.0, past.recorded_s / (past.days_asked * 86400))
    asked = ngettext(
        "That is %(share)s %% of the day asked for.",
        "That is %(share)s %% of the %(days)d days asked for.",
        past.days_asked,
    )
    told = asked % {"share": f"{100 * share:.2g}", "days": past.days_asked}
    return l10n_format.one_after_the_other([looked, told])


def really_stopped(past: PastStudy) -> str:
    """What Giveway did in that time. It is not set beside the other two: they only know the moments of the looks."""
    return ngettext(
        "In this time %(n)d job was really stopped. Looks see single moments: compare the two answers with each"
        " other, not with this number.",
        "In this time %(n)d jobs were really stopped. Looks see single moments: compare the two answers with each"
        " other, not with this number.",
        past.total.done.stops,
    ) % {"n": past.total.done.stops}


def stops_plot(past: PastStudy) -> BarPlot:
    """Runs stopped by day: as things are now, and with the change."""
    rows = [(f"{day:%m-%d}", (sums.present.stops, sums.changed.stops)) for day, sums in past.days]
    return bars(_("Jobs stopped by day"), _series(), rows, first=1)


def waiting_plot(past: PastStudy) -> BarPlot:
    """Waiting of all jobs together by level; in the tones of the same two series of the other plot."""
    present, changed = past.total.present.waited, past.total.changed.waited
    rows = [(_level_name(level), (present.get(level, 0.0), changed.get(level, 0.0))) for level in past.levels]
    return bars(_("Waited by level"), _series(), rows, first=1, words=l10n_format.short_duration)


def _series() -> tuple[str, str]:
    return _("As things are now"), _("With the change")


def _level_name(level: NamedLevel) -> str:
    return resay(level.name) if level.rank is None else level.name
