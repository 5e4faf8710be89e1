"""One way to decide, look after look: what it stops and whom it lets wait, with what it did before kept in mind."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from console.history.changes import HypotheticalChange
from console.history.what_if import decided, side_of
from console.steering.decisions.deciding import Verdicts
from console.steering.decisions.facts import Facts
from console.steering.decisions.putting_off import PuttingOff
from console.steering.decisions.stops import Stops
from console.steering.work import Work, add_work, work_of
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.observation import Observation
from scheduler.model.plan import PlanningResult
from scheduler.model.policy import Enforcement
from scheduler.reconcile.compare import NamedLevel, PolicyEffect, effect_of
from scheduler.reconcile.decide import Outstanding

HOUR_S = 3600


@dataclass(slots=True)
class Look:
    """What one look comes to. `waiting`: jobs that lack only room and get none, by level."""

    stops: int = 0
    jobs: int = 0
    work: Work = field(default_factory=dict)
    waiting: dict[NamedLevel, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplayScope:
    """The partitions that are told of, those that have to be decided for it, and those whose plans count as carried
    out."""

    names: frozenset[str]
    group: frozenset[str]
    carried_out: frozenset[str]


def acting(facts: Facts, change: HypotheticalChange, names: frozenset[str]) -> frozenset[str]:
    """Those of the partitions in which plans are carried out, or put before a person."""
    policies = {name: change.policies.get(name, facts.partitions[name].policy) for name in names}
    return frozenset(
        name for name, policy in policies.items() if policy.enforcement is not Enforcement.SHADOW
    )


class LookReplay:
    """Decides one recorded look after another."""

    def __init__(self, facts: Facts, change: HypotheticalChange, scope: ReplayScope) -> None:
        self._facts = replace(
            facts,
            stops=Stops(),
            plans=(),
            quota_held=frozenset(),
            refused=frozenset(),
            backed_off={},
            put_off=PuttingOff(facts.put_off.now),
            rejections={},
            partitions={name: replace(each, paused="") for name, each in facts.partitions.items()},
        )
        self._change, self._scope = change, scope
        self._outstanding = Outstanding()
        self._stopped: list[tuple[int, str, str, str]] = []
        """Moment, partition, user and job of each stop."""

    def decide(self, observation: Observation) -> Look:
        """Decide one look; they must come in the order in which they were taken."""
        self._forget(observation)
        facts = replace(self._facts, outstanding=self._outstanding, stops=self._stops(observation.taken_at))
        look = Look()
        gets_room: set[str] = set()
        waits: dict[str, NamedLevel] = {}
        for name, verdicts in decided(observation, facts, self._change, self._scope.group).items():
            if name in self._scope.names:
                effect = effect_of(side_of(verdicts), carried_out=name in self._scope.carried_out)
                self._count(look, name, verdicts, effect)
                gets_room |= effect.starts.keys()
                waits |= dict(_waiting(verdicts))
        for job, level in waits.items():
            if job not in gets_room:
                look.waiting[level] = look.waiting.get(level, 0) + 1
        return look

    def _count(self, look: Look, name: str, verdicts: Verdicts, effect: PolicyEffect) -> None:
        for stop in effect.stops.values():
            look.stops += 1
            add_work(look.work, work_of({"amounts": stop.amounts, "ran_s": stop.ran_s}))
            self._stopped.append((verdicts.snapshot.now, name, stop.victim.user, stop.victim.job))
        if effect.stops:
            made = tuple(each for each in verdicts.decisions if each.victims)
            look.jobs += len(made)
            self._outstanding = self._outstanding.plus(PlanningResult(name, made), verdicts.snapshot)

    def _forget(self, observation: Observation) -> None:
        """Whoever got room needs none any more when the record has it running, or gone."""
        pending = {job.id for job in observation.jobs if job.state is JobState.PENDING}
        running = {job.run for job in observation.jobs if job.state is JobState.RUNNING}
        self._outstanding = replace(
            self._outstanding,
            beneficiaries={
                job: room for job, room in self._outstanding.beneficiaries.items() if job in pending
            },
            victims=self._outstanding.victims & running,
        )

    def _stops(self, now: int) -> Stops:
        """The stops so far, as the limits count them."""
        within: dict[str, dict[str, int]] = {}
        times: dict[str, int] = {}
        for at, partition, user, job in self._stopped:
            times[job] = times.get(job, 0) + 1
            if at > now - HOUR_S:
                theirs = within.setdefault(partition, {})
                theirs[user] = theirs.get(user, 0) + 1
        return Stops(within_hour=within, times=times)


def _waiting(verdicts: Verdicts) -> Iterable[tuple[str, NamedLevel]]:
    """Pending jobs that lack only room, with the level that decides first; for those with a promise room is made."""
    policy = verdicts.facts.policy
    by_user = policy.mode.value.startswith("user")
    for job in verdicts.snapshot.jobs:
        if job.state is JobState.PENDING and not job.blocked and not job.promised:
            rank = _level(job, by_user=by_user)
            yield job.id, NamedLevel(rank, policy.level_name(rank))


def _level(job: SnapshotJob, *, by_user: bool) -> int | None:
    return job.user_level if by_user else job.task_level
