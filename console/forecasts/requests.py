"""What a job asked for, in the few numbers that forecasts know: of a row of the mirror."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from console.cluster.models import Job
from scheduler.forecast.facts import JobFacts
from scheduler.model.resource_kinds import count_accelerators
from scheduler.model.resources import total


class RequestSize(NamedTuple):
    """Nodes, CPUs, GPUs of all nodes, and memory in MB."""

    nodes: int
    cpus: int
    gpus: int
    memory_mb: int


class Sized(Protocol):
    """A row of the mirror, or what was read of one."""

    @property
    def alloc(self) -> Mapping[str, Mapping[str, int]]: ...
    @property
    def request(self) -> Mapping[str, Any]: ...


def size_of(job: Sized) -> RequestSize:
    """What a job holds, or asks for while it waits.

    A request that leaves the number of nodes open counts as one node: Slurm's accounting says so, too.
    """
    if job.alloc:
        return _size(len(job.alloc), total(job.alloc.values()))
    asked = job.request
    nodes = asked.get("nodes") or 1
    for key, times in (("per_node", nodes), ("spread", 1), ("unit", asked.get("count") or 1)):
        if asked.get(key):
            return _size(nodes, {name: amount * times for name, amount in asked[key].items()})
    return _size(nodes, {})


def _size(nodes: int, amounts: Mapping[str, int]) -> RequestSize:
    return RequestSize(nodes, amounts.get("cpu", 0), count_accelerators(amounts), amounts.get("mem", 0))


def facts_of(job: Job, size: RequestSize, command: str = "") -> JobFacts:
    """What is known of a job at its submission. `command`: program and script, where they are known."""
    return JobFacts(
        user=job.user,
        group=job.account,
        name=job.name,
        limit_s=job.time_limit_s,
        nodes=size.nodes,
        cpus=size.cpus,
        gpus=size.gpus,
        submit=job.first_submit or job.submit,
        command=command,
    )
