"""At whose pace a running job goes: how much longer it takes than on an even set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.cluster.models import Cluster, Job, JobPhase
from console.power.losses import shares_of, slow_down
from console.power.selectors import figures_by_device
from scheduler.model.policy import AppliesTo, PartitionPolicy
from scheduler.priority.comment import read_comment

LEAST = 0.01
"""A smaller difference is none that could be told from chance."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The node of its slowest processor, and how much longer it takes for it: 0.1 is a tenth."""

    slowest: str
    longer: float


def wants_even(row: Job, policy: PartitionPolicy | None) -> bool:
    """Whether the partition has a rule for even sets, and it is for this job."""
    if policy is None or policy.balance is None:
        return False
    return policy.balance.applies_to is AppliesTo.ALL or read_comment(row.comment).balanced


def pace_of(cluster: Cluster, rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]) -> Pace | None:
    """That of a running job that is to have an even set; None where it has one, or that is not known."""
    row = next((each for each in rows if each.phase == JobPhase.RUNNING and each.alloc), None)
    if row is None or not wants_even(row, policies.get(row.partition)):
        return None
    found = shares_of(row.alloc, figures_by_device(cluster))
    if found is None:
        return None
    shares = found[1]
    longer = slow_down([each for share in shares for each in share.seconds])
    slowest = max(shares, key=lambda share: max(share.seconds)).node
    return Pace(slowest, longer) if longer >= LEAST else None
