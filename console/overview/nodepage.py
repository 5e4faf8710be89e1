"""All that is known of one node: what it has, who is there, who is expected next, how fast its processors are."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.db.models import F, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from console.cluster.lookups import HasAnyKey
from console.cluster.models import Cluster, Job, Node
from console.core.l10n_format import amounts
from console.overview.selectors import HELD_PHASES
from console.power.models import Processor
from console.starts.models import ExpectedStart
from console.steering.models import KeptPlace
from scheduler.model.resource_kinds import main_resource
from scheduler.priority.order import natural


@dataclass(frozen=True, slots=True)
class NodeCapacity:
    """How much of a resource there is, and how much is free."""

    resource: str
    total: int
    used: int

    @property
    def words(self) -> str:
        """`2 of 8 gpu free`. Never below zero: a node may have lost what jobs hold."""
        free = max(0, self.total - self.used)
        total = amounts({self.resource: self.total})
        return _("%(free)s of %(total)s free") % {
            "free": amounts({self.resource: free}) if free else "0",
            "total": total,
        }


@dataclass(frozen=True, slots=True)
class JobThere:
    """A job on the node, and what it holds there."""

    job: Job
    held: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ExpectedThere:
    """A job that is expected on the node, or for which it is kept (`is_kept`). `at`: when, epoch seconds."""

    job_id: str
    at: int | None
    is_kept: bool = False


def capacities(node: Node) -> list[NodeCapacity]:
    """The main resource first, memory last."""
    main = main_resource(node.total)

    def order(name: str) -> tuple[bool, bool, str]:
        return name == "mem", name != main, name

    return [
        NodeCapacity(name, node.total[name], node.used.get(name, 0)) for name in sorted(node.total, key=order)
    ]


def units(node: Node, partitions: Collection[str]) -> list[str]:
    """The compute units that it belongs to, as these partitions see the network: one, or none, for most."""
    return sorted({unit for partition in partitions if (unit := node.unit_in(partition))})


def jobs_there(cluster: Cluster, node: str, partitions: Collection[str]) -> list[JobThere]:
    """The jobs of these partitions that hold something there, the latest first. Two queries."""
    held = Job.objects.filter(cluster=cluster, partition__in=list(partitions), phase__in=HELD_PHASES)
    held = held.order_by()  # in the usual order SQLite would read the jobs by their numbers, all of them
    several = held.filter(HasAnyKey(F("alloc"), [node]), on_node="")
    rows = [*held.filter(on_node=node), *several]
    rows.sort(key=lambda job: (-job.start, natural(job.job_id)))
    return [JobThere(row, row.alloc.get(node, {})) for row in rows]


def coming(cluster: Cluster, node: str, partitions: Collection[str]) -> list[ExpectedThere]:
    """Who is expected there next, the earliest first. Two queries."""
    names = list(partitions)
    kept = KeptPlace.objects.filter(cluster=cluster, partition__in=names, until__gt=0, refused="")
    said = ExpectedStart.objects.filter(cluster=cluster, partition__in=names, gone_at=None, p50__isnull=False)
    written = Cast("nodes", TextField())
    found = {
        job_id: ExpectedThere(job_id, p50)
        for job_id, p50, text in said.order_by("p50").values_list("job_id", "p50", written)
        # Thousands are expected, a few of them here: the others' JSON is not read. What is not ASCII may be escaped.
        if (node in text or not node.isascii()) and node in json.loads(text)
    }
    found |= {
        row.job_id: ExpectedThere(row.job_id, row.at, is_kept=True) for row in kept if node in row.nodes
    }
    return sorted(found.values(), key=lambda each: (each.at is None, each.at or 0, natural(each.job_id)))


def processors(cluster: Cluster, node: str) -> Iterable[Processor]:
    """Its processors' figures in force."""
    return Processor.objects.filter(cluster=cluster, node=node).order_by("resource", "device")
