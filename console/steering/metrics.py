"""What the metrics count as it happens: one row per cluster, written once at the end of each cycle.

Everything else that `/metrics` shows is read from the tables at the time of asking. Counted here is what they do not
tell cheaply, or not for ever: how long the phases took, how long beneficiaries waited, what work the stops destroyed
and what checkpoints kept. `CycleMeter.phases` has the phases by name, and beside them `START`, `WORK` and `COUNTED`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.conf import settings

from console.cluster.models import Cluster, Job
from console.core import clock
from console.steering.models import (
    STOP_KINDS,
    ActionState,
    Checkpoint,
    CycleMeter,
    CyclePace,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
    SteeringMinute,
)
from console.steering.selectors import Work, work_of
from scheduler.model import resource_kinds

SUBMIT_TO_START = "submit to start"
"""Per partition: a histogram of seconds from a beneficiary's submission to its start, by the cluster's own clock."""
WORK = "work"
"""Per partition: `lost` and `saved`, each resource in its unit times seconds."""
COUNTED = "counted"
"""Which plans and stops are in already, of plans that are still open: a cycle that died is counted by the next."""

PHASES = ("observe", "verify", "decide", "record", "act")
PHASE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
START_BUCKETS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)

Histogram = dict[str, Any]


class CountedReport(Protocol):
    """The part of a cycle's report that is counted."""

    fault: str
    phases: dict[str, float]
    open_before: list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class MeteredStop:
    """A stop that was seen to have worked, with what its victim held."""

    partition: str
    amounts: Mapping[str, int]
    ran_s: float
    kept_s: float
    """Seconds of it that an acknowledged checkpoint kept."""

    def work_in(self, seconds: float) -> Work:
        """What it did in so many seconds."""
        return work_of({"amounts": self.amounts, "ran_s": seconds}) if seconds > 0 else {}


def count(cluster: Cluster, report: CountedReport) -> CycleMeter:
    """Add a cycle to its cluster's meter. The caller holds the cluster's lease, so nobody else writes the row."""
    meter, _ = CycleMeter.objects.get_or_create(cluster=cluster)
    for phase, seconds in report.phases.items():
        meter.phases[phase] = observe(meter.phases.get(phase), seconds, PHASE_BUCKETS)
    if report.fault:
        meter.degraded += 1
    else:
        # Nothing of a proposal has begun.
        _count_plans(meter, [pk for pk, state in report.open_before if state != PlanState.PROPOSED])
    meter.save(update_fields=["phases", "degraded"])
    return meter


def observe(histogram: Histogram | None, value: float, buckets: Sequence[float]) -> Histogram:
    """The histogram with one more value. Buckets are cumulative, as Prometheus wants them."""
    before = histogram or {}
    known = before.get("buckets", {})
    return {
        "count": before.get("count", 0) + 1,
        "seconds": round(before.get("seconds", 0.0) + value, 6),
        "buckets": {f"{edge:g}": known.get(f"{edge:g}", 0) + (value <= edge) for edge in buckets},
    }


def _count_plans(meter: CycleMeter, plan_ids: Sequence[int]) -> None:
    """Starts and stops of the plans that were open when the cycle began, each once."""
    if not plan_ids:
        meter.phases.pop(COUNTED, None)
        return
    counted = meter.phases.get(COUNTED, {})
    started = _started(plan_ids)
    for plan in started:
        if plan.pk not in counted.get("starts", []):
            _count_start(meter.phases.setdefault(SUBMIT_TO_START, {}), plan)
    stops = _stopped(plan_ids)
    fresh = [stop for stop in stops if stop.pk not in counted.get("stops", [])]
    for stop in stops_of(fresh):
        _count_work(meter.phases.setdefault(WORK, {}), stop)
    meter.phases[COUNTED] = {"starts": [p.pk for p in started], "stops": [s.pk for s in stops]}


def _started(plan_ids: Sequence[int]) -> list[Plan]:
    rows = Plan.objects.filter(pk__in=plan_ids, kind=PlanKind.PREEMPT, started_at__isnull=False)
    return list(rows.defer("victims", "placement", "passed_over", "alternatives"))


def _count_start(starts: dict[str, Histogram], plan: Plan) -> None:
    job = (
        Job.objects.filter(cluster=plan.cluster_id, job_id=plan.job_id, partition=plan.partition)
        .values_list("submit", "start")
        .first()
    )
    if job is not None and job[1]:
        waited = max(0, job[1] - job[0])
        starts[plan.partition] = observe(starts.get(plan.partition), waited, START_BUCKETS)


def _stopped(plan_ids: Sequence[int]) -> list[PlannedAction]:
    rows = PlannedAction.objects.filter(
        plan__in=plan_ids, kind__in=STOP_KINDS, state=ActionState.VERIFIED, issued_at__isnull=False
    )
    return list(rows.select_related("plan"))


def stops_of(actions: Iterable[PlannedAction]) -> list[MeteredStop]:
    """What stops that were seen to have worked ended, and what checkpoints kept of it."""
    return [stop for _action, stop in metered(actions)]


def metered(actions: Iterable[PlannedAction]) -> list[tuple[PlannedAction, MeteredStop]]:
    """The same, each with the action that it is of. One query."""
    actions = list(actions)
    if not actions:
        return []
    kept = {
        (row.job_id, row.run_start, row.run_restarts): row.acknowledged_at
        for row in Checkpoint.objects.filter(
            plan__in={action.plan_id for action in actions}, acknowledged_at__isnull=False
        )
    }
    found = ((action, _stop(action, kept.get(_run(action)))) for action in actions)
    return [(action, stop) for action, stop in found if stop is not None]


def _run(action: PlannedAction) -> tuple[str, int, int]:
    return action.job_id, action.run_start, action.run_restarts


def _stop(action: PlannedAction, acknowledged: datetime | None) -> MeteredStop | None:
    """Only differences of one clock are taken: the cluster's up to the plan, ours from then on."""
    plan = action.plan
    victim = next((v for v in plan.victims if (v["job"], v["start"], v["restarts"]) == _run(action)), None)
    if victim is None or action.issued_at is None:
        return None
    since_plan = max(0.0, (action.issued_at - plan.created_at).total_seconds())
    ran = victim["ran_s"] + since_plan
    kept = 0.0
    if acknowledged is not None:
        kept = victim["ran_s"] + min(since_plan, max(0.0, (acknowledged - plan.created_at).total_seconds()))
    return MeteredStop(plan.partition, victim.get("amounts", {}), ran, kept)


def _count_work(work: dict[str, dict[str, dict[str, float]]], stop: MeteredStop) -> None:
    sums = work.setdefault(stop.partition, {"lost": {}, "saved": {}})
    for resource in resource_kinds.COUNTED:
        amount = stop.amounts.get(resource, 0)
        if amount:
            for name, seconds in (("lost", stop.ran_s - stop.kept_s), ("saved", stop.kept_s)):
                sums[name][resource] = round(sums[name].get(resource, 0.0) + amount * seconds, 3)


# How the cycles of the last hour came, and what slurmctld was asked: for pages, metrics, the doctor.

START = "start"
"""Stands among what ran instead of a cycle, where the worker was started anew."""


def allowed_budget(per_minute: float) -> int:
    """Requests a minute: what is set, and no more than slurmctld allows."""
    most = int(settings.GIVEWAY_SLURM_REQUESTS_PER_MINUTE)
    return max(1, min(most, int(per_minute)) if per_minute else most)


@dataclass(frozen=True, slots=True)
class Cadence:
    """The last hour's cycles and requests. Seconds; `p50_s` and `p99_s` are the edges that so many gaps stayed below.

    `late_s`: how much the latest cycle was beyond three times of what was wanted; `instead`: what ran meanwhile.
    `requests`: of the last whole minute, by kind; `share`: of slurmctld's time over the last ten minutes.
    """

    cycles: int = 0
    p50_s: float = 0.0
    p99_s: float = 0.0
    longest_s: float = 0.0
    late_s: float = 0.0
    instead: tuple[tuple[str, float], ...] = ()
    requests: Mapping[str, int] = field(default_factory=dict)
    share: float = 0.0
    limited: int = 0
    stretched: int = 0
    budget: int = 0
    pace: CyclePace | None = None

    @property
    def restarted(self) -> bool:
        """Whether the latest cycle was late because the worker was started anew."""
        return any(name == START for name, _ in self.instead)

    @property
    def share_percent(self) -> float:
        """The same for people."""
        return 100.0 * self.share

    @property
    def rings(self) -> bool:
        """Whether submissions ring: the last one that was seen did."""
        return self.pace is not None and self.pace.rings

    @property
    def asked(self) -> int:
        """Requests in the last whole minute."""
        return sum(self.requests.values())


def read_cadence(cluster: Cluster) -> Cadence:
    """How the cycles of a cluster came within the last hour."""
    return read_cadences([cluster])[cluster.pk]


def read_cadences(clusters: Iterable[Cluster]) -> dict[int, Cadence]:
    """The same of several, by their keys. Two queries."""
    now = int(clock.now().timestamp() // 60)
    rows: dict[int, list[SteeringMinute]] = {cluster.pk: [] for cluster in clusters}
    for row in SteeringMinute.objects.filter(cluster__in=rows, minute__gt=now - 60, minute__lte=now):
        rows[row.cluster_id].append(row)
    paces = {pace.cluster_id: pace for pace in CyclePace.objects.filter(cluster__in=rows)}
    return {pk: _cadence(found, paces.get(pk), now) for pk, found in rows.items()}


def _cadence(rows: Sequence[SteeringMinute], pace: CyclePace | None, now: int) -> Cadence:
    gaps: Counter[float] = Counter()
    for row in rows:
        gaps.update({float(edge): number for edge, number in row.gaps.items()})
    requests: Counter[str] = Counter()
    for row in rows:
        if row.minute == now - 1:
            requests.update(row.requests)
    latest = max(rows, key=lambda row: row.late_s, default=None)
    recent = [row for row in rows if now - 10 <= row.minute < now]
    return Cadence(
        cycles=sum(gaps.values()),
        p50_s=_quantile(gaps, 0.5),
        p99_s=_quantile(gaps, 0.99),
        longest_s=max((row.longest_s for row in rows), default=0.0),
        late_s=latest.late_s if latest else 0.0,
        instead=tuple((str(name), float(s)) for name, s in latest.instead) if latest else (),
        requests=dict(requests),
        share=sum(row.answer_s for row in recent) / 600.0,
        limited=sum(row.limited for row in recent),
        stretched=sum(row.stretched for row in recent),
        budget=pace.budget if pace and pace.budget else allowed_budget(0.0),
        pace=pace,
    )


def _quantile(gaps: Mapping[float, int], part: float) -> float:
    left = part * sum(gaps.values())
    for edge in sorted(gaps):
        left -= gaps[edge]
        if left <= 0:
            return edge
    return 0.0


def forget_old_minutes(older_than: timedelta) -> None:
    """Delete what is told of minutes so long ago."""
    SteeringMinute.objects.filter(minute__lt=int((clock.now() - older_than).timestamp() // 60)).delete()
