"""One row for each array or group in a list of jobs: "12 tasks: 8 running, 4 waiting". It unfolds into its tasks.

A row stands for all jobs of its group in its partition, and is that of the first of them in the order of the list.
Which ones are unfolded is in the address (`w_open=41`), so that a link does it and a poll keeps it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import starmap
from typing import Any

from django.db.models import Case, CharField, Count, F, Q, QuerySet, When, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.cluster.models import Job, JobPhase
from console.overview.listed import ListedJob, as_listed
from scheduler.priority.groups import group_name

MOST_TASKS = 200
"""So many tasks of one group are shown when it is unfolded."""
Key = tuple[str, str]
"""A group and a partition."""

_TOGETHER = Case(When(Q(group=""), then=F("job_id")), default=F("group"), output_field=CharField())
_WORDS = {
    JobPhase.RUNNING: lambda n: ngettext("%d running", "%d running", n) % n,
    JobPhase.COMPLETING: lambda n: ngettext("%d ending", "%d ending", n) % n,
    JobPhase.PENDING: lambda n: ngettext("%d waiting", "%d waiting", n) % n,
    JobPhase.ENDED: lambda n: ngettext("%d ended", "%d ended", n) % n,
}


@dataclass(frozen=True, slots=True)
class Folded:
    """A group in one partition: how many of its jobs are in each phase, and, if it is unfolded, those of the list."""

    group: str
    counts: Mapping[str, int]
    tasks: Sequence[ListedJob] = ()
    is_open: bool = False

    @property
    def name(self) -> str:
        """What people call it."""
        return group_name(self.group)

    @property
    def words(self) -> str:
        """`12 tasks: 8 running, 4 waiting`."""
        total = sum(self.counts.values())
        tasks = ngettext("%d task", "%d tasks", total) % total
        parts = [say(self.counts[phase]) for phase, say in _WORDS.items() if self.counts.get(phase)]
        return _("%(tasks)s: %(parts)s") % {"tasks": tasks, "parts": reduce(_beside, parts)}


def _beside(first: str, second: str) -> str:
    return _("%(first)s, %(second)s") % {"first": first, "second": second}


def key_of(job: ListedJob) -> Key:
    """The group and partition of a job."""
    return job.group, job.partition


def first_of_each(jobs: QuerySet[Job], ordering: Sequence[Any]) -> QuerySet[Job]:
    """The jobs that stand for their groups, and those that stand alone."""
    number = Window(RowNumber(), partition_by=[F("partition"), _TOGETHER], order_by=list(ordering))
    return jobs.annotate(number=number).filter(number=1)


def folded(rows: Sequence[ListedJob], jobs: QuerySet[Job], opened: Iterable[str]) -> dict[Key, Folded]:
    """The groups of several jobs among some rows. `jobs`: the whole list, in its order."""
    groups = {row.group for row in rows if row.group}
    if not groups:
        return {}
    counts = _counts(rows[0].cluster_id, groups)
    shown = {key_of(row) for row in rows if sum(counts.get(key_of(row), {}).values()) > 1}
    wanted = {group for group, _partition in shown} & set(opened)
    tasks: dict[Key, list[ListedJob]] = {}
    for job in starmap(ListedJob, as_listed(jobs.filter(group__in=wanted))) if wanted else ():
        tasks.setdefault(key_of(job), []).append(job)
    return {key: _folded(key, counts[key], tasks.get(key, [])) for key in shown}


def fold_read(jobs: Sequence[ListedJob], opened: Iterable[str]) -> tuple[list[ListedJob], dict[Key, Folded]]:
    """The same of jobs that were read already: the rows, and their groups."""
    together: dict[object, list[ListedJob]] = {}
    for job in jobs:
        together.setdefault(key_of(job) if job.group else job.pk, []).append(job)
    rows = [tasks[0] for tasks in together.values()]
    groups = {row.group for row in rows if row.group}
    if not groups:
        return rows, {}
    counts = _counts(rows[0].cluster_id, groups)
    wanted, found = set(opened), {}
    for row in rows:
        key = key_of(row)
        if row.group and sum(counts.get(key, {}).values()) > 1:
            found[key] = _folded(key, counts[key], together[key] if row.group in wanted else [])
    return rows, found


def _folded(key: Key, counts: Mapping[str, int], tasks: Sequence[ListedJob]) -> Folded:
    return Folded(key[0], counts, tasks[:MOST_TASKS], is_open=bool(tasks))


def _counts(cluster_id: int, groups: Iterable[str]) -> dict[Key, dict[str, int]]:
    rows = Job.objects.filter(cluster=cluster_id, group__in=groups).order_by()
    found: dict[Key, dict[str, int]] = {}
    for group, partition, phase, count in rows.values_list("group", "partition", "phase").annotate(
        count=Count("pk")
    ):
        found.setdefault((group, partition), {})[phase] = count
    return found
