"""Patience: what is forecast of running jobs, and who has waited long enough for a start that was forecast (spec 3.1).

Only partitions whose policy is patient, or that keep nodes, are told the ends of running jobs, so that nothing else
depends on them.
A job is patient once: when it has not started within `patience_s` of the moment in which it was first said to start by
itself, others may be stopped for it as ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from console.cluster.models import Cluster
from console.forecasts.selectors import expected_ends, past_ends, version_in_force, whole_runs
from console.steering.models import Patience
from scheduler.model.jobs import JobState, ObservedJob, SnapshotJob
from scheduler.model.plan import Decision
from scheduler.model.policy import Dispatch, PartitionPolicy
from scheduler.model.reasons import Reason


@dataclass(frozen=True, slots=True)
class Foresight:
    """`ends`: by job and start, when a run is expected to end (p80, epoch seconds). `whole`: by job, how many seconds
    its run takes (p80), for a run that has just begun and of which no end was said yet; where nodes are kept only.
    `since`: by partition and job, since when it is patient."""

    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    since: Mapping[tuple[str, str], int] = field(default_factory=dict)
    whole: Mapping[str, int] = field(default_factory=dict)

    def told(self, job: SnapshotJob, policy: PartitionPolicy, now: int) -> SnapshotJob:
        """A job with what is forecast of it; the same where the policy does not look ahead."""
        if not looks_ahead(policy):
            return job
        if job.state == JobState.PENDING:
            if not policy.patience_s:
                return job
            since = self.since.get((policy.name, job.id))
            spent = since is not None and now - since >= policy.patience_s
            return replace(job, patience_spent=True) if spent else job
        end = self.ends.get((job.id, job.start or 0))
        if end is None and job.start and job.id in self.whole:
            end = job.start + self.whole[job.id]
        return job if end is None else replace(job, predicted_end=end)


def looks_ahead(policy: PartitionPolicy) -> bool:
    """Whether a partition's decisions depend on when running jobs end."""
    return policy.patience_s > 0 or policy.dispatch is Dispatch.MANAGED


def foresee(
    cluster: Cluster, policies: Sequence[PartitionPolicy], since: datetime | None = None
) -> Foresight:
    """What is forecast, and who is patient; two queries where a policy is patient, none otherwise.

    `since`: for looks back to then; nobody is patient yet, and of runs that are over it is what was said at first.
    """
    if not any(looks_ahead(policy) for policy in policies):
        return Foresight()
    if since is not None:
        return Foresight(past_ends(cluster, since))
    rows = Patience.objects.filter(cluster=cluster).values_list("partition", "job_id", "since")
    keeps = any(policy.dispatch is Dispatch.MANAGED for policy in policies)
    patient = {(partition, job_id): since for partition, job_id, since in rows}
    return Foresight(expected_ends(cluster), patient, whole_runs(cluster) if keeps else {})


def remember_patience(
    cluster: Cluster,
    policy: PartitionPolicy,
    decisions: Sequence[Decision],
    jobs: Sequence[ObservedJob],
    known: Foresight,
    now: int,
) -> None:
    """Write down who is patient from now on; forget those who do not wait any more."""
    mine = {job_id for partition, job_id in known.since if partition == policy.name}
    if not policy.patience_s:
        return
    rows = Patience.objects.filter(cluster=cluster, partition=policy.name)
    waiting = {job.id for job in jobs if job.state == JobState.PENDING}
    if mine - waiting:
        rows.filter(job_id__in=mine - waiting).delete()
    fresh = [d for d in decisions if d.reason is Reason.STARTS_SOON and d.job not in mine]
    if fresh:
        version = version_in_force(cluster)
        Patience.objects.bulk_create(
            [
                Patience(
                    cluster=cluster,
                    partition=policy.name,
                    job_id=d.job,
                    since=now,
                    at=d.at or now,
                    version=version,
                )
                for d in fresh
            ],
            ignore_conflicts=True,
        )
