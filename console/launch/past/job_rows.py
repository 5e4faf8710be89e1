"""The jobs and the minutes of the made-up week, as the mirror and the record keep them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.history.minutes import USER, axis_of, level_key
from console.history.models import PartitionMinute
from console.launch.past.played import PlayedJob, PlayedWeek
from console.steering.deciding import Verdicts
from console.steering.facts import PartitionFacts
from console.steering.metrics import MeteredStop
from console.steering.mirror import past_rows
from console.steering.selectors import Work, add_work, work_of
from scheduler.model.observation import Observation
from scheduler.model.policy import ProjectFacts
from scheduler.model.resources import add
from scheduler.reconcile.build import snapshot_for

BATCH = 300


@dataclass(frozen=True, slots=True)
class Setting:
    """What the week was played in. `seen`: the cluster, for its nodes and partitions."""

    cluster: Cluster
    partitions: Mapping[str, PartitionFacts]
    projects: Sequence[ProjectFacts]
    seen: Observation


def write_jobs(setting: Setting, jobs: Iterable[PlayedJob], stops: Mapping[str, int]) -> list[Job]:
    """The jobs that have ended, with their runs; returned are rows of all. `stops`: how often each was stopped."""
    made: list[Job] = []
    by_partition: dict[str, list[PlayedJob]] = defaultdict(list)
    for job in jobs:
        by_partition[job.partition].append(job)
    for name, theirs in by_partition.items():
        made += _rows(setting, name, theirs, stops)
    Job.objects.bulk_create([row for row in made if row.ended_at], batch_size=BATCH)
    over = [job for theirs in by_partition.values() for job in theirs if job.ended]
    runs = [run for job in over for run in _runs(setting.cluster, job)]
    JobRun.objects.bulk_create(runs, batch_size=BATCH)
    return made


def _rows(setting: Setting, name: str, jobs: Sequence[PlayedJob], stops: Mapping[str, int]) -> Iterator[Job]:
    facts = setting.partitions[name]
    # They did not all run at once: no quota is told of them together.
    policy = replace(facts.policy, quotas={}, quota_amounts={}, quota_totals={})
    observation = replace(setting.seen, jobs=tuple(job.seen for job in jobs))
    built = snapshot_for(observation, policy, setting.projects, preemptions=stops)
    by_id = {job.id: job for job in built.snapshot.jobs}
    verdicts = Verdicts(facts, built.snapshot, built.standings, (), by_id)
    seen = [job.seen for job in jobs]
    for job, row in zip(jobs, past_rows(setting.cluster, verdicts, stops, seen), strict=True):
        row.phase, row.slurm_state = JobPhase.ENDED, "COMPLETING"
        row.ended_at = clock.from_epoch(job.ended) if job.ended else None
        row.first_submit = job.first_submit
        before = sum((run.ended or run.start) - run.start for run in job.runs[:-1])
        row.waits_since = job.first_submit + before
        yield row


def _runs(cluster: Cluster, job: PlayedJob) -> Iterator[JobRun]:
    for run in job.runs:
        yield JobRun(
            cluster=cluster,
            job_id=job.seen.id,
            start=run.start,
            restarts=run.restarts,
            ended=run.ended,
            nodes=sorted(run.held),
            partition=job.partition,
            held=run.held,
        )


def write_minutes(
    setting: Setting, week: PlayedWeek, rows: Iterable[Job], stops: Mapping[int, Sequence[MeteredStop]]
) -> None:
    """A line for each minute and partition. `stops`: by the minute in which they were seen to have worked."""
    totals: dict[str, dict[str, int]] = defaultdict(dict)
    for node in setting.seen.nodes:
        for name in node.partitions if node.up else ():
            add(totals[name], node.total)
    started = _started(setting, week, rows)
    made = []
    for each in week.minutes:
        row = PartitionMinute(
            cluster=setting.cluster,
            partition=each.partition,
            at=clock.from_epoch(each.at),
            axis=axis_of(setting.partitions[each.partition].policy.mode),
            total=totals[each.partition],
            used=each.used,
            running=each.running,
            pending=each.pending,
            started=started.get((each.partition, each.at), {}),
        )
        ended = [stop for stop in stops.get(each.at, ()) if stop.partition == each.partition]
        row.stops, row.work_lost = len(ended), _lost(ended)
        made.append(row)
    PartitionMinute.objects.bulk_create(made, batch_size=BATCH, ignore_conflicts=True)


def _started(
    setting: Setting, week: PlayedWeek, rows: Iterable[Job]
) -> Mapping[tuple[str, int], dict[str, list[int]]]:
    found: dict[tuple[str, int], dict[str, list[int]]] = defaultdict(dict)
    for row in rows:
        by_user = axis_of(setting.partitions[row.partition].policy.mode) == USER
        level = level_key(row.user_level if by_user else row.task_level)
        for run in week.jobs[row.job_id].runs:
            sums = found[row.partition, run.start // 60 * 60].setdefault(level, [0, 0])
            sums[0] += 1
            sums[1] += max(0, run.start - run.submit)
    return found


def _lost(stops: Iterable[MeteredStop]) -> Work:
    work: Work = {}
    for stop in stops:
        add_work(work, work_of({"amounts": stop.amounts, "ran_s": stop.ran_s - stop.kept_s}))
    return work


def times_stopped(week: PlayedWeek) -> Mapping[str, int]:
    """How often each job was stopped."""
    return Counter(run.job_id for plan in week.plans for run in plan.victims)
