"""From a policy's form to the priority file's document, and from its decoder's faults back to the fields.

The document is checked by the same decoder as every priority file; a fault's JSON path says which field it belongs to.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _

from console.core.rows import Rows
from console.core.translate import resay
from console.partitions.balance_form import BALANCE, PREFIX, balance_document
from console.partitions.forms import FURTHER_QUOTAS, LEVELS, TASKS, UNCONFIGURED, USERS, PolicyForm
from console.partitions.keyword_form import users_of
from console.partitions.task_types_form import TYPES, task_type_document
from scheduler.contracts.config import decode_policy
from scheduler.contracts.errors import InputError
from scheduler.model.policy import PartitionPolicy

_STEP = re.compile(r'\.([A-Za-z_][\w-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')
_OVERRIDES = {"user_overrides": (USERS, "user"), "task_overrides": (TASKS, "pattern")}


@dataclass(slots=True)
class Draft:
    """A document as far as the form could say it; faults found on the way are at the fields by then."""

    document: dict[str, Any]
    level_rows: list[int] = field(default_factory=list)
    """For each level of the document, the number of its row."""
    type_rows: list[int] = field(default_factory=list)
    """The same for each task type."""
    complete: bool = True


def checked_policy(name: str, form: PolicyForm, rows: dict[str, Rows]) -> PartitionPolicy | None:
    """The policy that valid forms say; None when it makes no sense, the reason being at the field by then."""
    draft = _draft(name, form, rows)
    if not draft.complete:
        return None
    try:
        return decode_policy(draft.document)
    except InputError as error:
        _place(error, draft, form, rows)
        return None


def _draft(name: str, form: PolicyForm, rows: dict[str, Rows]) -> Draft:
    values = form.cleaned_data
    skipped = {"bands", "admins", "based_on", "draft_name", "reason"}
    document = {key: value for key, value in values.items() if key not in skipped}
    document[BALANCE] = balance_document(document)
    draft = Draft({"name": name, **document})
    levels = rows[LEVELS].filled
    draft.level_rows = [index for index, _row in levels]
    draft.document["levels"] = [level_document(row) for _index, row in levels]
    draft.document["quotas"] = {row["name"]: row["quota"] for _i, row in levels if row["quota"] is not None}
    for key, column in FURTHER_QUOTAS.items():
        draft.document[key] = {row["name"]: row[column] for _i, row in levels if row[column]}
    for key, (prefix, subject) in _OVERRIDES.items():
        draft.document[key] = _overrides(rows[prefix], subject, draft)
        draft.document[f"{key}_until"] = {
            row[subject]: row["until"].isoformat() for _i, row in rows[prefix].filled if row["until"]
        }
    types = rows[TYPES].filled
    draft.type_rows = [index for index, _row in types]
    draft.document["task_types"] = [task_type_document(row) for _index, row in types]
    draft.document["bands"] = _bands(values["bands"], [row["name"] for _i, row in levels], form, draft)
    return draft


def level_document(row: dict[str, Any]) -> dict[str, Any]:
    """A valid row of a level as the priority file has it."""
    level = {
        "name": row["name"],
        "min_score": row["min_score"],
        "keyword": row["keyword"] or None,
        "keyword_users": users_of(row),
    }
    return {key: value for key, value in level.items() if value is not None}


def _overrides(rows: Rows, subject: str, draft: Draft) -> dict[str, str]:
    result: dict[str, str] = {}
    for index, row in rows.filled:
        name, level = row[subject], row["level"]
        if name in result:
            rows.forms[index].add_error(subject, _("%(name)s stands twice; keep one.") % {"name": name})
            draft.complete = False
        result[name] = level
    return result


def _bands(text: str, names: list[str], form: PolicyForm, draft: Draft) -> list[list[int | None]] | None:
    """Lines of level names as lists of ranks."""
    lines = [[word.strip() for word in line.split(",") if word.strip()] for line in text.splitlines()]
    unknown = [word for line in lines for word in line if word not in names and word != UNCONFIGURED]
    if unknown:
        form.add_error("bands", _("“%(name)s” is no level above.") % {"name": unknown[0]})
        draft.complete = False
        return None
    places = [*names, UNCONFIGURED]
    listed = [word for line in lines for word in line]
    wrong = next((b for a, b in pairwise(listed) if places.index(a) >= places.index(b)), None)
    if wrong is not None:
        text = _("“%(name)s” stands too far down, or twice: list the highest band first, each level once.")
        form.add_error("bands", text % {"name": wrong})
        draft.complete = False
        return None
    ranks: dict[str, int | None] = {UNCONFIGURED: None, **{name: rank for rank, name in enumerate(names)}}
    return [[ranks[word] for word in line] for line in lines if line] or None


def path_steps(path: str) -> list[str]:
    """`$.levels[1].min_score` as `levels`, `1`, `min_score`."""
    return [
        plain or index or str(json.loads(quoted))
        for plain, index, quoted in _STEP.findall(path.removeprefix("$"))
    ]


def _place(error: InputError, draft: Draft, form: PolicyForm, rows: dict[str, Rows]) -> None:
    """Put a fault beside the field that its path means."""
    told = resay(error.message)
    message = told[:1].upper() + told[1:]
    match path_steps(error.path):
        case ["levels", index, name, *_rest] if name in rows[LEVELS].form.base_fields:
            rows[LEVELS].forms[draft.level_rows[int(index)]].add_error(name, message)
        case ["task_types", index, *rest]:
            column = (rest or ["pattern"])[0]
            column = "minutes" if column == "time_s" else column
            rows[TYPES].forms[draft.type_rows[int(index)]].add_error(column, message)
        case [("quotas" | "quota_amounts" | "quota_totals"), level, *_rest]:
            _at_row(rows[LEVELS], "name", level, "quota", message, form)
        case [("user_overrides" | "task_overrides") as key, subject, *_rest]:
            prefix, column = _OVERRIDES[key]
            _at_row(rows[prefix], column, subject, "level", message, form)
        case [("user_overrides_until" | "task_overrides_until") as key, subject, *_rest]:
            prefix, column = _OVERRIDES[key.removesuffix("_until")]
            _at_row(rows[prefix], column, subject, "until", message, form)
        case ["balance", key, *_rest] if PREFIX + key in form.fields:
            form.add_error(PREFIX + key, message)
        case [name, *_rest] if name in form.fields:
            form.add_error(name, message)
        case _:
            form.add_error(None, f"{error.path}: {message}")


def _at_row(rows: Rows, column: str, value: str, field_name: str, message: str, form: PolicyForm) -> None:
    found: Iterable[int] = (index for index, row in rows.filled if row[column] == value)
    index = next(iter(found), None)
    if index is None:
        form.add_error(None, message)
    else:
        rows.forms[index].add_error(field_name, message)
