"""What was forecast in the made-up week: what is learned of the jobs that ended, and for the last of them what was said
of their run times, by the plain model as it was then, and of their starts."""

from collections.abc import Iterable, Sequence
from random import Random

from console.cluster.models import Cluster, Job
from console.core import clock
from console.forecasts.learning import ended_job
from console.forecasts.models import LONGEST_NAME, FinishedSource, JobForecast, KeptRun
from console.forecasts.requests import facts_of, size_of
from console.launch.past.played import PlayedJob, PlayedWeek
from console.starts.models import ExpectedStart
from scheduler.forecast.model import Model

BATCH = 300
FORECAST = 900
"""So many of the last jobs have a forecast: each is worked out, a millisecond each."""
WAITED_S = 60
"""Who starts sooner had no expected start."""
SOONER, LATER = 0.6, 1.6
"""How wide an expected start is, as parts of the wait until its middle."""


def write_forecasts(cluster: Cluster, week: PlayedWeek, rows: Iterable[Job], seed: int) -> None:
    """Of jobs that ran once and ended by themselves."""
    once = [row for row in rows if row.ended_at and _ran_once(week, week.jobs[row.job_id])]
    once.sort(key=lambda row: (week.jobs[row.job_id].first_submit, row.pk))
    kept = KeptRun.objects.bulk_create(
        (_kept(cluster, row, week.jobs[row.job_id]) for row in once), batch_size=BATCH
    )
    runs = {run.job_id: run for run in kept}
    told = once[-FORECAST:]
    JobForecast.objects.bulk_create(_forecasts(cluster, told, runs.values(), runs), batch_size=BATCH)
    rng = Random(f"{seed}/starts")  # noqa: S311 (nothing secret here)
    starts = (_expected(cluster, row, week.jobs[row.job_id], rng) for row in told)
    ExpectedStart.objects.bulk_create([row for row in starts if row is not None], batch_size=BATCH)


def _ran_once(week: PlayedWeek, job: PlayedJob) -> bool:
    return len(job.runs) == 1 and job.ended != week.until


def _kept(cluster: Cluster, row: Job, job: PlayedJob) -> KeptRun:
    (run,) = job.runs
    return KeptRun(
        cluster=cluster,
        job_id=row.job_id,
        user=row.user,
        account=row.account,
        name=row.name[:LONGEST_NAME],
        partition=row.partition,
        submit=job.first_submit,
        start=run.start,
        end=run.ended or run.start,
        limit_s=row.time_limit_s,
        state=row.slurm_state,
        source=FinishedSource.CYCLES,
        **size_of(row)._asdict(),
    )


def _forecasts(
    cluster: Cluster, told: Sequence[Job], ended: Iterable[KeptRun], runs: dict[str, KeptRun]
) -> list[JobForecast]:
    """As a forecaster would have said them: knowing what had ended when a job came."""
    model, coming, made = Model(), sorted(ended, key=lambda run: run.end), []
    done = 0
    for row in told:
        submit = row.first_submit
        while done < len(coming) and coming[done].end <= submit:
            model.ended(ended_job(coming[done]))
            done += 1
        size, run = size_of(row), runs[row.job_id]
        said = model.submitted(row.job_id, facts_of(row, size))
        made.append(
            JobForecast(
                cluster=cluster,
                job_id=row.job_id,
                submit=submit,
                partition=row.partition,
                user=row.user,
                nodes=size.nodes,
                cpus=size.cpus,
                gpus=size.gpus,
                limit_s=row.time_limit_s,
                made_at=clock.from_epoch(submit),
                start=run.start,
                ran_s=run.end - run.start,
                ended_at=row.ended_at,
                **{name: getattr(said, name) for name in ("p10", "p50", "p90", "low", "high")},
            )
        )
    return made


def _expected(cluster: Cluster, row: Job, job: PlayedJob, rng: Random) -> ExpectedStart | None:
    """When it was expected to start: off by chance, more where it waited longer; Slurm's own goes by time limits."""
    begun = job.runs[0].start
    waited = begun - job.first_submit
    if waited < WAITED_S:
        return None
    p50 = job.first_submit + int(waited * rng.lognormvariate(0, 0.35))
    wait = p50 - job.first_submit
    low, high = job.first_submit + int(wait * SOONER), job.first_submit + int(wait * LATER) + WAITED_S
    return ExpectedStart(
        cluster=cluster,
        job_id=row.job_id,
        submit=job.first_submit,
        partition=row.partition,
        made_at=job.first_submit,
        first_at=job.first_submit,
        p50=p50,
        low=low,
        high=high,
        first_p50=p50,
        first_low=low,
        first_high=high,
        first_slurm=job.first_submit + int(waited * rng.uniform(1.2, 3.5)),
        started=begun,
        gone_at=clock.from_epoch(begun),
    )
