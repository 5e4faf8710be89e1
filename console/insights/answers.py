"""The time that is asked about, in whole days, and as long a time before it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import zip_longest
from math import ceil, log
from typing import Any

from django.db.models import Avg, Case, Count, F, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Greatest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from console.cluster.models import Cluster
from console.core import clock
from console.core.l10n_format import in_a_row
from console.core.ttl_cache import recall_answer
from console.forecasts.models import JobForecast
from console.starts.models import ExpectedStart
from console.starts.quality import NEAR_S, SEEN_S
from console.steering.selectors import Work

DAYS = (7, 30, 90)
USUAL = 30
_MONTH = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])")
ONE = timedelta(days=1)


class NoSuchPeriodError(ValueError):
    """Neither a month nor a number of days that can be asked about; `name` is the parameter, `fault` what of it."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(fault)
        self.name, self.fault = name, fault


@dataclass(frozen=True, slots=True)
class Period:
    """From `first` to `last`, both with it. `days`, when the last so many are meant, else a month is."""

    first: date
    last: date
    days: int | None = None

    @property
    def length(self) -> int:
        """In days."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "Period":
        """The month before, or as many days."""
        last = self.first - ONE
        if self.days is None:
            return Period(last.replace(day=1), last)
        return Period(last - ONE * (self.days - 1), last)

    @property
    def words(self) -> str:
        """For people: `the last 30 days`, `October 2026`."""
        if self.days is None:
            return date_format(self.first, pgettext("form of a month", "F Y"))
        return _("the last %(n)d days") % {"n": self.days}

    @property
    def query(self) -> str:
        """As addresses have it."""
        return f"days={self.days}" if self.days else f"month={self.first:%Y-%m}"


def last_days(days: int) -> Period:
    """So many days, today with them."""
    today = clock.today()
    return Period(today - ONE * (days - 1), today, days)


def month_of(day: date) -> Period:
    first = day.replace(day=1)
    return Period(first, (first + 31 * ONE).replace(day=1) - ONE)


def asked(parameters: Mapping[str, str]) -> Period:
    """`month=2026-10`, or `days=` of 7, 30 and 90; the last 30 days when nothing is told."""
    month, days = parameters.get("month", ""), parameters.get("days", "")
    if month and days:
        raise NoSuchPeriodError("month", _("Give a month or days, not both."))
    if month:
        found = _MONTH.fullmatch(month)
        if found is None:
            raise NoSuchPeriodError("month", _("Must be a month: 2026-10."))
        return month_of(date(int(found[1]), int(found[2]), 1))
    if days and days not in map(str, DAYS):
        said = _("Must be one of %(words)s.") % {"words": in_a_row(map(str, DAYS))}
        raise NoSuchPeriodError("days", said)
    return last_days(int(days or USUAL))


# --- Waits as histograms: few numbers a day, of which a median is right to within a tenth.


RATIO = 1.2
"""How much longer the end of a step is than its beginning, from one second on."""

Histogram = Sequence[int]
"""Jobs by step, from the first: a list, for half a year of them is read at once."""


def step_of(seconds: float) -> int:
    """The number of the step that a wait falls in; 0 is less than a second."""
    return 0 if seconds < 1 else 1 + int(log(seconds) / log(RATIO) + 1e-9)


def counted(histogram: list[int], seconds: float, jobs: int = 1) -> None:
    step = step_of(seconds)
    histogram.extend([0] * (step + 1 - len(histogram)))
    histogram[step] += jobs


def _begin(step: int) -> float:
    return RATIO ** (step - 1) if step else 0.0


def quantile(histogram: Histogram, share: float) -> float | None:
    """The wait that this share of the jobs did not exceed; within a step, waits are taken as evenly spread."""
    jobs = sum(histogram)
    if not jobs:
        return None
    left = max(1, ceil(share * jobs))
    for step, inside in enumerate(histogram):
        if left <= inside:
            begin, end = _begin(step), RATIO**step if step else 0.0
            return begin + (end - begin) * (left - 0.5) / inside
        left -= inside
    raise AssertionError("a histogram has as many jobs as its steps")


def merged(into: dict[str, list[int]], more: Mapping[str, Histogram]) -> None:
    for level, histogram in more.items():
        pairs = zip_longest(into.get(level, ()), histogram, fillvalue=0)
        into[level] = list(map(sum, pairs))


# --- What Insights answers: rows of numbers for each question, the same for the page, the API and the files.


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a time was seen: `days` of it with data, `hours` in which a partition at least was looked at."""

    days: int = 0
    of_days: int = 0
    hours: float = 0.0


@dataclass(frozen=True, slots=True)
class LevelWaits:
    """How long jobs of a level had waited when they started. Times are None for fewer than `LEAST_STARTS` jobs."""

    partition: str
    rank: int | None
    level: str
    jobs: int
    median_s: float | None
    p90_s: float | None
    jobs_before: int
    median_before_s: float | None
    p90_before_s: float | None


@dataclass(frozen=True, slots=True)
class CauseOfLoss:
    """Stops of one cause, the work lost with them and what checkpoints saved."""

    cause: str
    stops: int = 0
    lost: Work = field(default_factory=dict)
    saved: Work = field(default_factory=dict)
    stops_before: int = 0
    lost_before: Work = field(default_factory=dict)
    saved_before: Work = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectBalance:
    """`jobs` that had got room have ended and ran `room`; `made`: stops of others for the project; `suffered`: of its
    own jobs, by which `lost` is lost and `saved` was saved. `project` is empty where none is known."""

    project: str
    jobs: int = 0
    room: Work = field(default_factory=dict)
    made: int = 0
    suffered: int = 0
    lost: Work = field(default_factory=dict)
    saved: Work = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectUnevenness:
    """What runs of a project on several measured processors held, in hours of the resource, and what of it they waited
    for the slowest one. `project` is empty where none is known."""

    project: str
    resource: str
    runs: int
    hours_held: float
    hours_lost: float
    runs_before: int
    hours_held_before: float
    hours_lost_before: float


@dataclass(frozen=True, slots=True)
class StopRate:
    """Stops per 1,000 job-hours. `bound`: what the limit by the hour of the policy in force allows; None: there is
    none, or it is not this account's to see."""

    partition: str
    stops: int
    job_hours: float
    rate: float | None
    bound: float | None
    stops_before: int
    job_hours_before: float
    rate_before: float | None


@dataclass(frozen=True, slots=True)
class ForecastNearness:
    """`of`: `run_times`, where `near` is the mean of min(p, t) / max(p, t), or `starts`, where it is the share within
    ten minutes. `within`: the share in the range, 0.9 is meant. None for fewer than `LEAST_FORECASTS` jobs."""

    of: str
    jobs: int
    near: float | None
    within: float | None
    jobs_before: int
    near_before: float | None
    within_before: float | None


@dataclass(frozen=True, slots=True)
class Insights:
    """All answers about a time. `comparable`: of both times enough was seen, and about as much."""

    period: Period
    seen: Coverage
    seen_before: Coverage
    comparable: bool
    waits: list[LevelWaits]
    work: list[CauseOfLoss]
    projects: list[ProjectBalance]
    stops: list[StopRate]
    forecasts: list[ForecastNearness]
    unevenness: list[ProjectUnevenness]
    sees_projects: bool = True


QUESTIONS = ("waits", "work", "projects", "stops", "forecasts", "unevenness")
"""The names of the answers, in the order of the page."""


# --- How near forecasts were, added up in the database as `console.forecasts.quality` and `console.starts.quality` do.


LEAST_FORECASTS = 30
RUN_TIMES, STARTS = "run_times", "starts"


def nearness(cluster: Cluster, names: Sequence[str], period: Period) -> list[ForecastNearness]:
    """Of run times and of starts, in the time and the one before. Two queries, and two more once a minute."""
    ended = JobForecast.objects.filter(cluster=cluster, ended_at__isnull=False).order_by("-ended_at")
    gone = ExpectedStart.objects.filter(cluster=cluster, gone_at__isnull=False).order_by("-gone_at")
    latest = ended.values_list("pk", "ended_at").first(), gone.values_list("pk", "gone_at").first()
    key = (cluster.pk, tuple(names), period, latest)
    return recall_answer("nearness", key, lambda: _nearness(cluster, names, period))


def _nearness(cluster: Cluster, names: Sequence[str], period: Period) -> list[ForecastNearness]:
    ran = Greatest(Cast("ran_s", FloatField()), Value(1.0))
    said = Greatest(F("p50"), Value(1.0), output_field=FloatField())
    near = Case(When(p50__lt=F("ran_s"), then=said / ran), default=ran / said, output_field=FloatField())
    run_times = JobForecast.objects.filter(cluster=cluster, partition__in=names, ran_s__isnull=False)
    within = Q(low__lte=F("ran_s"), high__gte=F("ran_s"))
    starts = ExpectedStart.objects.filter(cluster=cluster, partition__in=names, started__isnull=False)
    in_time = Q(first_p50__gte=F("started") - NEAR_S, first_p50__lte=F("started") + NEAR_S)
    held = Q(first_low__lte=F("started") + SEEN_S) & (
        Q(first_high=None) | Q(first_high__gte=F("started") - SEEN_S)
    )
    return [
        _row(RUN_TIMES, run_times, "ended_at", period, near, within),
        _row(STARTS, starts, "gone_at", period, _share(in_time), held),
    ]


def _row(of: str, rows: QuerySet[Any], moment: str, period: Period, near: Any, within: Q) -> ForecastNearness:
    begin, middle, end = map(_midnight, (period.before.first, period.first, period.last + ONE))
    rows = rows.filter(**{f"{moment}__gte": begin, f"{moment}__lt": end})
    now, before = Q(**{f"{moment}__gte": middle}), Q(**{f"{moment}__lt": middle})
    found = rows.aggregate(
        jobs=Count("pk", filter=now),
        near=Avg(near, filter=now),
        within=Avg(_share(within), filter=now),
        jobs_before=Count("pk", filter=before),
        near_before=Avg(near, filter=before),
        within_before=Avg(_share(within), filter=before),
    )
    for suffix in ("", "_before"):
        if found[f"jobs{suffix}"] < LEAST_FORECASTS:
            found[f"near{suffix}"] = found[f"within{suffix}"] = None
    return ForecastNearness(of=of, **found)


def _share(condition: Q) -> Case:
    return Case(When(condition, then=Value(1.0)), default=Value(0.0), output_field=FloatField())


def _midnight(day: Any) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.get_default_timezone())
