"""The limits that a partition begins with where it is made by hand: the only place where they stand.

A new partition, the setup wizard and the demonstration take them from here. A snapshot (contract A) and a priority file
that leave a limit out mean that there is none. docs/benchmarks.md says what each of them costs and saves.
"""

from collections.abc import Mapping
from dataclasses import replace

from scheduler.model.policy import PartitionPolicy

Bands = tuple[tuple[int | None, ...], ...]

KIND_LIMITS: Mapping[str, int] = {
    "exempt_s": 60,
    "rest_s": 600,
    "regrow_s": 600,
    "cool_down_s": 300,
    "max_stops_per_job_hour": 1,
    "max_crashes_per_hour": 3,
}
"""As the keys of a policy: young jobs and those that have come back are left alone; nobody is stopped for one that was
stopped a moment ago, or that ends at once again and again; no job is stopped twice within an hour; and none is
restarted to grow sooner than ten minutes after the last time."""


def kind_bands(levels: int) -> Bands | None:
    """Others are stopped for jobs of the highest level alone; those below only go first. None with one level."""
    return ((0,), (*range(1, levels), None)) if levels > 1 else None


def with_kind_limits(policy: PartitionPolicy) -> PartitionPolicy:
    """A policy with these limits in place of its own, for the levels that it has."""
    return replace(
        policy,
        exempt_s=KIND_LIMITS["exempt_s"],
        rest_s=KIND_LIMITS["rest_s"],
        regrow_s=KIND_LIMITS["regrow_s"],
        cool_down_s=KIND_LIMITS["cool_down_s"],
        max_stops_per_job_hour=KIND_LIMITS["max_stops_per_job_hour"],
        max_crashes_per_hour=KIND_LIMITS["max_crashes_per_hour"],
        bands=kind_bands(len(policy.levels)),
    )
