"""What a partition's rules protect by name: jobs, users, accounts, QOS, by shell-style patterns (case counts)."""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from re import Pattern

from scheduler.model.jobs import ObservedJob
from scheduler.model.policy import PartitionPolicy

_LONGEST = 60


def protecting_rule(job: ObservedJob, policy: PartitionPolicy) -> str:
    """The rule that protects a job, in words: `the partition protects the QOS long`; empty when there is none."""
    for patterns, what, texts in _rules(job, policy):
        found = _matcher(patterns)(texts) if patterns else None
        if found:
            text, pattern = found
            by = "" if pattern == text else f" (by {pattern[:_LONGEST]})"
            return f"the partition protects the {what} {text[:_LONGEST]}{by}"
    return ""


def _rules(
    job: ObservedJob, policy: PartitionPolicy
) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """The patterns of each rule, what they are about, and the job's texts that they are held against."""
    yield policy.protected_jobs, "job", (job.id, job.array_job_id, job.name)
    yield policy.protected_users, "user", (job.user,)
    yield policy.protected_accounts, "account", (job.account,)
    yield policy.protected_qos, "QOS", (job.qos,)


@lru_cache(maxsize=256)
def _matcher(patterns: tuple[str, ...]) -> Callable[[Sequence[str]], tuple[str, str] | None]:
    """Which text fits which pattern, the first of each; compiled once for all jobs of a partition.

    Most jobs fit none: one expression of all patterns says so.
    """
    any_of_them = re.compile("|".join(map(translate, patterns)))
    each = [(pattern, re.compile(translate(pattern))) for pattern in patterns]

    def match(texts: Sequence[str]) -> tuple[str, str] | None:
        for text in texts:
            if text and any_of_them.match(text):
                return text, _first(each, text)
        return None

    return match


def _first(each: Sequence[tuple[str, Pattern[str]]], text: str) -> str:
    return next(pattern for pattern, regex in each if regex.match(text))
