"""A plan's stored input as far as somebody may see it: the policy's values are for whom the policy's page is for."""

from typing import Any

from console.accounts.permissions import Permission
from console.accounts.rules import reads_everything
from console.partitions.models import Partition
from console.steering.models import Plan

OPEN = ("name", "mode", "level_names")
"""What of the partition's rules stands on every plan's page."""
HIDDEN = "hidden"
"""The key that names what was left out. The planner refuses an input that has it: it would decide otherwise."""


def shown_input(user: Any, plan: Plan) -> dict[str, Any]:
    """The document to show; the plan must have kept one."""
    document = plan.snapshot
    if _sees_policy(user, plan):
        return document
    rules: dict[str, Any] = document["partition"]
    hidden = sorted(f"partition.{key}" for key in rules if key not in OPEN)
    return {
        **document,
        "partition": {key: value for key, value in rules.items() if key in OPEN},
        **({HIDDEN: hidden} if hidden else {}),
    }


def _sees_policy(user: Any, plan: Plan) -> bool:
    partition = Partition.objects.filter(cluster=plan.cluster_id, name=plan.partition).first()
    if partition is None:
        return bool(reads_everything(user))
    return bool(user.has_perm(Permission.POLICY_VIEW, partition))
