"""Rows of the library of task types as the priority file writes them (contract B), in and out."""

from dataclasses import asdict
from typing import Any

from scheduler.contracts.errors import InputError
from scheduler.contracts.fields import Fields, choice, flag, maybe, name, positive, whole
from scheduler.model.sentence import say
from scheduler.model.task_types import ShrinkHow, TaskType

KEYS = (
    "pattern",
    "cpus",
    "gpus",
    "memory_mb",
    "time_s",
    "elastic_min",
    "elastic_wish",
    "elastic_how",
    "balanced",
)


def decode_task_type(value: object, path: str) -> TaskType:
    """One row. Raises `InputError` with the path of the first fault."""
    fields = Fields(value, path, KEYS)
    least, wish = elastic_fields(fields)
    row = TaskType(
        pattern=fields.need("pattern", name),
        cpus=fields.get("cpus", maybe(positive), None),
        gpus=fields.get("gpus", maybe(positive), None),
        memory_mb=fields.get("memory_mb", maybe(positive), None),
        time_s=fields.get("time_s", maybe(positive), None),
        elastic_min=least,
        elastic_wish=wish,
        elastic_how=fields.get("elastic_how", maybe(choice(ShrinkHow)), None),
        balanced=fields.get("balanced", flag, False),
    )
    if row.elastic_how is not None and row.elastic_min is None:
        raise InputError(fields.at("elastic_min"), say("input.elastic_min"))
    if not row.fills and row.elastic_min is None and not row.balanced:
        raise InputError(path, say("input.type.empty"))
    return row


def elastic_fields(fields: Fields) -> tuple[int | None, int | None]:
    """`elastic_min` and `elastic_wish` of a task type, or of a project's pattern. Raises `InputError`."""
    least = fields.get("elastic_min", maybe(positive), None)
    wish = fields.get("elastic_wish", maybe(whole), None)
    if wish is not None and least is None:
        raise InputError(fields.at("elastic_min"), say("input.elastic_min"))
    if wish is not None and least is not None and wish < least:
        raise InputError(fields.at("elastic_wish"), say("input.elastic_wish", n=least))
    return least, wish


def encode_task_type(row: TaskType) -> dict[str, Any]:
    """The row; what it does not say is left out."""
    return {key: value for key, value in asdict(row).items() if value is not None and value is not False}
