"""Two plans of one partition over one observation, compared: what a changed policy or project would change.

Both sides have the same jobs. What a side plans counts only if that side acts: in shadow nobody is stopped. Where
neither side acts, their plans are compared as if they were carried out: that is what a person in shadow asks about.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.model.jobs import JobState, Level, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.policy import Enforcement, PartitionPolicy
from scheduler.model.resources import total
from scheduler.model.snapshot import Snapshot
from scheduler.priority.derive import JobStanding


@dataclass(frozen=True, slots=True)
class DecidedSide:
    """One way to decide: the policy, where each job stands by it, and what was decided on which snapshot."""

    policy: PartitionPolicy
    snapshot: Snapshot
    standings: Mapping[str, JobStanding]
    decisions: Sequence[Decision]

    @property
    def acts(self) -> bool:
        """Whether its plans are carried out, or put before a person who may have them carried out."""
        return self.policy.enforcement is not Enforcement.SHADOW


@dataclass(frozen=True, slots=True)
class NamedLevel:
    """A level's rank and what people call it in that policy."""

    rank: Level
    name: str


@dataclass(frozen=True, slots=True)
class Move:
    """Jobs of one user, or of one name, that change from one level to another: how many run, how many wait."""

    who: str
    before: NamedLevel
    after: NamedLevel
    running: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """A job as the answer tells it, with its levels in the side that it is told of."""

    job: str
    name: str
    user: str
    user_level: NamedLevel
    task_level: NamedLevel


@dataclass(frozen=True, slots=True)
class ComparedStop:
    """A running job that is stopped, and the one that it is stopped for. `amounts`: all that it holds."""

    victim: ComparedJob
    beneficiary: ComparedJob
    how: How
    ran_s: int
    amounts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Start:
    """A waiting job that starts; `stops`: how many others are stopped for it. `nodes`: where."""

    job: ComparedJob
    nodes: tuple[str, ...]
    stops: int = 0


@dataclass(frozen=True, slots=True)
class PolicyEffect:
    """All that a side comes to at this moment, by job."""

    stops: Mapping[str, ComparedStop] = field(default_factory=dict)
    starts: Mapping[str, Start] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changes in one partition. `users` and `tasks` move; the rest is told by the side it is part of."""

    partition: str
    before: DecidedSide
    after: DecidedSide
    was: PolicyEffect
    becomes: PolicyEffect
    users: tuple[Move, ...]
    tasks: tuple[Move, ...]

    @property
    def only_planned(self) -> bool:
        """Neither side acts: it is about plans that nobody carries out."""
        return not (self.before.acts or self.after.acts)

    @property
    def stopped(self) -> list[ComparedStop]:
        """Runs that are stopped only after the change."""
        return [stop for job, stop in self.becomes.stops.items() if job not in self.was.stops]

    @property
    def spared(self) -> list[ComparedStop]:
        """Runs that are stopped only without the change."""
        return [stop for job, stop in self.was.stops.items() if job not in self.becomes.stops]

    @property
    def started(self) -> list[Start]:
        """Waiting jobs that start only after the change."""
        return [start for job, start in self.becomes.starts.items() if job not in self.was.starts]

    @property
    def kept_waiting(self) -> list[Start]:
        """Waiting jobs that start only without the change."""
        return [start for job, start in self.was.starts.items() if job not in self.becomes.starts]

    @property
    def nothing(self) -> bool:
        """Whether nothing changes for anybody who is there now."""
        differs = self.stopped or self.spared or self.started or self.kept_waiting
        return not (self.users or self.tasks or differs)


def compare(before: DecidedSide, after: DecidedSide) -> Comparison:
    """What changes from one side to the other; both are of the same partition and observation."""
    neither = not (before.acts or after.acts)
    users, tasks = _moves(before, after)
    return Comparison(
        partition=after.policy.name,
        before=before,
        after=after,
        was=effect_of(before, carried_out=before.acts or neither),
        becomes=effect_of(after, carried_out=after.acts or neither),
        users=users,
        tasks=tasks,
    )


def effect_of(side: DecidedSide, *, carried_out: bool) -> PolicyEffect:
    """What a side's decisions come to: who is stopped for whom, who starts. Where they are not carried out, only
    what starts in free room."""
    jobs = {job.id: job for job in side.snapshot.jobs}
    stops: dict[str, ComparedStop] = {}
    starts: dict[str, Start] = {}
    for decision in side.decisions:
        makes_room = carried_out and (decision.victims or decision.lead)
        if not (decision.action is DecisionKind.START or makes_room):
            continue
        told = _told(jobs[decision.job], side.policy)
        starts[decision.job] = Start(told, decision.nodes, len(decision.victims))
        for victim in decision.victims:
            stops[victim.job] = _stop(jobs[victim.job], told, victim.how, side)
    return PolicyEffect(stops, starts)


def _stop(job: SnapshotJob, beneficiary: ComparedJob, how: How, side: DecidedSide) -> ComparedStop:
    ran = max(0, side.snapshot.now - (job.start or side.snapshot.now))
    return ComparedStop(_told(job, side.policy), beneficiary, how, ran, total(job.alloc.values()))


def _told(job: SnapshotJob, policy: PartitionPolicy) -> ComparedJob:
    return ComparedJob(
        job.id, job.name, job.user, _named(policy, job.user_level), _named(policy, job.task_level)
    )


def _named(policy: PartitionPolicy, level: Level) -> NamedLevel:
    return NamedLevel(level, policy.level_name(level))


def _moves(before: DecidedSide, after: DecidedSide) -> tuple[tuple[Move, ...], tuple[Move, ...]]:
    """Who changes level, by user and by job name. A level is the same as long as it is called the same: a new one
    above it moves its rank, but for whoever is in it nothing has been renamed."""
    users: dict[tuple[str, NamedLevel, NamedLevel], list[int]] = {}
    tasks: dict[tuple[str, NamedLevel, NamedLevel], list[int]] = {}
    for job in after.snapshot.jobs:
        was, becomes = before.standings.get(job.id), after.standings.get(job.id)
        if was is None or becomes is None or job.state is JobState.COMPLETING:
            continue
        _count(users, job.user, job, _pair(before, after, was.user_level, becomes.user_level))
        _count(tasks, job.name, job, _pair(before, after, was.task_level, becomes.task_level))
    return _listed(users), _listed(tasks)


def _pair(
    before: DecidedSide, after: DecidedSide, was: Level, becomes: Level
) -> tuple[NamedLevel, NamedLevel]:
    return _named(before.policy, was), _named(after.policy, becomes)


def _count(
    into: dict[tuple[str, NamedLevel, NamedLevel], list[int]],
    who: str,
    job: SnapshotJob,
    levels: tuple[NamedLevel, NamedLevel],
) -> None:
    if levels[0].name != levels[1].name:
        counts = into.setdefault((who, *levels), [0, 0])
        counts[job.state is JobState.PENDING] += 1


def _listed(counts: Mapping[tuple[str, NamedLevel, NamedLevel], Iterable[int]]) -> tuple[Move, ...]:
    """Those with the most jobs first."""
    moves = [Move(*key, *numbers) for key, numbers in counts.items()]
    return tuple(sorted(moves, key=lambda move: (-move.running - move.waiting, move.who, move.before.name)))
