"""The mirror's jobs as a cycle of this process has written them: the next one need not read them to see what changed.

Nobody but a cycle writes rows of jobs that have not ended, and each counts itself in the same transaction. So they
stand as they were written as long as the cluster's number of cycles does. Saves work and nothing else.
"""

from functools import partial
from typing import Any, NamedTuple

from django.db import transaction

from console.cluster.models import Cluster, Job, JobPhase
from console.core.remembered import on_forgetting

MANY = 5_000
"""Rows that are read at a time."""
PLACE_FIELDS = ("place", "line_place", "own_priority")
"""What moves for all who wait when one joins the line: too often to write whole rows for it."""
PK, KEPT_MARK, PLACES = 2, 3, slice(4, None)
"""Where they stand in a kept row, after job and partition."""

Key = tuple[str, str]
"""Job and partition."""
Rows = dict[Key, tuple[Any, ...]]


class _Written(NamedTuple):
    """The rows, and how many cycles there were with the one that wrote them."""

    cycle: int
    rows: Rows


_WRITTEN: dict[int, _Written] = {}
"""By cluster."""
on_forgetting(_WRITTEN.clear)


def rows_as_kept(cluster: Cluster) -> Rows:
    """The rows of jobs that have not ended, each as job, partition, key, mark and places; to be read, not changed.

    `cluster`: as it stands in the database, read under the lease of its cycle.
    """
    written = _WRITTEN.get(cluster.pk)
    if written is not None and written.cycle == cluster.cycle:
        return written.rows
    return _read(cluster)


def _read(cluster: Cluster) -> Rows:
    living = Job.objects.filter(cluster=cluster).exclude(phase=JobPhase.ENDED)
    asked = living.values_list("job_id", "partition", "pk", "fingerprint", *PLACE_FIELDS)
    return {row[:2]: row for row in asked.iterator(chunk_size=MANY)}


def written_row(job: Job) -> tuple[Any, ...]:
    """A saved row, as `rows_as_kept` has it."""
    return job.job_id, job.partition, job.pk, job.fingerprint, job.place, job.line_place, job.own_priority


def will_be_kept(cluster: Cluster, rows: Rows) -> None:
    """These are the rows once the transaction is through, in which the cluster's cycle is counted."""
    transaction.on_commit(partial(_WRITTEN.__setitem__, cluster.pk, _Written(cluster.cycle + 1, rows)))
