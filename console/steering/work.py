"""Work that a stop destroys: what the victims held, times how long they had run."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from console.core import l10n_format
from scheduler.model.resource_kinds import COUNTED, LABELS

SECONDS_PER_HOUR = 3600

Work = dict[str, float]
"""Seconds of work by resource: `{"gpu": 5040.0, "cpu": 20160.0}`."""


def ran_s(victim: Mapping[str, Any], later_s: float = 0) -> int:
    """How long a plan's victim had run, so many seconds after the plan was made."""
    return int(int(victim.get("ran_s") or 0) + max(0.0, later_s))


def work_of(victim: Mapping[str, Any], later_s: float = 0) -> Work:
    """The work of one victim that would be lost if it had saved nothing."""
    held, seconds = victim.get("amounts") or {}, ran_s(victim, later_s)
    amounts = {name: _amount(held, name) for name in COUNTED}
    return {name: float(amount * seconds) for name, amount in amounts.items() if amount}


def work_lost(victims: Iterable[Mapping[str, Any]], later_s: float = 0) -> Work:
    """The work of all victims together."""
    total: Work = {}
    for victim in victims:
        add_work(total, work_of(victim, later_s))
    return total


def add_work(into: Work, more: Mapping[str, float]) -> None:
    """Add some work to a sum."""
    for name, seconds in more.items():
        into[name] = into.get(name, 0.0) + seconds


def hours(work: Mapping[str, float], name: str) -> float:
    """The work in hours of one resource."""
    return round(work.get(name, 0.0) / SECONDS_PER_HOUR, 4)


def work_words(work: Mapping[str, float]) -> str:
    """`1.4 GPU-hours and 5.6 CPU-hours`; `12 CPU-minutes`; `no work`."""
    parts = [_one(LABELS[name], work[name]) for name in COUNTED if work.get(name)]
    if not parts:
        return _("no work")
    if len(parts) == 1:
        return parts[0]
    return l10n_format.names(parts)


def work_short(work: Mapping[str, float]) -> str:
    """The same for a table's cell: `1.4 GPU-h · 5.6 CPU-h`, `12 CPU-min`; a dash for none."""
    parts = []
    for name in COUNTED:
        if work.get(name):
            hours_of = work[name] / SECONDS_PER_HOUR
            if hours_of < 1:
                facts = {"n": max(1, round(hours_of * 60)), "what": LABELS[name]}
                parts.append(_("%(n)s %(what)s-min") % facts)
            else:
                parts.append(_("%(n)s %(what)s-h") % {"n": _number(hours_of), "what": LABELS[name]})
    return " · ".join(parts) or "–"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _one(label: str, seconds: float) -> str:
    if seconds < SECONDS_PER_HOUR:
        minutes = max(1, round(seconds / 60))
        form = _("%(n)s %(what)s-minute") if minutes == 1 else _("%(n)s %(what)s-minutes")
        return form % {"n": minutes, "what": label}
    number = _number(seconds / SECONDS_PER_HOUR)
    form = _("%(n)s %(what)s-hour") if number == "1" else _("%(n)s %(what)s-hours")
    return form % {"n": number, "what": label}


def _amount(held: Mapping[str, int], name: str) -> int:
    """A plain amount; where only types are known, these together."""
    if name in held:
        return held[name]
    return sum(amount for kind, amount in held.items() if kind.partition(":")[0] == name)
