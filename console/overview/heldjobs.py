"""Who holds what of which nodes, as the node map needs it."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast

from console.cluster.lookups import HasAnyKey
from console.cluster.models import Job
from scheduler.model.jobs import Level


class HeldJob(NamedTuple):
    """What a node's bar needs of a job that holds a part of it: thousands are read for a map, so no more than this."""

    job_id: str
    name: str
    user: str
    level: Level
    alloc: Mapping[str, Mapping[str, int]]


def held_jobs(jobs: QuerySet[Job], axis: str, nodes: Collection[str]) -> list[HeldJob]:
    """Jobs that hold something on some of these nodes; `axis` is the level that colours them. One query."""
    if not nodes:
        return []
    # Most jobs are on one node, which an index finds; with OR no database would use it. The others' JSON is read.
    parts = (jobs.filter(on_node__in=nodes), jobs.filter(HasAnyKey(F("alloc"), list(nodes)), on_node=""))
    columns = ("job_id", "name", "user", axis, Cast("alloc", TextField()))
    one, several = (part.order_by().values_list(*columns) for part in parts)
    rows: Iterable[tuple[str, str, str, Level, str]] = one.union(several, all=True)
    return [
        HeldJob(job_id, name, user, level, json.loads(alloc)) for job_id, name, user, level, alloc in rows
    ]
