"""How the lines of all partitions are to stand, by this cycle's verdicts. Nothing is written here.

- Where the policy enforces `order: levels` and nothing is paused, jobs stand by level.
- Elsewhere, in a partition that stops jobs, only those that were stopped or put first keep their places.
- In shadow, and while paused, everybody is where Slurm has them; how they would stand is worked out all the same.
A job that waits in several partitions stands in the line of the first of them that is ordered.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from console.steering.decisions.deciding import Verdicts
from console.steering.line.seeing import is_in_line
from console.steering.models import LinePlace
from scheduler.model.jobs import JobState, ObservedJob, SnapshotJob
from scheduler.model.policy import Enforcement, LineOrder
from scheduler.priority import line
from scheduler.priority.line import PlaceInLine, Waiting

FIXED_AFTER = 3
"""A nice that was asked for so often and is not seen: somebody has fixed the priority, so Slurm ignores it."""


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """One partition's line. `shown`: how it stands by level, or would (`is_ordered` says which).

    `wanted`: the nice of each of its jobs; `at`: the priority at which a held one is let go.
    """

    partition: str
    is_ordered: bool
    shown: Mapping[str, PlaceInLine] = field(default_factory=dict)
    wanted: Mapping[str, int] = field(default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Lines:
    """The lines of a cluster, by partition. Empty until they are worked out."""

    by_partition: dict[str, PartitionLine] = field(default_factory=dict)

    def release_at(self, job_id: str) -> int | None:
        """The priority that a held job is to have when it is let go; None where Slurm's own will do."""
        return next((one.at[job_id] for one in self.by_partition.values() if job_id in one.at), None)


def work_out(
    verdicts: Iterable[Verdicts],
    jobs: Mapping[str, ObservedJob],
    places: Mapping[str, LinePlace],
    since: Mapping[str, int],
    beneficiaries: frozenset[str],
    held: Callable[[str], bool],
) -> Lines:
    """`since`: when jobs were first submitted, where that is not what Slurm says now. `beneficiaries`: jobs that a plan
    puts first. `held`: whether nothing may be begun in a partition."""
    decided = {v.facts.row.name: v for v in verdicts if not v.is_undecided and not held(v.facts.row.name)}
    ordered = {name for name, verdict in decided.items() if is_ordered(verdict)}
    members: dict[str, list[str]] = {name: [] for name in decided}
    for job in jobs.values():
        theirs = [name for name in job.partitions if name in decided]
        if job.state is JobState.PENDING and theirs and job.id not in beneficiaries:
            home = next((name for name in theirs if name in ordered), theirs[0])
            members[home].append(job.id)
    lines = Lines()
    for name, ids in members.items():
        waiting = [
            found
            for job_id in ids
            if (found := _waiting(decided[name], jobs[job_id], places.get(job_id), since)) is not None
        ]
        lines.by_partition[name] = _line(decided[name], waiting, places)
    return lines


def is_ordered(verdicts: Verdicts) -> bool:
    """Whether a partition's line stands by level."""
    facts = verdicts.facts
    enforced = facts.policy.enforcement is Enforcement.ENFORCE
    return enforced and facts.policy.order is LineOrder.LEVELS and not facts.paused


def _keeps_places(verdicts: Verdicts) -> bool:
    facts = verdicts.facts
    return facts.policy.enforcement is not Enforcement.SHADOW and not facts.paused


def _waiting(
    verdicts: Verdicts, job: ObservedJob, place: LinePlace | None, since: Mapping[str, int]
) -> Waiting | None:
    """A job in line; one that is held counts where its place is kept."""
    kept = place.kept if place is not None else None
    planned = verdicts.jobs.get(job.id)
    if planned is None or not (is_in_line(job) or (job.held and kept is not None)):
        return None
    return Waiting(
        job.id,
        _band(verdicts, planned),
        job.priority,
        job.nice,
        since=since.get(job.id, job.submit),
        own_nice=place.own_nice if place is not None else job.nice,
        kept=kept,
        held=job.held,
    )


def _band(verdicts: Verdicts, job: SnapshotJob) -> int:
    policy = verdicts.facts.policy
    return line.band(policy.mode, len(policy.levels), job.user_level, job.task_level)


def _line(verdicts: Verdicts, waiting: Sequence[Waiting], places: Mapping[str, LinePlace]) -> PartitionLine:
    policy, name = verdicts.facts.policy, verdicts.facts.row.name
    by_level = policy.order is LineOrder.LEVELS
    count = line.bands(policy.mode, len(policy.levels)) if by_level else 1
    members = waiting if by_level else [replace(job, band=0) for job in waiting]
    shown = line.stand(members, count)
    ordered = is_ordered(verdicts)
    wished: Mapping[str, PlaceInLine] = {}
    if ordered:
        wished = shown
    elif _keeps_places(verdicts):
        wished = line.stand(waiting, 1)  # Kept places count inside a level here, too.
    wanted = {
        job.id: wished[job.id].nice if job.id in wished else job.own_nice
        for job in waiting
        if not job.held and not _is_fixed(job, places.get(job.id))
    }
    at = {job.id: wished[job.id].priority for job in waiting if job.held and job.id in wished}
    return PartitionLine(name, ordered, shown, wanted, at)


def _is_fixed(job: Waiting, place: LinePlace | None) -> bool:
    return place is not None and place.attempts >= FIXED_AFTER and job.nice == place.asked_from
