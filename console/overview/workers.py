"""The workers of elastic jobs: how many over time, who is without some of them now, which ones may be taken."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from console.cluster.elastic import SaidOfJob, WorkerCounter
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.core.l10n_format import in_a_row
from console.overview.plots import svg_number
from console.partitions.models import Partition
from console.partitions.selectors import policy_of, task_types_in
from console.projects.selectors import elastic_patterns
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
    jobs = {
        each.job.job_id: each
        for each in said
        if each.words.elastic and not each.job.group and each.job.phase == JobPhase.RUNNING
    }
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
        elastic, has = jobs[job_id].words.elastic, len(jobs[job_id].job.alloc)
        before = len(_victim(action)["keeps"]) + len(_victim(action)["nodes"])
        wish = elastic.wish if elastic is not None and elastic.wish else before
        if has < wish:
            waits = action.plan.job_id in present
            code = "elastic.nodes_taken" if waits else "elastic.nodes_back"
            told[job_id] = say(code, n=has, m=wish, **({"job": action.plan.job_id} if waits else {}))
    return told


def changes_of(cluster: Cluster, job: Job, since: int, now: int) -> list[Change]:
    """Of a job of several nodes: when it began and ended to have how many."""
    runs = JobRun.objects.filter(cluster=cluster, job_id=job.job_id).exclude(ended__lt=since)
    shrunk = (a for a in _shrinks(cluster, {job.job_id: None}) if a.kind == ActionKind.SHRINK)
    given = {(a.run_start, a.run_restarts): a for a in shrunk}
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
        workers = Job.objects.filter(cluster=cluster, group=said.job.group, partition=said.job.partition)
        ids = list(workers.values_list("job_id", flat=True))
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


IN_COMMENT = "elastic:"


def takeable_jobs(partition: Partition, among: Iterable[str], *, grouped: bool = True) -> frozenset[str]:
    """Their ids. An elastic job on several nodes is meant itself, if it is `among` those that are shown; of one whose
    workers are jobs, each of these. `grouped`: whether some running jobs belong to groups.

    Two queries at most; none where the policy lets nobody be shrunk.
    """
    if not policy_of(partition).elastic:
        return frozenset()
    types = {
        name: kinds
        for name, kinds in task_types_in([partition]).items()
        if any(kind.elastic_min is not None for kind in kinds.types)
    }
    patterns = elastic_patterns(partition.cluster)
    jobs = Job.objects.filter(cluster=partition.cluster_id, partition=partition.name, phase=JobPhase.RUNNING)
    if not types and not patterns:
        jobs = jobs.filter(comment__contains=IN_COMMENT)
    # A job on one node that is alone in its group has no worker to give; of a group all are counted.
    meant = Q(on_node="", job_id__in=list(among))
    rows = list(
        jobs.filter(meant | ~Q(group="") if grouped else meant).only(
            "job_id", "name", "comment", "group", "project", "partition", "alloc", "request", "cluster_id"
        )
    )
    counter = WorkerCounter(partition.cluster, types, patterns)
    running = Counter(row.group for row in rows if row.group)
    found = set()
    for row in rows:
        said = counter.said_of(row, running[row.group] if row.group else len(row.alloc))
        least = said.words.elastic.least if said.words.elastic else None
        if least is not None and not said.note and (said.workers or 0) > least:
            found.add(row.job_id)
    return frozenset(found)
