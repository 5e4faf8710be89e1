"""Looking again before stopping: may these victims still be stopped for this beneficiary?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scheduler.model.jobs import JobState, ObservedJob, RunKey, SnapshotJob
from scheduler.model.observation import Observation
from scheduler.model.policy import OverQuota, PartitionPolicy, ProjectFacts
from scheduler.model.sentence import say
from scheduler.preemption.quotas import Quotas, beyond_quota
from scheduler.preemption.ranking import PreemptionScope, Ranking
from scheduler.priority.derive import Deriver
from scheduler.priority.levels import weight
from scheduler.reconcile.blocking import starts_jobs, why_protected
from scheduler.reconcile.build import rules_of
from scheduler.reconcile.snapshot_jobs import snapshot_job

_NOTHING = weight(None)


def why_spared(  # noqa: PLR0913 - the facts of the decision, once more
    observation: Observation,
    policy: PartitionPolicy,
    projects: Sequence[ProjectFacts],
    *,
    beneficiary: str,
    victims: frozenset[RunKey],
    preemptions: Mapping[str, int],
    served: frozenset[tuple[str, int]] = frozenset(),
    or_equal: bool = False,
) -> str:
    """Why `victims` must not be stopped (any more) for `beneficiary`, in words; empty when they may.

    1. The beneficiary waits, in a partition in which jobs start.
    2. No victim that still runs has become protected.
    3. Each of them still ranks below the beneficiary, quotas taken into account as the planner does; `served`: job id
       and restarts of the runs that others were stopped for, which keep their slots. `or_equal`: it is enough that none
       ranks above it.
    """
    jobs = {job.id: job for job in observation.jobs}
    waiting = jobs.get(beneficiary)
    if waiting is None or waiting.state is not JobState.PENDING:
        return say("again.waits_no_more", job=beneficiary)
    state = next((part.state for part in observation.partitions if part.name == policy.name), "INACTIVE")
    if not starts_jobs(state):
        return say("again.partition", job=beneficiary, state=state.upper()[:40])
    running = [
        job for run in victims if (job := jobs.get(run.job_id)) and _is_running(job) and job.run == run
    ]
    for job in sorted(running, key=lambda job: job.id):
        protected = why_protected(job, policy, preemptions.get(job.id, 0), observation.taken_at)
        if protected:
            return say("again.spared", job=job.id, why=protected)
    ranks = _Ranks(observation, policy, projects, served, or_equal=or_equal)
    return ranks.why_not_below(waiting, running)


class _Ranks:
    """Who ranks where in the partition now."""

    def __init__(
        self,
        observation: Observation,
        policy: PartitionPolicy,
        projects: Sequence[ProjectFacts],
        served: frozenset[tuple[str, int]],
        *,
        or_equal: bool,
    ) -> None:
        self._served = served
        self._or_equal = or_equal
        self._rules = rules_of(policy)
        # As for the planner: what a job holds on a node that left the partition is none of the partition's.
        self._nodes = frozenset(
            name for part in observation.partitions if part.name == policy.name for name in part.nodes
        )
        self._deriver = Deriver(policy, projects, observation.taken_at)
        self._ranking = Ranking.of(self._rules)
        # Levels of all running jobs are wanted only where quotas make them matter.
        counted = (
            [
                self._placed(job)
                for job in observation.jobs
                if _is_running(job) and policy.name in job.partitions
            ]
            if self._rules.has_quotas
            else []
        )
        self._quotas = Quotas(self._rules, counted)
        self._demoted = beyond_quota(self._rules, counted)

    def why_not_below(self, beneficiary: ObservedJob, victims: Iterable[ObservedJob]) -> str:
        """Which victim does not rank below the beneficiary, in words; empty when all do."""
        waiting = self._placed(beneficiary)
        scope = self._ranking.scope(*self._ranking.weights(waiting))
        if self._quotas.over(waiting):
            if self._rules.over_quota is not OverQuota.LOWEST:
                return say("again.quota", job=beneficiary.id)
            scope = self._ranking.scope(_NOTHING, _NOTHING)
        for victim in sorted(victims, key=lambda job: job.id):
            if not self._is_below(scope, self._placed(victim)):
                return say("again.rank", job=victim.id, other=beneficiary.id)
        return ""

    def _is_below(self, scope: PreemptionScope, victim: SnapshotJob) -> bool:
        weights = (_NOTHING, _NOTHING) if victim.id in self._demoted else self._ranking.weights(victim)
        if self._or_equal:
            return not self._ranking.is_above(scope, *weights)
        return scope.class_of(*weights) is not None

    def _placed(self, job: ObservedJob) -> SnapshotJob:
        placed = snapshot_job(job, self._deriver.derive(job), self._nodes)
        return replace(placed, beneficiary=True) if (job.id, job.restarts) in self._served else placed


def _is_running(job: ObservedJob) -> bool:
    return job.state is JobState.RUNNING
