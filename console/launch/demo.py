"""What the two demonstrations begin with: accounts to sign in as, and a priority file each.

Only ever put into a database that has no accounts yet, so that a restart changes nothing that somebody has set; and
only where nothing real can come to harm: everybody knows the password, and some partitions stop jobs.
"""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from console.accounts.demonstration import LOGINS, PASSWORD, is_the_place
from console.accounts.models import User
from console.accounts.services import AccountData, create_account
from console.audit.services import SYSTEM
from console.cluster.connect import configured_cluster
from console.cluster.models import Cluster, Job
from console.core import clock
from console.core.installation import is_simulated
from console.history.models import PartitionMinute
from console.partitions.priority_file import import_config
from console.steering.facts import partition_policies
from console.steering.models import Plan
from scheduler.adapters.simulator import demo_week
from scheduler.adapters.simulator.demo_data import DEMO_CONFIG, TEN_GPUS_CONFIG, USER_THEN_TASK_CONFIG
from scheduler.contracts.config import BY_DEADLINE


def slurm_config() -> dict[str, Any]:
    """For the private Slurm: `x` (8 CPUs) shows ¶81, `q` (16 GPUs) shows ¶201, `wide` (all nodes) is in shadow."""
    partitions = [*USER_THEN_TASK_CONFIG["partitions"], *TEN_GPUS_CONFIG["partitions"]]
    levels = DEMO_CONFIG["partitions"][0]["levels"]
    partitions.append({"name": "wide", "mode": "user", "levels": levels})
    return {
        "schema": "giveway.config/1",
        "cluster": settings.GIVEWAY_CLUSTER_NAME,
        "projects": DEMO_CONFIG["projects"],
        "partitions": [{**partition, "admins": ["dave"]} for partition in partitions],
    }


def demo_config() -> dict[str, Any]:
    """For the simulated cluster; one project has a delivery in nine days, and its urgency rises until then."""
    delivery = {"urgency_by": BY_DEADLINE, "deadline": (clock.now().date() + timedelta(days=9)).isoformat()}
    projects = [
        {**project, **delivery} if project["code"] == "delta" else project
        for project in DEMO_CONFIG["projects"]
    ]
    return {**DEMO_CONFIG, "cluster": settings.GIVEWAY_CLUSTER_NAME, "projects": projects}


SET_UP_BEFORE = timedelta(days=demo_week.DAYS, hours=3)
"""So long before the first start of the simulated cluster's demonstration all is said to have been set up: its first
minutes have a week behind them (`console.launch.past`)."""


SCENARIO = "demo"


class NotHereError(Exception):
    """This is no place for a demonstration."""


@transaction.atomic
def seed(set_up_before: timedelta = timedelta(0)) -> bool:
    """Accounts and rules of the demonstration; false (and nothing done) when there are accounts already.

    `set_up_before`: so long ago on the simulated cluster, where a past is made up that comes after them.

    Raises `NotHereError` on a cluster that is not ours alone, and under the settings of a real installation.
    """
    if not is_the_place():
        raise NotHereError("Neither the simulated cluster nor a private Slurm of Giveway's is attached.")
    if User.objects.exists():
        return False
    document = demo_config() if is_simulated() else slurm_config()
    with clock.set_to(clock.now() - set_up_before) if is_simulated() else nullcontext():
        for name, role, _ in LOGINS:
            create_account(
                actor=SYSTEM,
                username=name,
                data=AccountData(role=role),
                password=PASSWORD,
                reason="Demonstration.",
            )
        import_config(
            actor=SYSTEM,
            cluster=configured_cluster(),
            document=document,
            reason="Demonstration.",
            dry_run=False,
        )
    return True


def is_first_start(cluster: Cluster) -> bool:
    """Whether a past is to be made up: the demonstration's rules are there, and nothing has been seen or done yet."""
    if not (is_the_place() and is_simulated() and settings.GIVEWAY_SCENARIO == SCENARIO):
        return False
    if cluster.made_up_until is not None or cluster.cycle or cluster.observed_at is not None:
        return False
    if any(model.objects.exists() for model in (Job, Plan, PartitionMinute)):
        return False
    return partition_policies(cluster).keys() >= demo_week.PARTITIONS
