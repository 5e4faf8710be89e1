"""A partition's line of one minute, added up from the mirror and the stops."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Sum

from console.cluster.models import Cluster, Job, JobPhase, Node
from console.history.models import PartitionMinute
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.steering.metrics import stops_of
from console.steering.models import STOP_KINDS, ActionState, PlannedAction
from console.steering.selectors import Work, add_work, work_of
from scheduler.model.policy import Mode
from scheduler.model.resources import add

USER, TASK = "user", "task"
UNCONFIGURED = "none"
_COUNTED: dict[str, str] = {JobPhase.RUNNING: "running", JobPhase.PENDING: "pending"}


@dataclass(slots=True)
class StoppedRuns:
    """Runs stopped in a partition and the work these had done."""

    runs: int = 0
    work: Work = field(default_factory=dict)


def axis_of(mode: Mode) -> str:
    """Whose level comes first in a mode: the user's or the task's."""
    return USER if mode in {Mode.USER, Mode.USER_THEN_TASK} else TASK


def level_key(level: int | None) -> str:
    """A level as the record writes it."""
    return UNCONFIGURED if level is None else str(level)


def minute_rows(
    cluster: Cluster, minute: datetime, *, since: datetime, until: datetime
) -> list[PartitionMinute]:
    """A row for every partition with a policy, not saved; five queries. What came to pass is that after `since`."""
    partitions = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    made = {
        row.name: PartitionMinute(
            cluster=cluster, partition=row.name, at=minute, axis=axis_of(policy_of(row).mode)
        )
        for row in partitions
    }
    _add_nodes(cluster, made)
    _add_jobs(cluster, made)
    _add_starts(cluster, made, since, until)
    for name, stopped in stopped_between(cluster, since, until).items():
        if name in made:
            made[name].stops, made[name].work_lost = stopped.runs, stopped.work
    return list(made.values())


def _add_nodes(cluster: Cluster, made: Mapping[str, PartitionMinute]) -> None:
    rows = Node.objects.filter(cluster=cluster, up=True).values_list("partitions", "total", "used")
    for partitions, total, used in rows:
        for name in partitions:
            if name in made:
                add(made[name].total, total)
                add(made[name].used, used)


def _add_jobs(cluster: Cluster, made: Mapping[str, PartitionMinute]) -> None:
    rows = Job.objects.filter(cluster=cluster, phase__in=_COUNTED).order_by()
    grouped = rows.values("partition", "phase", "user_level", "task_level").annotate(jobs=Count("pk"))
    for group in grouped:
        row = made.get(group["partition"])
        if row is not None:
            counts: dict[str, int] = getattr(row, _COUNTED[group["phase"]])
            add(counts, {_level(group, row): group["jobs"]})


def _add_starts(
    cluster: Cluster, made: Mapping[str, PartitionMinute], since: datetime, until: datetime
) -> None:
    """Starts by the cluster's clock, taken as the console's; what started and ended since is not among them."""
    rows = Job.objects.filter(
        cluster=cluster,
        phase__in=(JobPhase.RUNNING, JobPhase.COMPLETING),
        start__gt=int(since.timestamp()),
        start__lte=int(until.timestamp()),
    ).order_by()
    grouped = rows.values("partition", "user_level", "task_level").annotate(
        jobs=Count("pk"), waited=Sum(F("start") - F("submit"))
    )
    for group in grouped:
        row = made.get(group["partition"])
        if row is not None:
            jobs, waited = row.started.get(_level(group, row), (0, 0))
            row.started[_level(group, row)] = [jobs + group["jobs"], waited + max(0, group["waited"])]


def _level(group: Mapping[str, Any], row: PartitionMinute) -> str:
    return level_key(group[f"{row.axis}_level"])


def stopped_between(cluster: Cluster, since: datetime, until: datetime) -> dict[str, StoppedRuns]:
    """By partition: the stops that were seen to have worked after `since` and not after `until`."""
    rows = PlannedAction.objects.filter(
        cluster=cluster,
        kind__in=STOP_KINDS,
        state=ActionState.VERIFIED,
        verified_at__gt=since,
        verified_at__lte=until,
        issued_at__isnull=False,
    )
    found: dict[str, StoppedRuns] = defaultdict(StoppedRuns)
    runs = {(row.job_id, row.run_start, row.run_restarts): row for row in rows.select_related("plan")}
    for stop in stops_of(runs.values()):
        found[stop.partition].runs += 1
        add_work(
            found[stop.partition].work, work_of({"amounts": stop.amounts, "ran_s": stop.ran_s - stop.kept_s})
        )
    return found
