"""What a priority file names, as it is in the database and as the file wants it, entry by entry."""

from dataclasses import dataclass
from typing import Any, Self

from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.core.diff import KeyDifference, differences
from console.partitions.models import Partition
from console.partitions.selectors import partition_document
from console.projects.models import Project
from console.projects.selectors import project_document
from scheduler.contracts.config import (
    Config,
    ConfigPartition,
    ConfigProject,
    encode_partition,
    encode_project,
)


@dataclass(frozen=True, slots=True)
class States:
    """What the file names as it is, and as the file wants it: `projects` and `partitions`, each by name."""

    there: dict[str, dict[str, Any]]
    wanted: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, cluster: Cluster, config: Config) -> Self:
        """What is in the database now."""
        projects = {entry.project.code: _project_entry(entry) for entry in config.projects}
        partitions = {entry.policy.name: _partition_entry(entry) for entry in config.partitions}
        there = {
            "projects": {
                row.code: project_document(row) for row in projects_of(cluster) if row.code in projects
            },
            "partitions": {
                row.name: partition_document(row) for row in partitions_of(cluster) if row.name in partitions
            },
        }
        return cls(there, {"projects": projects, "partitions": partitions})

    @property
    def differences(self) -> list[KeyDifference]:
        """Key by key."""
        return differences(self.there, self.wanted)

    @property
    def changed(self) -> set[tuple[str, str]]:
        """Part and name of each entry that is not like that already."""
        return {
            (part, name)
            for part, entries in self.wanted.items()
            for name, entry in entries.items()
            if self.there[part].get(name) != entry
        }


def _project_entry(entry: ConfigProject) -> dict[str, Any]:
    """An entry in the order in which the database gives it: the file's own order means nothing."""
    encoded = encode_project(entry)
    return {
        **encoded,
        "managers": sorted(encoded["managers"]),
        "tasks": sorted(encoded["tasks"], key=lambda task: str(task["pattern"])),
    }


def _partition_entry(entry: ConfigPartition) -> dict[str, Any]:
    encoded = encode_partition(entry)
    return {**encoded, "admins": sorted(encoded["admins"])}


def projects_of(cluster: Cluster) -> QuerySet[Project]:
    """A cluster's projects with what the file has of them."""
    return Project.objects.filter(cluster=cluster).prefetch_related("memberships", "tasks").order_by("code")


def partitions_of(cluster: Cluster) -> QuerySet[Partition]:
    """Those with a policy in force; one without is just being made."""
    rows = Partition.objects.filter(cluster=cluster, revision__isnull=False).order_by("name")
    return rows.select_related("cluster", "revision").prefetch_related("admins")
