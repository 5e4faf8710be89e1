"""What a partition's rules protect by name: jobs, users, accounts, QOS, by shell-style patterns (case counts)."""

from collections.abc import Iterator, Sequence

from scheduler.model.jobs import ObservedJob
from scheduler.model.policy import PartitionPolicy
from scheduler.model.sentence import say
from scheduler.priority.globs import globs

_LONGEST = 60


def protecting_rule(job: ObservedJob, policy: PartitionPolicy) -> str:
    """The rule that protects a job, in words: `the partition protects the QOS long`; empty when there is none."""
    for patterns, what, texts in _rules(job, policy):
        found = _match(patterns, texts) if patterns else None
        if found:
            text, pattern = found
            name = text[:_LONGEST]
            if pattern == text:
                return say(f"spared.{what}", name=name)
            return say(f"spared.{what}.by", name=name, pattern=pattern[:_LONGEST])
    return ""


def _rules(
    job: ObservedJob, policy: PartitionPolicy
) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """The patterns of each rule, what they are about, and the job's texts that they are held against."""
    yield policy.protected_jobs, "job", (job.id, job.array_job_id, job.name)
    yield policy.protected_users, "user", (job.user,)
    yield policy.protected_accounts, "account", (job.account,)
    yield policy.protected_qos, "QOS", (job.qos,)


def _match(patterns: tuple[str, ...], texts: Sequence[str]) -> tuple[str, str] | None:
    """Which text fits which pattern, the first of each."""
    ready = globs(patterns)
    for text in texts:
        number = ready.first(text) if text else None
        if number is not None:
            return text, patterns[number]
    return None
