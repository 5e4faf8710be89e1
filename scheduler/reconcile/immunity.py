"""Immune jobs: those that run and are not stopped for anybody, because Slurm does not requeue them.

Protection by the partition's rules is something else: there a person has decided who is left alone.
"""

from dataclasses import replace
from enum import StrEnum

from scheduler.model.jobs import ObservedJob
from scheduler.model.observation import Observation
from scheduler.model.policy import NotRequeueable, PartitionPolicy
from scheduler.model.sentence import Seconds, say
from scheduler.priority.globs import globs


class Immunity(StrEnum):
    """Why Slurm does not requeue a job."""

    HET = "het"
    INTERACTIVE = "interactive"
    NO_REQUEUE = "no_requeue"
    """As far as is known it has been so since it was submitted."""
    CHANGED = "changed"
    """It was requeueable before."""


WORDS = {
    Immunity.HET: say("spared.het"),
    Immunity.INTERACTIVE: say("spared.interactive"),
    Immunity.NO_REQUEUE: say("spared.no_requeue"),
    Immunity.CHANGED: say("spared.changed"),
}


def not_requeued(job: ObservedJob) -> Immunity | None:
    """Why Slurm does not requeue the job; None when it does."""
    if job.het_job_id:
        return Immunity.HET
    if not job.batch:
        return Immunity.INTERACTIVE
    if job.requeue:
        return None
    return Immunity.CHANGED if job.was_requeueable else Immunity.NO_REQUEUE


def immunity(job: ObservedJob, policy: PartitionPolicy, now: int) -> Immunity | None:
    """Why the job is not stopped, as far as that lies in its not being requeued; None when that is no hindrance."""
    why = not_requeued(job)
    if why in (None, Immunity.HET) or policy.not_requeueable is NotRequeueable.LEAVE:
        return why
    if policy.not_requeueable is NotRequeueable.CANCEL:
        return why if _has_notice(job, policy, now) else None
    return None if to_be_allowed(job, policy) else why


def to_be_allowed(job: ObservedJob, policy: PartitionPolicy) -> bool:
    """Whether the job is to be made requeueable again: it was so before, and its user may not change that."""
    return (
        policy.not_requeueable is NotRequeueable.REQUEUE
        and not_requeued(job) is Immunity.CHANGED
        and globs(policy.no_requeue_users).first(job.user) is None
    )


def in_words(why: Immunity, policy: PartitionPolicy) -> str:
    """The immunity as a clause for people."""
    words = WORDS[why]
    if why is Immunity.HET or policy.not_requeueable is not NotRequeueable.CANCEL:
        return words
    return say("spared.notice", why=words, time=Seconds(policy.cancel_notice_s))


def must_be_cancelled(job: ObservedJob, policy: PartitionPolicy) -> bool:
    """Whether stopping the job means ending it, because Slurm does not requeue it."""
    return not_requeued(job) is not None and not to_be_allowed(job, policy)


def recalled(observation: Observation, before: Observation) -> Observation:
    """A newer look with what the one before it knew of earlier ones."""
    known = {job.id: job for job in before.jobs}
    jobs = tuple(
        _with_past(job, known[job.id], observation.taken_at) if not_requeued(job) and job.id in known else job
        for job in observation.jobs
    )
    return replace(observation, jobs=jobs)


def _with_past(job: ObservedJob, before: ObservedJob, now: int) -> ObservedJob:
    """A job that is not requeued, given how it was a moment ago."""
    since = before.no_requeue_since
    was = not job.requeue and (before.requeue or before.was_requeueable)
    return replace(job, was_requeueable=was, no_requeue_since=now if was and since is None else since)


def _has_notice(job: ObservedJob, policy: PartitionPolicy, now: int) -> bool:
    """Whether the time of notice before a cancellation is not over."""
    since = now if job.no_requeue_since is None else job.no_requeue_since
    return now - since < policy.cancel_notice_s
