"""What somebody wants to change, checked as saving it would check it, and not saved."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from console.cluster.models import Cluster
from console.partitions.models import Partition
from console.partitions.services import checked
from console.projects.models import Project
from console.projects.services import SETTABLE, ProjectData, data_of
from console.projects.validation import validate
from console.steering.priority_file import diff_config
from scheduler.contracts.config import decode_partition, decode_project
from scheduler.model.policy import PartitionPolicy, TaskPattern
from scheduler.model.policy import Project as CoreProject


@dataclass(frozen=True, slots=True)
class Change:
    """Policies by partition and projects by code, as they would be; all others stay as they are."""

    policies: Mapping[str, PartitionPolicy] = field(default_factory=dict)
    projects: Mapping[str, CoreProject] = field(default_factory=dict)

    def __or__(self, other: "Change") -> "Change":
        """Both changes together."""
        return Change({**self.policies, **other.policies}, {**self.projects, **other.projects})

    def changed(self, projects: Iterable[CoreProject]) -> list[CoreProject]:
        """All projects as they would be, by code."""
        after = {project.code: project for project in projects} | dict(self.projects)
        return [after[code] for code in sorted(after)]


def policy_change(partition: Partition, document: dict[str, Any] | PartitionPolicy) -> Change:
    """Another policy for a partition. Raises `ValidationError` by key of the document."""
    return Change(policies={partition.name: checked(document, partition)})


def project_change(cluster: Cluster, data: ProjectData) -> Change:
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
        tasks=tuple(
            TaskPattern(task.pattern, importance=task.importance, level=task.level or None)
            for task in data.tasks
        ),
    )
    return Change(projects={data.code: core})


def file_change(cluster: Cluster, document: Mapping[str, Any]) -> Change:
    """All that importing a priority file would change. Raises `InputError` and `ValidationError` as the import does."""
    diff_config(cluster, document)  # finds what is wrong with the file as a whole
    change = Change()
    for entry in map(decode_project, document["projects"]):
        change |= project_change(cluster, data_of(entry))
    present = {row.name: row for row in Partition.objects.filter(cluster=cluster).select_related("cluster")}
    for part in map(decode_partition, document["partitions"]):
        if part.policy.name in present:  # one that is not there yet has no jobs
            change |= policy_change(present[part.policy.name], part.policy)
    return change
