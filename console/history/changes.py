"""What somebody wants to change, checked as saving it would check it, and not saved."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from console.cluster.models import Cluster
from console.partitions.models import Partition
from console.partitions.priority_file import Allowed, diff_config
from console.partitions.selectors import policy_of
from console.partitions.services import checked
from console.projects.models import Project
from console.projects.selectors import core_projects
from console.projects.services import SETTABLE, ProjectData, data_of, validate
from scheduler.contracts.config import (
    ConfigProject,
    decode_partition,
    decode_policy,
    decode_project,
    encode_policy,
    encode_project,
)
from scheduler.model.policy import PartitionPolicy
from scheduler.model.policy import ProjectFacts as CoreProject


@dataclass(frozen=True, slots=True)
class HypotheticalChange:
    """Policies by partition and projects by code, as they would be; all others stay as they are."""

    policies: Mapping[str, PartitionPolicy] = field(default_factory=dict)
    projects: Mapping[str, CoreProject] = field(default_factory=dict)

    def __or__(self, other: "HypotheticalChange") -> "HypotheticalChange":
        return HypotheticalChange({**self.policies, **other.policies}, {**self.projects, **other.projects})

    def policies_beside(self, policies: Iterable[PartitionPolicy]) -> list[PartitionPolicy]:
        """All policies that are decided by: those in force, and these."""
        return [*policies, *self.policies.values()]

    def changed(self, projects: Iterable[CoreProject]) -> list[CoreProject]:
        """All projects as they would be, by code."""
        after = {project.code: project for project in projects} | dict(self.projects)
        return [after[code] for code in sorted(after)]


def policy_change(partition: Partition, document: dict[str, Any] | PartitionPolicy) -> HypotheticalChange:
    """Another policy for a partition. Raises `ValidationError` by key of the document."""
    return HypotheticalChange(policies={partition.name: checked(document, partition)})


def project_change(cluster: Cluster, data: ProjectData) -> HypotheticalChange:
    """A project as it would be, new or changed. Raises `ValidationError` by field."""
    row = Project(cluster=cluster, **{name: getattr(data, name) for name in SETTABLE})
    validate(row, data)
    core = CoreProject(
        code=data.code,
        size=data.size,
        grade=data.grade,
        urgency=row.urgency_now,
        slurm_account=data.slurm_account,
        members=frozenset(data.members),
        tasks=tuple(task.rule for task in data.tasks),
    )
    return HypotheticalChange(projects={data.code: core})


def proposal_change(cluster: Cluster, data: ProjectData) -> HypotheticalChange:
    """A project that is proposed, which never takes another's place: one of that code stays beside it."""
    if Project.objects.filter(cluster=cluster, code=data.code).exists():
        data = replace(data, code=f"{data.code[:50]}.proposed")
    return project_change(cluster, data)


def file_change(
    cluster: Cluster, document: Mapping[str, Any], allowed: Allowed | None = None
) -> HypotheticalChange:
    """All that importing a priority file would change. Raises `InputError` and `ValidationError` as the import does."""
    diff_config(cluster, document, allowed)  # finds what is wrong with the file as a whole
    projects: dict[str, CoreProject] = {}
    policies: dict[str, PartitionPolicy] = {}
    for entry in map(decode_project, document["projects"]):
        projects |= project_change(cluster, data_of(entry)).projects
    present = {row.name: row for row in Partition.objects.filter(cluster=cluster).select_related("cluster")}
    for part in map(decode_partition, document["partitions"]):
        if part.policy.name in present:  # one that is not there yet has no jobs
            policies |= policy_change(present[part.policy.name], part.policy).policies
    return HypotheticalChange(policies, projects)


def differing(cluster: Cluster, change: HypotheticalChange) -> HypotheticalChange:
    """The change without what is like that already. Two queries."""
    rows = Partition.objects.filter(cluster=cluster, name__in=change.policies, revision__isnull=False)
    policies = {row.name: policy_of(row) for row in rows.select_related("revision")}
    projects = {project.code: project for project in core_projects(cluster)} if change.projects else {}
    return HypotheticalChange(
        {name: policy for name, policy in change.policies.items() if policies.get(name) != policy},
        {code: project for code, project in change.projects.items() if projects.get(code) != project},
    )


def encode_change(change: HypotheticalChange) -> dict[str, Any]:
    """As JSON, in the terms of the priority file. A project's urgency is the one that counts."""
    return {
        "policies": {name: encode_policy(policy) for name, policy in change.policies.items()},
        "projects": {code: encode_project(ConfigProject(each)) for code, each in change.projects.items()},
    }


def decode_change(kept: Mapping[str, Any]) -> HypotheticalChange:
    return HypotheticalChange(
        {name: decode_policy(each) for name, each in kept["policies"].items()},
        {code: decode_project(each).project for code, each in kept["projects"].items()},
    )
