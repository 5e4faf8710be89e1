"""Giving every waiting job back its own nice, at once and whatever the policies say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import transaction

from console.cluster.models import Cluster
from console.steering.actions.lease import Lease
from console.steering.context import CycleContext
from console.steering.failures import Failures
from console.steering.line.placing import NiceChange, put_in_place
from console.steering.line.seeing import as_seen, is_in_line
from console.steering.models import LinePlace
from scheduler.ports import ClusterPort, ClusterUnavailableError


@dataclass(frozen=True, slots=True)
class Reset:
    """How many jobs were given back their own nice, and in words which were not."""

    given_back: int
    left: tuple[str, ...] = field(default=())


def reset(cluster: Cluster, adapter: ClusterPort, lease: Lease) -> Reset:
    """Give it back and look whether it is so. Raises `ClusterUnavailableError`, `LeaseLostError`."""
    context = _look(adapter, lease)
    jobs, places = context.observation.jobs_by_id, _places(cluster, context)
    by_nice: dict[tuple[str, int], list[str]] = {}
    for job_id, place in places.items():
        if job_id in jobs and is_in_line(jobs[job_id]) and jobs[job_id].nice != place.own_nice:
            by_nice.setdefault((place.partition, place.own_nice), []).append(job_id)
    changes = [NiceChange(name, nice, tuple(ids), is_ordered=False) for (name, nice), ids in by_nice.items()]
    put_in_place(cluster, context, changes, places)
    context = _look(adapter, lease)
    jobs, places = context.observation.jobs_by_id, _places(cluster, context)
    asked = [job_id for change in changes for job_id in change.jobs]
    left = [
        f"{job_id} still has nice {jobs[job_id].nice}."
        for job_id in asked
        if job_id in jobs and is_in_line(jobs[job_id]) and jobs[job_id].nice != places[job_id].own_nice
    ]
    return Reset(len(asked) - len(left), tuple(left))


def _look(adapter: ClusterPort, lease: Lease) -> CycleContext:
    observation = adapter.observe()
    if observation.degraded:
        raise ClusterUnavailableError("; ".join(observation.faults[:5]))
    return CycleContext(adapter, observation, lease, Failures())


def _places(cluster: Cluster, context: CycleContext) -> Mapping[str, LinePlace]:
    with transaction.atomic():
        context.lease.renew()
        return as_seen(cluster, context.observation.jobs_by_id)
