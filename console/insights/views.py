"""An answer as a file for spreadsheets: a line per row, work in a column per resource, in hours."""

import csv
import io
from collections.abc import Iterable
from dataclasses import fields
from datetime import date
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.audit.exporting import BOM, safe_cell
from console.cluster.selectors import shown_cluster
from console.core import clock
from console.core.lazy import lazy
from console.insights import answers, wording
from console.insights.answers import (
    CauseOfLoss,
    ForecastNearness,
    Insights,
    LevelWaits,
    ProjectBalance,
    ProjectUnevenness,
    StopRate,
)
from console.insights.selectors import insights as read_insights
from console.insights.selectors import insights_key
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from console.steering.selectors import hours
from scheduler.model.resource_kinds import COUNTED

ROWS: dict[str, type[Any]] = {
    "waits": LevelWaits,
    "work": CauseOfLoss,
    "projects": ProjectBalance,
    "stops": StopRate,
    "forecasts": ForecastNearness,
    "unevenness": ProjectUnevenness,
}
_WORK = ("lost", "saved", "lost_before", "saved_before", "room")
"""The fields that hold work."""


def as_csv(found: Insights, question: str) -> str:
    """The answer to one question; the columns are those of the API, in its order."""
    names = [each.name for each in fields(ROWS[question])]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([column for name in names for column in _columns(name)])
    for row in getattr(found, question):
        writer.writerow([safe_cell(cell) for name in names for cell in _cells(name, getattr(row, name))])
    return BOM + text.getvalue()


def _columns(name: str) -> Iterable[str]:
    return [f"{name}_{what}_hours" for what in COUNTED] if name in _WORK else [name]


def _cells(name: str, value: Any) -> Iterable[Any]:
    return [hours(value, what) for what in COUNTED] if name in _WORK else [value]


# --- A month on one page: a sentence for each question, the numbers below it, and all of them to take along.


MONTHS = 6
"""So many months are offered, this one with them."""


@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    """`?days=` or `?month=`, and `?partition=` for one alone. A time that there is not counts as the usual one."""
    require_read(request, Permission.PARTITION_VIEW)
    cluster = shown_cluster()
    rows = visible_partitions(person(request)).filter(cluster=cluster, revision__isnull=False)
    every = list(rows.order_by("name"))
    name = request.GET.get("partition", "")
    chosen = [each for each in every if each.name == name] if name else every
    if name and not chosen:
        raise Http404(_("There is no such page, or it is not yours to see."))
    try:
        period = answers.asked(request.GET)
    except answers.NoSuchPeriodError:
        period = answers.last_days(answers.USUAL)
    key = insights_key(person(request), cluster, chosen, period)
    found = lazy(read_insights, person(request), cluster, chosen, period)
    context = {
        # What the template makes of the answers is kept by this.
        "looks_like": f"{key} {name} {get_language()}",
        "found": found,
        "period": period,
        "coverage": lazy(lambda: wording.coverage_words(found())),
        "sections": lazy(lambda: wording.sections(found())),
        "spans": _spans(period, name),
        "picks": _picks(every, period, name),
        "query": _query(period, name),
        "simulated": [e.name for e in chosen if request.user.has_perm(Permission.POLICY_VIEW, e)],
    }
    return render(request, "insights/insights.html", context)


def _query(period: answers.Period, partition: str) -> str:
    return f"{period.query}&{urlencode({'partition': partition})}" if partition else period.query


def _spans(period: answers.Period, partition: str) -> list[tuple[str, str, bool]]:
    """Times to choose from: their words, their address, and whether it is shown."""
    offered = [*map(answers.last_days, answers.DAYS), *_months(clock.today())]
    if period not in offered:
        offered.append(period)
    return [(each.words, f"?{_query(each, partition)}", each == period) for each in offered]


def _months(today: date) -> list[answers.Period]:
    found = [answers.month_of(today)]
    while len(found) < MONTHS:
        found.append(found[-1].before)
    return found


def _picks(every: list[Partition], period: answers.Period, name: str) -> list[tuple[str, str, bool]]:
    whole = (_("all partitions"), f"?{period.query}", not name)
    return [whole, *((each.name, f"?{_query(period, each.name)}", each.name == name) for each in every)]
