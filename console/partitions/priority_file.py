"""The priority file (contract B) in and out: all projects and partitions of a cluster in one JSON document.

An import is all or nothing. An entry is the whole of its project or partition: a key that it leaves out takes its
default. Projects and partitions that the file does not name are left as they are; deleting is done by hand.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.audit.services import Context, Subject, record
from console.cluster.models import Cluster
from console.core.diff import KeyDifference, differences
from console.core.limits import POLICY, PROJECT, beyond, beyond_in, rows_of
from console.partitions.models import Partition
from console.partitions.selectors import administered_partitions, partition_document, policy_of
from console.partitions.services import activate_policy, checked, ensure_partition, make_partition, set_admins
from console.projects.models import Project, TaskPattern
from console.projects.selectors import project_document
from console.projects.services import as_wanted, change_project, create_project, data_of, validate
from scheduler.contracts.config import (
    SCHEMA,
    Config,
    ConfigPartition,
    ConfigProject,
    decode_config,
    encode_partition,
    encode_project,
)
from scheduler.contracts.errors import InputError, quoted
from scheduler.model.sentence import say

Allowed = Callable[[Config], None]
"""Raises `InputError` with the JSON path of the first entry that the file may not have."""


def require_import(request: HttpRequest) -> None:
    """403 for who may import nothing at all."""
    if not imports_some(request.user):
        require_write(request, Permission.CONFIG_IMPORT)


def imports_some(user: Any) -> bool:
    """Everything, or the partitions that one administers (`allowed_to` says which)."""
    return bool(user.has_perm(Permission.CONFIG_IMPORT) or administered_partitions(user))


def allowed_to(user: Any) -> Allowed | None:
    """What a file may hold that this person imports; None: anything.

    Who administers a partition is said by administrators of the installation only, as in the form: an entry has to
    name those who are named now, which an export does.
    """
    if user.has_perm(Permission.CONFIG_IMPORT):
        return None

    def check(config: Config) -> None:
        if config.projects:
            raise InputError("$.projects", _("only an administrator imports projects; leave them out"))
        for i, entry in enumerate(config.partitions):
            path, name = f"$.partitions[{i}]", entry.policy.name
            rows = Partition.objects.filter(cluster__name=config.cluster, name=name)
            partition = rows.prefetch_related("admins").first()
            if partition is None or not user.has_perm(Permission.CONFIG_IMPORT, partition):
                raise InputError(path, _("%s is not a partition of yours; leave it out") % name)
            if set(entry.admins) != {admin.username for admin in partition.admins.all()}:
                raise InputError(
                    f"{path}.admins",
                    _(
                        "only an administrator names who administers a partition; name those that an export names"
                    ),
                )

    return check


# --- What a priority file names, as it is in the database and as the file wants it, entry by entry ---


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


LISTED_AT_MOST = 1000
"""Changes listed in the import's own audit row; each is in the row of its project or partition anyway."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import changed, or would change, and what it left alone because the file does not name it."""

    differences: list[KeyDifference]
    projects_left: list[str]
    partitions_left: list[str]
    dry_run: bool

    @property
    def changes(self) -> bool:
        """Whether the file says anything that is not so already."""
        return bool(self.differences)


@dataclass(frozen=True, slots=True)
class _By:
    actor: str
    reason: str
    request_id: str


def export_config(cluster: Cluster, partition: Partition | None = None) -> dict[str, Any]:
    """The priority file of a cluster; with `partition` only that partition's entry, and no projects (they belong
    to the whole cluster)."""
    partitions = [partition] if partition else partitions_of(cluster)
    projects = [] if partition else projects_of(cluster)
    return {
        "schema": SCHEMA,
        "cluster": cluster.name,
        "projects": [project_document(project) for project in projects],
        "partitions": [partition_document(each) for each in partitions],
    }


def attached_cluster(document: object) -> Cluster:
    """The cluster that a priority file names. Raises `InputError` when it is not attached here."""
    name = document.get("cluster") if isinstance(document, Mapping) else None
    found = Cluster.objects.filter(name=name).first() if isinstance(name, str) else None
    if found is None:
        config = decode_config(document)  # what is wrong before that comes first
        known = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True)) or _("none")
        text = _("there is no cluster %(name)s here; attached: %(known)s")
        raise InputError("$.cluster", text % {"name": quoted(config.cluster), "known": known})
    return found


def diff_config(cluster: Cluster, document: object, allowed: Allowed | None = None) -> list[KeyDifference]:
    """What importing `document` would change, key by key. Raises `InputError`, also for what is not `allowed`."""
    config = _decoded(cluster, document)
    if allowed:
        allowed(config)
    return States.of(cluster, config).differences


def import_config(  # noqa: PLR0913 - each is named at the call
    *,
    actor: str,
    cluster: Cluster,
    document: object,
    reason: str,
    dry_run: bool,
    request_id: str = "",
    allowed: Allowed | None = None,
) -> ImportResult:
    """Make projects and partitions what the file says, in one transaction with their audit rows.

    What is so already is not touched: importing an export changes nothing and writes nothing. A dry run does
    everything and takes it back, so that it finds the same faults. Raises `InputError` with the JSON path, also for
    what is not `allowed` (None: anything).
    """
    config = _decoded(cluster, document)
    if allowed:
        allowed(config)
    _check(cluster, config)  # before anybody has to wait for us
    if said := beyond("file_changes", len(States.of(cluster, config).changed)):
        raise InputError("$", said)
    by = _By(actor, reason, request_id)
    with transaction.atomic():
        result = _import(cluster, config, by, dry_run, allowed)
        transaction.set_rollback(dry_run)
    return result


def _check(cluster: Cluster, config: Config) -> None:
    """What the services will find wrong with the entries, found while nothing is locked."""
    for i, entry in enumerate(config.projects):
        data = data_of(entry)
        with _faults_at(f"$.projects[{i}]"):
            validate(as_wanted(Project(cluster=cluster), data), data)
    for i, part in enumerate(config.partitions):
        with _faults_at(f"$.partitions[{i}]"):
            checked(part.policy, Partition(cluster=cluster, name=part.policy.name))


def _import(
    cluster: Cluster, config: Config, by: _By, dry_run: bool, allowed: Allowed | None
) -> ImportResult:
    projects, partitions = _locked_rows(cluster, config)
    if allowed:
        allowed(config)  # once more: until now somebody else could change who administers what
    states = States.of(cluster, config)
    found = states.differences
    result = ImportResult(
        differences=found,
        projects_left=sorted(projects.keys() - {entry.project.code for entry in config.projects}),
        partitions_left=sorted(partitions.keys() - {entry.policy.name for entry in config.partitions}),
        dry_run=dry_run,
    )
    if not result.changes:
        return result
    changed = states.changed
    for i, project in enumerate(config.projects):
        code = project.project.code
        if ("projects", code) in changed:
            with _faults_at(f"$.projects[{i}]"):
                _import_project(cluster, projects.get(code), project, by)
    for i, partition in enumerate(config.partitions):
        if ("partitions", partition.policy.name) in changed:
            with _faults_at(f"$.partitions[{i}]"):
                _import_partition(cluster, partition, by)
    _record_import(cluster, result, by)
    return result


def _locked_rows(cluster: Cluster, config: Config) -> tuple[dict[str, Project], dict[str, Partition]]:
    """The cluster's projects and partitions by name, ours until the transaction ends.

    All of them before the first audit row is written, and in one order: a service that holds a row waits for the
    head of the log, so nobody who holds the head may wait for a row. New partitions are made here for that reason;
    `ensure_partition` gives them their first policy.
    """
    Cluster.objects.select_for_update().get(pk=cluster.pk)
    projects = {
        row.code: row for row in Project.objects.select_for_update().filter(cluster=cluster).order_by("pk")
    }
    there = Partition.objects.filter(cluster=cluster).values_list("name", flat=True)
    for i, entry in enumerate(config.partitions):
        if entry.policy.name not in there:
            with _faults_at(f"$.partitions[{i}]"):
                make_partition(cluster, entry.policy.name)
    partitions = Partition.objects.select_for_update().filter(cluster=cluster).order_by("pk")
    return projects, {row.name: row for row in partitions}


def _import_project(cluster: Cluster, row: Project | None, entry: ConfigProject, by: _By) -> None:
    data = data_of(entry)
    told = {"actor": by.actor, "reason": by.reason, "request_id": by.request_id}
    if row is None:
        create_project(cluster=cluster, data=data, **told)
    else:
        change_project(project=row, data=data, version=row.version, **told)


def _import_partition(cluster: Cluster, entry: ConfigPartition, by: _By) -> None:
    partition = ensure_partition(cluster=cluster, name=entry.policy.name)
    told = {"actor": by.actor, "reason": by.reason, "request_id": by.request_id}
    activate_policy(partition=partition, document=entry.policy, based_on=None, **told)
    set_admins(partition=partition, usernames=entry.admins, **told)


def _record_import(cluster: Cluster, result: ImportResult, by: _By) -> None:
    lines = [difference.said for difference in result.differences[:LISTED_AT_MOST]]
    more = len(result.differences) - len(lines)
    if more > 0:
        lines.append(say("change.more", n=more))
    record(
        actor=by.actor,
        action="config.imported",
        subject=Subject(
            type="config", id=cluster.name, label=f"cluster {cluster.name}", cluster=cluster.name
        ),
        after={"changes": lines},
        reason=by.reason,
        context=Context(request_id=by.request_id),
    )


@contextmanager
def _faults_at(path: str) -> Iterator[None]:
    """What a service finds wrong, as an error that names the place in the file; the first one only."""
    try:
        yield
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        if field == "reason":
            raise
        where = path if field == NON_FIELD_ERRORS else f"{path}.{field}"
        raise InputError(where, " ".join(messages[0].split())) from None


def _decoded(cluster: Cluster, document: object) -> Config:
    """The file's contents. A project's pattern may name a level of a partition that is not in the file, or one
    that some project names already (its partition may have lost it since)."""
    _refuse_too_long(document)
    known = {rule.name for partition in partitions_of(cluster) for rule in policy_of(partition).levels}
    known |= set(TaskPattern.objects.filter(project__cluster=cluster).values_list("level", flat=True))
    config = decode_config(document, known)
    if config.cluster != cluster.name:
        text = _("is %(name)s; this is %(own)s")
        raise InputError("$.cluster", text % {"name": quoted(config.cluster), "own": quoted(cluster.name)})
    return config


def _refuse_too_long(document: object) -> None:
    """Before anything is read from it. Raises `InputError` with the path of the first list that is too long."""
    if said := beyond("file_rows", rows_of(document)):
        raise InputError("$", said)
    if not isinstance(document, Mapping):
        return
    for part, keys in (("projects", PROJECT), ("partitions", POLICY)):
        entries = document.get(part)
        for i, entry in enumerate(entries if isinstance(entries, list) else ()):
            for key, said in beyond_in(entry, keys):
                raise InputError(f"$.{part}[{i}].{key}", said)
