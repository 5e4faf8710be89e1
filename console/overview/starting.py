"""When a job is expected to start, in words that do not pretend to know it to the second."""

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.core import clock
from console.core.l10n_format import duration
from console.starts.models import ExpectedStart

SOON_S = 60
STEPS = ((3600, 60), (6 * 3600, 300), (86_400, 1800), (7 * 86_400, 3600))
"""Below so many seconds, round to so many; beyond, to a day's tenth."""
LAST_STEP = 8640
LEAST_SHOWN = 0.01


def calm(seconds: float) -> int:
    """Seconds as rough as they are far: minutes within the hour, half hours within the day."""
    step = next((step for below, step in STEPS if seconds < below), LAST_STEP)
    return max(step, round(seconds / step) * step)


def starts_words(said: ExpectedStart) -> str:
    """The middle: `in about 40 min`, `soon`, `not in sight`."""
    within = said.within
    if within is None:
        return _("not in sight")
    middle = within[0]
    return _("soon") if middle < SOON_S else _("in about %(time)s") % {"time": duration(calm(middle))}


def sooner_words(change: Mapping[str, int]) -> str:
    """When it would start if it asked for less: `With 2 nodes: in about 20 min.`"""
    left = change["p50"] - int(clock.now().timestamp())
    when = _("soon") if left < SOON_S else _("in about %(time)s") % {"time": duration(calm(left))}
    if "nodes" in change:
        nodes = change["nodes"]
        said = ngettext("With %(n)s node: %(when)s.", "With %(n)s nodes: %(when)s.", nodes)
        return said % {"n": nodes, "when": when}
    limit = duration(change["limit_s"])
    return _("With a time limit of %(limit)s: %(when)s.") % {"limit": limit, "when": when}


def between_words(said: ExpectedStart) -> str:
    """The interval that nine in ten are meant to be in; why there is none."""
    within = said.within
    if within is None:
        return _(
            "Too few of the nodes that it may use take jobs, or they are taken for as long as can be seen."
        )
    _middle, low, high = within
    if high is None:
        return _("90 %% sure: not before %(low)s from now") % {"low": duration(calm(low))}
    if high < SOON_S:
        return _("90 % sure: within a minute")
    if low < SOON_S:
        return _("90 %% sure: within %(high)s") % {"high": duration(calm(high))}
    return _("90 %% sure: in %(low)s to %(high)s") % {
        "low": duration(calm(low)),
        "high": duration(calm(high)),
    }


def chance_words(chance: float) -> str:
    """A chance in hundredths: `12`, `< 1`."""
    return "< 1" if chance < LEAST_SHOWN else f"{100 * chance:.0f}"
