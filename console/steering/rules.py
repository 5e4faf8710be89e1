"""Who may decide on plans and pull the switch."""

from typing import Any

import rules

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator, is_signed_in
from console.audit.contributions import add_witness
from console.partitions.rules import administers
from console.partitions.selectors import administered_partitions, visible_partitions
from console.steering.models import Incident, Plan


@rules.predicate
def administers_its_partition(user: Any, plan: Plan | Incident | None) -> bool:
    """Is named administrator of the partition of a plan (or an incident); without one: of any."""
    own = administered_partitions(user)
    if plan is None:
        return bool(own)
    row = visible_partitions(user).filter(cluster=plan.cluster_id, name=plan.partition).first()
    return row is not None and row.pk in own


@rules.predicate
def is_own_job(user: Any, job: Any) -> bool:
    """Is the job's own user on the cluster; without a job: of any."""
    return job is None or job.user == user.slurm_user


rules.add_perm(Permission.PLAN_DECIDE, is_administrator | administers_its_partition)
rules.add_perm(Permission.PAUSE_PARTITION, is_administrator | administers)
rules.add_perm(Permission.PAUSE_ALL, is_administrator)
rules.add_perm(Permission.INCIDENT_CLOSE, is_administrator | administers_its_partition)
rules.add_perm(Permission.CHECKPOINT_TELL, is_signed_in & is_own_job)
add_witness("plans", Plan.objects.exists)
