"""Putting jobs in their places: all with the same nice in one command, and only those whose nice changes.

The first in line go first. In the steady state there are at most `COMMANDS` of them in a cycle; where much is to be
done at once, when ordering is switched on or off, more. Each is written down, with a row in the audit log, before it is
sent, and believed when the next look shows it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from console.cluster.models import Cluster
from console.steering.context import CycleContext
from console.steering.failures import Failures
from console.steering.journal import tell_line
from console.steering.lease import Lease
from console.steering.ledger import execute
from console.steering.lines import Lines, as_seen, is_in_line, place_of, places, save
from console.steering.models import LinePlace
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import ObservedJob
from scheduler.ports import ClusterPort, ClusterUnavailableError

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


def put_line_in_order(cluster: Cluster, context: CycleContext) -> int:
    """Put the line in order, but for jobs that were sent something before and not seen since; how many were placed."""
    jobs, lines = context.observation.jobs_by_id, context.lines
    if not due(lines, jobs):
        return 0
    known = places(cluster)
    settled = {
        job_id: job for job_id, job in jobs.items() if job_id not in known or not known[job_id].unsettled
    }
    return put_in_place(cluster, context, due(lines, settled), known)


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
    cluster: Cluster, context: CycleContext, changes: Sequence[NiceChange], places: Mapping[str, LinePlace]
) -> int:
    """Ask for the changes; returns how many jobs were asked for."""
    if not changes:
        return 0
    jobs = context.observation.jobs_by_id
    moves = [(jobs[job_id], change) for change in changes for job_id in change.jobs]

    def claim() -> list[tuple[LinePlace, Action]]:
        asked = [
            (_asked(place_of(places, cluster, job, change.partition), job, change), job, change)
            for job, change in moves
        ]
        save([place for place, _, _ in asked])
        for change in changes:
            tell_line(cluster, change.partition, change.nice, change.jobs, ordered=change.is_ordered)
        return [
            (place, Action(ActionKind.PLACE, job.run, value=str(change.nice))) for place, job, change in asked
        ]

    return execute(context, ActionKind.PLACE, claim, _settle)


def _settle(outcomes: Iterable[tuple[LinePlace, ActionOutcome]]) -> None:
    refused = [place for place, outcome in outcomes if outcome.kind in NOT_DONE]
    for place in refused:
        place.nice, place.asked_from, place.attempts = place.asked_from or 0, None, 0
    save(refused)


def _asked(place: LinePlace, job: ObservedJob, change: NiceChange) -> LinePlace:
    again = place.asked_from == job.nice and place.nice == change.nice
    place.attempts = place.attempts + 1 if again else 1
    place.asked_from, place.nice, place.partition = job.nice, change.nice, change.partition
    return place


# Giving every waiting job back its own nice, at once and whatever the policies say.


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
