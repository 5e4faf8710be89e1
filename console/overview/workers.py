"""The workers of an elastic job over time, and for whom it is without some of them now."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from console.cluster.elastic import SaidOfJob
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.overview.nodes_of_jobs import Change, TakenNodes, changes_of, nodes_missing, taken_nodes
from console.overview.plots import svg_number
from console.steering.models import Fate, Plan, Victim
from scheduler.model.sentence import Sentence, say

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
