"""The priority file (contract B): a cluster's projects and partitions in one JSON document, in and out."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Any

from scheduler.contracts.errors import InputError, quoted
from scheduler.contracts.fields import (
    Fields,
    above_zero,
    different,
    flag,
    listing,
    maybe,
    name,
    names,
    plain,
    text,
    unique,
)
from scheduler.contracts.policy import POLICY_KEYS, decode_policy, encode_policy, read_policy
from scheduler.contracts.snapshot import schema
from scheduler.contracts.task_types import elastic_fields
from scheduler.model.policy import LONGEST_GROUP_NAME, PartitionPolicy, ProjectFacts, TaskRule
from scheduler.model.sentence import say

SCHEMA = "giveway.config/1"
_NOBODY: tuple[str, ...] = ()
_NO_TASKS: tuple[TaskRule, ...] = ()

_PROJECT_KEYS = (
    "code", "name", "size", "grade", "urgency", "urgency_by", "deadline", "slurm_account", "managers", "members",
    "tasks",
)  # fmt: skip
BY_HAND, BY_DEADLINE = "hand", "deadline"
DEADLINES = (date(2000, 1, 1), date(2199, 12, 31))
"""The first and the last day that a deadline may be."""


@dataclass(frozen=True, slots=True)
class ConfigProject:
    """A project of the priority file: what counts for priorities, its title, and who may edit it.

    `urgency_by` is `hand` or `deadline`; by deadline, the project's urgency is what the schedule begins from.
    """

    project: ProjectFacts
    name: str = ""
    managers: tuple[str, ...] = ()
    urgency_by: str = BY_HAND
    deadline: date | None = None


@dataclass(frozen=True, slots=True)
class ConfigPartition:
    """A partition of the priority file: its policy, and who administers it."""

    policy: PartitionPolicy
    admins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """The whole priority file of one cluster."""

    cluster: str
    projects: tuple[ConfigProject, ...] = ()
    partitions: tuple[ConfigPartition, ...] = ()


def decode_config(obj: object, known_levels: Collection[str] = ()) -> Config:
    """The priority file in a JSON value. Raises `InputError` with the path of the first fault.

    `known_levels` are names of levels that exist besides those of the file's own partitions.
    """
    fields = Fields(obj, "$", ("schema", "cluster", "projects", "partitions"))
    schema(fields, SCHEMA)
    config = Config(
        cluster=fields.need("cluster", name),
        projects=fields.need("projects", listing(decode_project)),
        partitions=fields.need("partitions", listing(decode_partition)),
    )
    codes = [entry.project.code for entry in config.projects]
    unique(codes, (f"$.projects[{i}].code" for i in range(len(codes))), "project")
    titles = [entry.policy.name for entry in config.partitions]
    unique(titles, (f"$.partitions[{i}].name" for i in range(len(titles))), "partition")
    _check_pattern_levels(config, known_levels)
    return config


def encode_config(config: Config) -> dict[str, Any]:
    """The priority file as a JSON value; lists whose order means nothing are sorted."""
    return {
        "schema": SCHEMA,
        "cluster": config.cluster,
        "projects": [encode_project(entry) for entry in config.projects],
        "partitions": [encode_partition(entry) for entry in config.partitions],
    }


def decode_partition(obj: object, path: str = "$") -> ConfigPartition:
    """A partition of the priority file: a policy with its `admins`."""
    fields = Fields(obj, path, ("admins", *POLICY_KEYS))
    return ConfigPartition(read_policy(fields), fields.get("admins", different(name), _NOBODY))


def encode_partition(entry: ConfigPartition) -> dict[str, Any]:
    """A partition as the priority file has it."""
    return encode_policy(entry.policy) | {"admins": list(entry.admins)}


def decode_project(obj: object, path: str = "$") -> ConfigProject:
    """A project of the priority file."""
    fields = Fields(obj, path, _PROJECT_KEYS)
    tasks = fields.get("tasks", listing(_task), _NO_TASKS)
    unique(
        (task.pattern for task in tasks),
        (f"{path}.tasks[{i}].pattern" for i in range(len(tasks))),
        "pattern",
    )
    project = ProjectFacts(
        code=fields.need("code", name),
        size=fields.need("size", above_zero),
        grade=fields.need("grade", above_zero),
        urgency=fields.need("urgency", above_zero),
        slurm_account=fields.get("slurm_account", text, ""),
        members=fields.get("members", names, frozenset()),
        tasks=tasks,
    )
    return ConfigProject(
        project,
        fields.get("name", text, project.code),
        fields.get("managers", different(name), _NOBODY),
        *_urgency(fields, path),
    )


def encode_project(entry: ConfigProject) -> dict[str, Any]:
    """A project as the priority file has it."""
    project = entry.project
    return {
        "code": project.code,
        "name": entry.name,
        "size": plain(project.size),
        "grade": plain(project.grade),
        "urgency": plain(project.urgency),
        **_encode_urgency(entry),
        "slurm_account": project.slurm_account,
        "managers": list(entry.managers),
        "members": sorted(project.members),
        "tasks": [_encode_task(task) for task in project.tasks],
    }


def _urgency(fields: Fields, path: str) -> tuple[str, date | None]:
    by = fields.get("urgency_by", _hand_or_deadline, BY_HAND)
    deadline = fields.get("deadline", maybe(_day), None)
    if by == BY_DEADLINE and deadline is None:
        raise InputError(f"{path}.deadline", "is missing; urgency_by is deadline")
    return by, deadline


def _encode_urgency(entry: ConfigProject) -> dict[str, Any]:
    """Only what is not the default: a file without deadlines stays as it was."""
    result: dict[str, Any] = {}
    if entry.urgency_by != BY_HAND:
        result["urgency_by"] = entry.urgency_by
    if entry.deadline is not None:
        result["deadline"] = entry.deadline.isoformat()
    return result


def _hand_or_deadline(value: object, path: str) -> str:
    told = name(value, path)
    if told not in {BY_HAND, BY_DEADLINE}:
        raise InputError(path, say("input.one_of_two", first=BY_HAND, second=BY_DEADLINE, name=quoted(told)))
    return told


def _day(value: object, path: str) -> date:
    told = name(value, path)
    try:
        day = date.fromisoformat(told)
    except ValueError:
        day = None
    if day is None or day.isoformat() != told:
        raise InputError(path, f"must be a day such as 2026-12-31, not {quoted(told)}")
    if not DEADLINES[0] <= day <= DEADLINES[1]:
        raise InputError(path, f"must lie between {DEADLINES[0]} and {DEADLINES[1]}")
    return day


def _task(value: object, path: str) -> TaskRule:
    says = ("importance", "level", "one_request", "elastic_min")
    fields = Fields(value, path, ("pattern", *says, "elastic_wish"))
    least, wish = elastic_fields(fields)
    if not any(map(fields.has, says)):
        raise InputError(path, say("input.pattern.empty"))
    row = TaskRule(
        pattern=fields.need("pattern", name),
        importance=fields.get("importance", above_zero, 1.0),
        level=fields.get("level", maybe(name), None),
        one_request=fields.get("one_request", flag, False),
        elastic_min=least,
        elastic_wish=wish,
    )
    if row.one_request and len(row.pattern) > LONGEST_GROUP_NAME:
        most = f"is longer than {LONGEST_GROUP_NAME} characters"
        raise InputError(fields.at("pattern"), f"{most}; one_request needs a shorter one")
    return row


def _encode_task(task: TaskRule) -> dict[str, Any]:
    """Only what it says; an importance of 1 where it would say nothing else."""
    said = task.level is not None or task.one_request or task.elastic_min is not None
    result: dict[str, Any] = {"pattern": task.pattern}
    if not said or task.importance != 1:
        result["importance"] = plain(task.importance)
    if task.level is not None:
        result["level"] = task.level
    if task.one_request:
        result["one_request"] = True
    numbers = {"elastic_min": task.elastic_min, "elastic_wish": task.elastic_wish}
    return result | {key: number for key, number in numbers.items() if number is not None}


def _check_pattern_levels(config: Config, known_levels: Collection[str]) -> None:
    """A pattern's level must be one of some partition; elsewhere its importance counts."""
    known = {rule.name for entry in config.partitions for rule in entry.policy.levels} | set(known_levels)
    for i, entry in enumerate(config.projects):
        for j, task in enumerate(entry.project.tasks):
            if task.level is not None and task.level not in known:
                where = f"$.projects[{i}].tasks[{j}].level"
                raise InputError(
                    where, f"no partition has a level {quoted(task.level)}; name an existing one"
                )


__all__ = [
    "Config",
    "ConfigPartition",
    "ConfigProject",
    "decode_config",
    "decode_partition",
    "decode_policy",
    "decode_project",
    "encode_config",
    "encode_partition",
    "encode_policy",
    "encode_project",
]
