"""Nodes that a job keeps for its user: `--exclusive=user` and `=mcs`, and partitions whose jobs are all so.

Slurm tells of such a job only what it asked for, and gives the rest of its nodes to nobody but its user. Until the last
such job on a node has ended nobody else gets anything there, whoever else of that user goes. So each of them counts as
holding the whole node: where there are several, or others of its user beside one, more is held than there is.

Tried on 22.05.8, 24.11.5 and 26.05.5.
"""

from collections.abc import Mapping

from scheduler.model.jobs import ObservedJob
from scheduler.model.resources import Amounts


def whole(job: ObservedJob, totals: Mapping[str, Amounts]) -> dict[str, Amounts]:
    """What such a job holds. Of one that is suspended Slurm gives the CPUs to others; a node that it has as a whole is
    told as such."""
    return {name: _whole(share, totals.get(name, share)) for name, share in job.alloc.items()}


def _whole(share: Amounts, total: Amounts) -> Amounts:
    return total if 0 < share.get("cpu", 0) < total.get("cpu", 0) else share
