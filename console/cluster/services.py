"""Writing the mirror: only what has changed since the last look is written."""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

from django.db import transaction
from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast

from console.cluster.lives import end_runs, go_on
from console.cluster.models import LONGEST_UNIT, Cluster, ClusterPartition, Job, JobPhase, JobRun, Node
from console.core import clock
from console.core.bulk_update import delete_rows, update_rows
from scheduler.model.observation import Observation

BATCH = 300
"""Rows per statement: SQLite takes about 32,000 values in one."""
MANY = 5_000
"""Rows that are read at a time."""

_KEYS = ("cluster", "job_id", "partition")
_JOB_FIELDS = [
    f.name
    for f in Job._meta.concrete_fields  # noqa: SLF001 - Django's documented name for it
    if f.name not in {"id", *_KEYS}
]
VERDICT_FIELDS = ("verdict", "reason", "explain", "startable", "plan", "line_ordered", "keeps_place")
"""What is decided about a job: of one that waits it changes much more often than what is observed of it."""
PLACE_FIELDS = ("place", "line_place", "own_priority")
"""What moves for all who wait when one joins the line: too often to write whole rows for it."""
_NODE_JSON = ("total", "used", "features", "partitions", "own_units")
_NODE_FIELDS = ("up", "state", "state_reason", "unit", "booted", *_NODE_JSON)


MARK = 16
"""A row's mark is a digest of so many characters of all that it shows but its places and `VERDICT_FIELDS`, and then one
of these."""


class JobRow(Protocol):
    """A job in one partition, on its way into the mirror."""

    @property
    def key(self) -> tuple[str, str]:
        """Job id and partition."""
        ...

    @property
    def mark(self) -> str:
        """A short text that is the same as long as the row would show the same."""
        ...

    @property
    def places(self) -> tuple[int, int, int | None]:
        """The row's `place`, `line_place` and `own_priority`."""
        ...

    @property
    def verdict(self) -> tuple[Any, ...]:
        """The row's `VERDICT_FIELDS`."""
        ...

    def build(self) -> Job:
        """The row, not saved; only asked for when the mark has changed."""
        ...


def write_jobs(cluster: Cluster, rows: Sequence[JobRow]) -> bool:
    """Make the mirror's jobs equal to `rows`. True when anything changed.

    Jobs that are no longer there are marked as ended and kept for the story of a job.
    """
    changes = _Changes(_known_jobs(cluster), rows)
    go_on(cluster, changes.fresh, BATCH)
    Job.objects.bulk_create(
        changes.fresh,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=list(_KEYS),
        update_fields=_JOB_FIELDS,
    )
    update_rows(Job, PLACE_FIELDS, changes.moved)
    update_rows(Job, (*VERDICT_FIELDS, *PLACE_FIELDS, "fingerprint"), changes.decided)
    _mark_ended([row.pk for row in changes.gone.values()])
    if changes.gone:
        # One that waited in several partitions and has started leaves the others only.
        end_runs(cluster, {job_id for job_id, _ in changes.gone} - {row.key[0] for row in rows}, BATCH)
    return bool(changes.fresh or changes.decided or changes.moved or changes.gone)


class _KnownJob(NamedTuple):
    """What a row is compared by. `places`: `PLACE_FIELDS`."""

    pk: int
    mark: str
    places: tuple[int, int, int | None]


def _known_jobs(cluster: Cluster) -> dict[tuple[str, str], _KnownJob]:
    """The kept rows of jobs that have not ended, by job and partition."""
    living = Job.objects.filter(cluster=cluster).exclude(phase=JobPhase.ENDED)
    asked = living.values_list("job_id", "partition", "pk", "fingerprint", *PLACE_FIELDS)
    return {row[:2]: _KnownJob(row[2], row[3], row[4:]) for row in asked.iterator(chunk_size=MANY)}


class _Changes:
    """What is to be written so that the kept rows become others.

    `fresh`: rows to write whole. `moved`, `decided`: the values of those of which only the places, or the verdict, are
    other. `gone`: kept rows that are no more.
    """

    def __init__(self, known: Mapping[tuple[str, str], _KnownJob], rows: Iterable[JobRow]) -> None:
        self.fresh: list[Job] = []
        self.decided: list[tuple[Any, ...]] = []
        self.moved: list[tuple[Any, ...]] = []
        self.gone = dict(known)
        for row in rows:
            key, mark = row.key, row.mark
            before = self.gone.pop(key, None)
            if before is not None and before.mark == mark:  # as nearly all are
                if before.places != row.places:
                    self.moved.append((*row.places, before.pk))
            elif before is not None and before.mark[:MARK] == mark[:MARK]:
                self.decided.append((*row.verdict, *row.places, mark, before.pk))
            else:
                job = row.build()
                job.fingerprint = mark
                self.fresh.append(job)


def _mark_ended(keys: Sequence[int]) -> None:
    for first in range(0, len(keys), BATCH):
        Job.objects.filter(pk__in=keys[first : first + BATCH]).update(
            phase=JobPhase.ENDED,
            ended_at=clock.now(),
            place=0,
            line_place=0,
            startable=0,
            verdict="",
            reason="",
            explain="",
            plan=None,
            held=False,
        )


def write_nodes(cluster: Cluster, observation: Observation) -> bool:
    """Make the mirror's nodes and partitions equal to what was observed. True when anything changed."""
    used, own_units = _used(observation), _own_units(observation)
    known = _known_nodes(cluster)
    fresh = []
    for seen in observation.nodes:
        values = (
            seen.up,
            seen.state[:60],
            seen.state_reason[:300],
            (seen.unit or "")[:LONGEST_UNIT],
            observation.boots.get(seen.name, 0),
            dict(seen.total),
            used.get(seen.name, {}),
            sorted(seen.features),
            list(seen.partitions),
            own_units.get(seen.name, {}),
        )
        before = known.pop(seen.name, None)
        if before is None or before[1:] != values:
            fresh.append(
                Node(cluster=cluster, name=seen.name, **dict(zip(_NODE_FIELDS, values, strict=True)))
            )
    Node.objects.bulk_create(
        fresh,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["cluster", "name"],
        update_fields=_NODE_FIELDS,
    )
    if known:
        Node.objects.filter(pk__in=[before[0] for before in known.values()]).delete()
    return _write_partitions(cluster, observation) or bool(fresh or known)


def _known_nodes(cluster: Cluster) -> dict[str, tuple[Any, ...]]:
    """By name, the key and `_NODE_FIELDS` of the nodes as they are kept. To be compared, never changed."""
    texts = {field: Cast(field, TextField()) for field in _NODE_JSON}
    asked = (
        Node.objects.filter(cluster=cluster)
        .order_by()
        .annotate(**{f"{field}_text": text for field, text in texts.items()})
    )
    columns = [f"{field}_text" if field in texts else field for field in _NODE_FIELDS]
    plain = len(_NODE_FIELDS) - len(_NODE_JSON)
    found = asked.values_list("name", "pk", *columns).iterator(chunk_size=MANY)
    decoded = functools.cache(json.loads)  # of thousands of nodes most are alike
    return {row[0]: (*row[1 : 2 + plain], *map(decoded, row[2 + plain :])) for row in found}


def _used(observation: Observation) -> dict[str, dict[str, int]]:
    """Per node, what running and ending jobs hold, also those whose share is not told."""
    used: dict[str, dict[str, int]] = {
        node.name: dict(node.held_elsewhere) for node in observation.nodes if node.held_elsewhere
    }
    for job in observation.jobs:
        for node, amounts in job.alloc.items():
            held = used.get(node)
            if held is None:
                held = used[node] = {}
            for name, amount in amounts.items():
                if amount:
                    held[name] = held.get(name, 0) + amount
    return used


def _own_units(observation: Observation) -> dict[str, dict[str, str]]:
    """Per node, its unit by partition, in those that have units of their own."""
    found: dict[str, dict[str, str]] = {}
    for partition in observation.partitions:
        if partition.units is not None:
            for node in partition.nodes:
                unit = partition.units.get(node, "")
                found.setdefault(node, {})[partition.name] = unit[:LONGEST_UNIT]
    return found


def _states(cluster: int) -> QuerySet[ClusterPartition, tuple[str, str]]:
    return ClusterPartition.objects.filter(cluster=cluster).values_list("name", "state")


def _write_partitions(cluster: Cluster, observation: Observation) -> bool:
    known = dict(_states(cluster.pk))
    seen = {partition.name: partition.state for partition in observation.partitions}
    for name, state in seen.items():
        if known.get(name) != state:
            ClusterPartition.objects.update_or_create(cluster=cluster, name=name, defaults={"state": state})
    gone = known.keys() - seen.keys()
    if gone:
        ClusterPartition.objects.filter(cluster=cluster, name__in=gone).delete()
    return known != seen


def note_cycle(cluster: Cluster, *, fault: str, changed: bool) -> None:
    """Count the cycle and say when the cluster was seen; `fault` in words when it could not be, or only in part."""
    now = clock.now()
    if fault != cluster.fault:
        changed = True
    values: dict[str, object] = {"cycle": F("cycle") + 1, "attempted_at": now, "fault": fault}
    if not fault:
        values["observed_at"] = now
    if changed:
        values["version"] = F("version") + 1
    Cluster.objects.filter(pk=cluster.pk).update(**values)
    # What the row has now; the next cycle begins with reading it.
    values |= {name: getattr(cluster, name) + 1 for name in ("cycle", "version") if name in values}
    for name, value in values.items():
        setattr(cluster, name, value)


def show_change(cluster: Cluster) -> None:
    """Have open pages look again, once the caller's transaction is over: they poll by the cluster's version.

    Not inside it: a cycle locks the audit log and this row in another order.
    """
    transaction.on_commit(
        lambda: Cluster.objects.filter(pk=cluster.pk).update(version=F("version") + 1), robust=True
    )


def forget_ended_jobs(older_than: timedelta) -> int:
    """Delete jobs that ended longer ago than this, and runs likewise; returns how many jobs."""
    living = Job.objects.exclude(phase=JobPhase.ENDED).values("job_id")
    over = JobRun.objects.filter(ended__lt=(clock.now() - older_than).timestamp())
    delete_rows(over.exclude(job_id__in=living))
    return delete_rows(Job.objects.filter(phase=JobPhase.ENDED, ended_at__lt=clock.now() - older_than))


def describe_cluster(cluster: Cluster, *, software: str, facts: Iterable[tuple[str, str]]) -> None:
    """Keep what `describe()` told: in the row, and in the object, which a cycle goes on with."""
    told = (software[:60], dict(facts))
    if told != (cluster.software, cluster.facts):
        cluster.software, cluster.facts = told
        cluster.save(update_fields=["software", "facts"])
