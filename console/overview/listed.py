"""The jobs of a list, as the database has them: what a row is made of, and so what it is remembered by."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import IntegerField, QuerySet, TextField
from django.db.models.functions import Cast

from console.cluster.models import Job, JobPhase
from console.core.sentence_field import read_sentence, written_sentence
from scheduler.model.jobs import Level


class ListedJob(NamedTuple):
    """What a row of a list shows of a job: no more, and no model. Two that are equal look the same in one language.

    `alloc` is JSON; `user_origin`, `task_origin`, `protected` and `explain` are as sentences are kept.
    """

    pk: int
    cluster_id: int
    job_id: str
    partition: str
    name: str
    user: str
    account: str
    group: str
    phase: str
    slurm_reason: str
    held: int
    first_submit: int
    waits_since: int
    start: int
    time_limit_s: int | None
    estimated_start: int | None
    alloc: str
    resources: str
    project: str
    user_level: Level
    task_level: Level
    user_level_name: str
    task_level_name: str
    user_origin: str
    task_origin: str
    protected: str
    preemptions: int
    reason: str
    explain: str
    place: int
    plan: int | None
    ended_at: datetime | None

    @property
    def nodes(self) -> Iterable[str]:
        """Where it is."""
        there: dict[str, Any] = json.loads(self.alloc)
        return there

    @property
    def phase_words(self) -> str:
        """Where it is in its life, as people say it."""
        return str(JobPhase(self.phase).label)

    def sentence(self, field: str) -> str:
        """What is said in one of the fields that keep sentences."""
        return read_sentence(getattr(self, field))


SENTENCES = frozenset({"user_origin", "task_origin", "protected", "explain"})
_AS_KEPT = dict.fromkeys((*SENTENCES, "alloc"), TextField) | {"held": IntegerField}
_FIELDS = tuple(Cast(name, _AS_KEPT[name]()) if name in _AS_KEPT else name for name in ListedJob._fields)


def as_listed(jobs: QuerySet[Job]) -> QuerySet[Job, tuple[Any, ...]]:
    """The same jobs in the same order, each as the parts of a `ListedJob`."""
    return jobs.values_list(*_FIELDS)


def listed(job: Job) -> ListedJob:
    """One that has been read already."""
    parts = {name: getattr(job, name) for name in ListedJob._fields}
    parts |= {name: written_sentence(parts[name]) for name in SENTENCES}
    return ListedJob(**parts | {"alloc": json.dumps(job.alloc)})
