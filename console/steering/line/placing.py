"""Putting jobs in their places: all with the same nice in one command, and only those whose nice changes.

The first in line go first. In the steady state there are at most `COMMANDS` of them in a cycle; where much is to be
done at once, when ordering is switched on or off, more. Each is written down, with a row in the audit log, before it is
sent, and believed when the next look shows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from console.cluster.models import Cluster
from console.core.failpoints import failpoint
from console.steering.actions.lease import Lease
from console.steering.journal import tell_line
from console.steering.line.lines import Lines
from console.steering.line.seeing import place_of, places, save
from console.steering.models import LinePlace
from scheduler.model.actions import Action, ActionKind, OutcomeKind
from scheduler.model.jobs import ObservedJob
from scheduler.model.observation import Observation
from scheduler.ports import ClusterPort

COMMANDS = 2
"""In one cycle."""
MUCH = 10
"""From so many different nices on it is a change of the whole line."""
AT_ONCE = 20
NOT_DONE = frozenset({OutcomeKind.REFUSED, OutcomeKind.GONE})


@dataclass(frozen=True, slots=True)
class NiceChange:
    """Jobs of one line that get one nice."""

    partition: str
    nice: int
    jobs: tuple[str, ...]
    is_ordered: bool


def put_line_in_order(
    cluster: Cluster, adapter: ClusterPort, lease: Lease, lines: Lines, observation: Observation
) -> int:
    """Put the line in order, but for jobs that were sent something before and not seen since; how many were placed."""
    jobs = observation.jobs_by_id
    if not due(lines, jobs):
        return 0
    known = places(cluster)
    settled = {
        job_id: job for job_id, job in jobs.items() if job_id not in known or not known[job_id].unsettled
    }
    return put_in_place(cluster, adapter, lease, due(lines, settled), jobs, known)


def due(lines: Lines, jobs: Mapping[str, ObservedJob]) -> list[NiceChange]:
    """What is to be changed in this cycle, the first in line first."""
    changes: list[tuple[int, NiceChange]] = []
    for one in lines.by_partition.values():
        by_nice: dict[int, list[str]] = {}
        for job_id, nice in one.wanted.items():
            if job_id in jobs and jobs[job_id].nice != nice:
                by_nice.setdefault(nice, []).append(job_id)
        for nice, ids in by_nice.items():
            first = min(one.shown[job_id].number for job_id in ids)
            changes.append((first, NiceChange(one.partition, nice, tuple(ids), one.is_ordered)))
    changes.sort(key=lambda each: (each[0], each[1].partition))
    return [change for _first, change in changes[: COMMANDS if len(changes) < MUCH else AT_ONCE]]


def put_in_place(
    cluster: Cluster,
    adapter: ClusterPort,
    lease: Lease,
    changes: Sequence[NiceChange],
    jobs: Mapping[str, ObservedJob],
    places: Mapping[str, LinePlace],
) -> int:
    """Ask for the changes; returns how many jobs were asked for."""
    if not changes:
        return 0
    moves = [(jobs[job_id], change) for change in changes for job_id in change.jobs]
    failpoint("act.place.due")
    with transaction.atomic():
        lease.renew()
        asked = {
            job.id: _asked(place_of(places, cluster, job, change.partition), job, change)
            for job, change in moves
        }
        save(list(asked.values()))
        for change in changes:
            tell_line(cluster, change.partition, change.nice, change.jobs, ordered=change.is_ordered)
    failpoint("act.place.claimed")
    lease.check()
    actions = [Action(ActionKind.PLACE, job.run, value=str(change.nice)) for job, change in moves]
    outcomes = adapter.apply(actions, lease.may_act)
    failpoint("act.place.applied")
    refused = [
        asked[action.run.job_id]
        for action, outcome in zip(actions, outcomes, strict=True)
        if outcome.kind in NOT_DONE
    ]
    for place in refused:
        place.nice, place.asked_from, place.attempts = place.asked_from or 0, None, 0
    with transaction.atomic():
        lease.renew()
        save(refused)
    failpoint("act.place.settled")
    return len(actions)


def _asked(place: LinePlace, job: ObservedJob, change: NiceChange) -> LinePlace:
    again = place.asked_from == job.nice and place.nice == change.nice
    place.attempts = place.attempts + 1 if again else 1
    place.asked_from, place.nice, place.partition = job.nice, change.nice, change.partition
    return place
