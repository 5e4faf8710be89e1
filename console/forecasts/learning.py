"""Training a model of run times, and putting it in force where it proves better on later jobs."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from console.cluster.models import Cluster
from console.core import clock
from console.forecasts.models import KeptRun, RunTimeModel
from scheduler.forecast.facts import EndedJob, JobFacts
from scheduler.forecast.model import Model
from scheduler.forecast.score import beats, trained
from scheduler.forecast.training import FEWEST

MOST_JOBS = 40_000
"""The last ones that ended are learned from."""
FEWEST_LATER = 30
LATER = 0.15
"""This share of the jobs, the last to be submitted, judges the model and teaches it nothing before."""
MOST_LATER = 2_000
BETWEEN = timedelta(hours=1)
KEPT = 50
"""Models that were tried, with their figures; only the one in force keeps its body."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """Finished jobs by submission: those to learn from, and the later ones. `last`: the newest row among them."""

    past: Sequence[EndedJob]
    later: Sequence[EndedJob]
    last: int


def ended_job(row: KeptRun) -> EndedJob:
    """A finished job as the model knows it."""
    facts = JobFacts(
        row.user, row.account, row.name, row.limit_s, row.nodes, row.cpus, row.gpus, row.submit, row.command
    )
    return EndedJob(row.job_id, facts, row.end - row.start, row.end, row.start)


def is_due(cluster: Cluster) -> bool:
    """Whether enough jobs have ended since the last training, an hour ago or longer."""
    last = RunTimeModel.objects.filter(cluster=cluster).defer("body").first()
    if last is not None and clock.now() - last.made_at < BETWEEN:
        return False
    told = RunTimeModel.objects.filter(cluster=cluster, in_force=True).values_list("told", "jobs").first()
    after, before = told or (0, 0)
    new = KeptRun.objects.filter(cluster=cluster, pk__gt=after).count()
    return new >= max(2 * FEWEST_LATER, FEWEST, before // 10)


def learn_if_due(cluster: Cluster) -> RunTimeModel | None:
    return learn(cluster) if is_due(cluster) else None


def learn(cluster: Cluster) -> RunTimeModel | None:
    """Train a candidate and compare it with the model in force and with plain medians; None where there is too little.

    It is put in force only where it is better than both on jobs that neither had been told of, split by time.
    """
    before = RunTimeModel.objects.filter(cluster=cluster, in_force=True).first()
    lessons = _lessons(cluster, before)
    if lessons is None:
        return None
    candidate = trained(lessons.past, lessons.later[0].facts.submit)
    verdict = beats(candidate, _brought_up_to(before, lessons), lessons.past, lessons.later)
    row = RunTimeModel(
        cluster=cluster,
        version=candidate.version,
        made_at=clock.now(),
        jobs=len(lessons.past),
        later_jobs=len(lessons.later),
        figure=verdict.candidate,
        figure_before=verdict.in_force,
        figure_medians=verdict.median,
    )
    with transaction.atomic():
        if verdict.better:
            for job in sorted(lessons.later, key=lambda job: job.end):
                candidate.ended(job)
            RunTimeModel.objects.filter(cluster=cluster, in_force=True).update(in_force=False, body=None)
            row.in_force, row.told = True, lessons.last
            row.body = zlib.compress(candidate.to_json().encode())
        row.save()
        old = RunTimeModel.objects.filter(cluster=cluster, in_force=False).values_list("pk", flat=True)[KEPT:]
        RunTimeModel.objects.filter(pk__in=list(old)).delete()
    return row


def _lessons(cluster: Cluster, before: RunTimeModel | None) -> Lessons | None:
    """The jobs, split by submission. The later ones are only such as the model in force has not been told of."""
    newest = KeptRun.objects.filter(cluster=cluster).order_by("-end", "-pk")[:MOST_JOBS]
    rows = sorted(newest, key=lambda row: (row.submit, row.pk))
    later = [row for row in rows if before is None or row.pk > before.told]
    later = later[-min(int(len(rows) * LATER), MOST_LATER) :]
    if len(later) < FEWEST_LATER:
        return None
    past = [row for row in rows if row.submit < later[0].submit]
    if len(past) < FEWEST:
        return None
    return Lessons(
        [ended_job(row) for row in past], [ended_job(row) for row in later], max(row.pk for row in rows)
    )


def _brought_up_to(before: RunTimeModel | None, lessons: Lessons) -> Model | None:
    """The model in force as it stands when the later jobs begin: told what has ended since it was trained."""
    return None if before is None else load(before, until=lessons.later[0].facts.submit)


def load(row: RunTimeModel, until: int | None = None) -> Model:
    """The model of a row, told the jobs that ended since. `until`: only those that ended by then (epoch seconds).

    Raises `ValueError` for a body that is not as it was written.
    """
    if row.body is None:
        raise ValueError(f"the model {row.version} is not in force any more, and its body is gone")
    model = Model.from_json(zlib.decompress(bytes(row.body)).decode())
    for job in since(row.cluster, row.told, until):
        model.ended(job)
    return model


def since(cluster: Cluster, told: int, until: int | None = None) -> list[EndedJob]:
    """Finished jobs that were kept after the row `told`, by their ends."""
    rows = KeptRun.objects.filter(cluster=cluster, pk__gt=told)
    if until is not None:
        rows = rows.filter(end__lte=until)
    return [ended_job(row) for row in rows.order_by("end", "pk")[:MOST_JOBS]]
