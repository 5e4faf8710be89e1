"""The workers of an elastic job over time, and for whom it is without some of them now."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from console.cluster.elastic import SaidOfJob
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.core.l10n_format import in_a_row
from console.overview.plots import svg_number
from console.steering.models import ActionState, Fate, Plan, PlanKind, PlannedAction, Victim
from scheduler.model.actions import RESIZING, ActionKind
from scheduler.model.sentence import Sentence, say

# --- The nodes of an elastic job over time, and for whom it is without some of them now ---


Change = tuple[int, int]
"""From which second on how many nodes more, or fewer."""


@dataclass(frozen=True, slots=True)
class TakenNodes:
    """Nodes of a job that a plan took. `at`: when that was; `back_at`: when it ran on more of them again."""

    nodes: str
    plan: Plan
    at: datetime
    back_at: datetime | None


def nodes_missing(cluster: Cluster, said: Iterable[SaidOfJob]) -> dict[str, Sentence]:
    """By job, how many of its nodes a running job of several nodes has, and when the others come back, in words; two
    queries for all of them."""
    jobs = {each.job.job_id: each for each in said if _may_grow(each)}
    if not jobs:
        return {}
    last = {action.job_id: action for action in _shrinks(cluster, jobs)}
    present = set(
        Job.objects.filter(cluster=cluster, job_id__in=[action.plan.job_id for action in last.values()])
        .exclude(phase=JobPhase.ENDED)
        .values_list("job_id", flat=True)
    )
    told = {}
    for job_id, action in last.items():
        has, wish = len(jobs[job_id].job.alloc), _wish(jobs[job_id], _before(action))
        if has < wish:
            waits = action.plan.job_id in present
            code = "elastic.nodes_taken" if waits else "elastic.nodes_back"
            told[job_id] = say(code, n=has, m=wish, **({"job": action.plan.job_id} if waits else {}))
    return told


def changes_of(cluster: Cluster, job: Job, since: int, now: int) -> list[Change]:
    """Of a job of several nodes: when it began and ended to have how many."""
    runs = JobRun.objects.filter(cluster=cluster, job_id=job.job_id).exclude(ended__lt=since)
    given = {(a.run_start, a.run_restarts): a for a in _shrinks(cluster, {job.job_id: None}) if _in_place(a)}
    changes: list[Change] = []
    for run in runs.order_by("-start")[:200]:
        has = len(run.nodes)
        changes.append((max(run.start, since), has))
        action = given.get((run.start, run.restarts))
        if action is not None and action.verified_at is not None:
            left = len(action.value.split(","))
            changes.append((max(int(action.verified_at.timestamp()), since), left - has))
            has = left
        if run.ended is not None and run.ended <= now:
            changes.append((run.ended, -has))
    return changes


def taken_nodes(cluster: Cluster, job: Job) -> list[TakenNodes]:
    """Who took nodes of a job, the latest first."""
    grown = Plan.objects.filter(
        cluster=cluster, kind=PlanKind.GROW, job_id=job.job_id, started_at__isnull=False
    )
    backs = sorted(at for at in grown.values_list("started_at", flat=True) if at)
    return [
        TakenNodes(
            in_a_row(_victim(action)["nodes"]),
            action.plan,
            action.verified_at,
            next((back for back in backs if back > action.verified_at), None),
        )
        for action in reversed(_shrinks(cluster, {job.job_id: None}))
        if action.verified_at
    ]


def _may_grow(said: SaidOfJob) -> bool:
    return bool(said.words.elastic) and not said.job.group and said.job.phase == JobPhase.RUNNING


def _shrinks(cluster: Cluster, jobs: Mapping[str, object]) -> list[PlannedAction]:
    """What took nodes of jobs, the latest last."""
    rows = PlannedAction.objects.filter(
        cluster=cluster,
        job_id__in=list(jobs),
        kind__in=RESIZING,
        state=ActionState.VERIFIED,
        plan__kind=PlanKind.PREEMPT,
        plan__undo_reason="",
    )
    return [action for action in rows.select_related("plan").order_by("id") if _victim(action)]


def _victim(action: PlannedAction) -> dict[str, list[str]]:
    """What the plan says of the job's nodes; empty where it gives up none."""
    mine = (each for each in action.plan.victims if each["job"] == action.job_id and each.get("keeps"))
    return next(mine, {})


def _before(action: PlannedAction) -> int:
    return len(_victim(action)["keeps"]) + len(_victim(action)["nodes"])


def _wish(said: SaidOfJob, before: int) -> int:
    elastic = said.words.elastic
    return elastic.wish if elastic is not None and elastic.wish else before


def _in_place(action: PlannedAction) -> bool:
    return action.kind == ActionKind.SHRINK


WIDTH, HEIGHT = 960, 150
LEFT, TOP, BOTTOM = 30, 8, 20
SHOWN_FOR = timedelta(days=2)
MOST_RUNS = 2000
MOST_TAKEN = 20
AWAY = (Fate.OPEN, Fate.WAITING)


@dataclass(frozen=True, slots=True)
class TakenWorker:
    """A worker that a plan took. `at`: when that began. `back_at`: when it was seen running again."""

    job_id: str
    plan: Plan
    at: datetime
    back_at: datetime | None


@dataclass(frozen=True, slots=True)
class LevelLine:
    """A number of workers as a line of the plot: the minimum or the wish."""

    y: str
    number: int


@dataclass(frozen=True, slots=True)
class WorkersPlot:
    """A step line of how many workers ran, as SVG takes it."""

    path: str
    least: LevelLine
    wish: LevelLine | None
    first: str
    last: str
    most: int
    now: int
    taken: Sequence[TakenWorker | TakenNodes]
    in_nodes: bool = False

    size = f"0 0 {WIDTH} {HEIGHT}"
    left, right, foot = LEFT, WIDTH, HEIGHT - 5


def workers_plot(said: SaidOfJob, cluster: Cluster) -> WorkersPlot | None:
    """The last two days of an elastic job, in workers that are jobs or in nodes; None for any other job."""
    elastic = said.words.elastic
    if elastic is None or (said.job.group and said.note):
        return None
    now = int(clock.now().timestamp())
    since = now - int(SHOWN_FOR.total_seconds())
    taken: Sequence[TakenWorker | TakenNodes]
    changes: Iterable[Change]
    if said.job.group:
        ids = list(_workers(cluster, said.job).values_list("job_id", flat=True))
        taken, changes = _taken(cluster, said.job, ids), _changes(cluster, ids, since, now)
    else:
        taken, changes = taken_nodes(cluster, said.job), changes_of(cluster, said.job, since, now)
    steps = _steps(changes)
    if not steps or (said.note and not taken):
        return None
    most = max(elastic.wish or 0, elastic.least, *(count for _, count in steps))
    first = steps[0][0]
    return WorkersPlot(
        path=_path(steps, now, most),
        least=LevelLine(_y(elastic.least, most), elastic.least),
        wish=LevelLine(_y(elastic.wish, most), elastic.wish) if elastic.wish else None,
        first=_moment(first),
        last=_moment(now),
        most=most,
        now=steps[-1][1],
        taken=taken,
        in_nodes=not said.job.group,
    )


def missing_for(cluster: Cluster, said: Iterable[SaidOfJob]) -> dict[str, Sentence]:
    """By group, or by job of several nodes, for whom an elastic job is without some of its workers, in words; two
    queries for all of either kind."""
    said = list(said)
    alone = nodes_missing(cluster, said)
    groups = {each.job.group for each in said if each.words.elastic and each.job.group}
    if not groups:
        return alone
    ids = Job.objects.filter(cluster=cluster, group__in=groups).exclude(phase=JobPhase.ENDED)
    away = Victim.objects.filter(
        cluster=cluster, job_id__in=ids.values("job_id"), fate__in=AWAY, settled_at=None
    ).select_related("plan")
    by_group: dict[str, str] = {}
    for victim in away.order_by("id"):
        if group := worker_of(victim):
            by_group[group] = victim.plan.job_id
    present = set(
        Job.objects.filter(cluster=cluster, job_id__in=by_group.values())
        .exclude(phase=JobPhase.ENDED)
        .values_list("job_id", flat=True)
    )
    return alone | {group: say("elastic.taken", job=job) for group, job in by_group.items() if job in present}


def worker_of(victim: Victim) -> str:
    """The group of the elastic job that lost this worker; empty for a job that was stopped."""
    return next(
        (each.get("worker_of", "") for each in victim.plan.victims if each["job"] == victim.job_id), ""
    )


def _workers(cluster: Cluster, job: Job) -> QuerySet[Job]:
    return Job.objects.filter(cluster=cluster, group=job.group, partition=job.partition)


def _taken(cluster: Cluster, job: Job, ids: Sequence[str]) -> list[TakenWorker]:
    """Who took workers, the latest first."""
    rows = Victim.objects.filter(cluster=cluster, job_id__in=ids).select_related("plan").order_by("-id")
    return [
        TakenWorker(row.job_id, row.plan, row.sent_at, row.back_at)
        for row in rows[:MOST_TAKEN]
        if worker_of(row) == job.group
    ]


def _changes(cluster: Cluster, ids: Sequence[str], since: int, now: int) -> Iterator[Change]:
    """When workers that are jobs began and ended to run."""
    runs = JobRun.objects.filter(cluster=cluster, job_id__in=ids).exclude(ended__lt=since)
    for start, ended in runs.order_by("-start").values_list("start", "ended")[:MOST_RUNS]:
        begun = max(start, since)
        yield begun, 1
        if ended is not None and ended <= now:
            yield max(ended, begun), -1


def _steps(changes: Iterable[Change]) -> list[tuple[int, int]]:
    """From which second on how many there were."""
    sums: Counter[int] = Counter()
    for second, more in changes:
        sums[second] += more
    count, steps = 0, []
    for second in sorted(sums):
        count += sums[second]
        steps.append((second, count))
    return steps


def _path(steps: Sequence[tuple[int, int]], now: int, most: int) -> str:
    """The line: level from one step to the next, then up or down."""
    first = steps[0][0]
    width = max(1, now - first)
    parts = [f"M{LEFT} {_y(steps[0][1], most)}"]
    for second, count in steps[1:]:
        parts.append(f"H{svg_number(LEFT + (WIDTH - LEFT) * (second - first) / width)}V{_y(count, most)}")
    return "".join([*parts, f"H{WIDTH}"])


def _y(count: int, most: int) -> str:
    return svg_number(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * count / max(1, most))


def _moment(second: int) -> str:
    return f"{timezone.localtime(clock.from_epoch(second)):%m-%d %H:%M %Z}"
