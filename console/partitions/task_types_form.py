"""The rows of a policy's form that are its library of task types."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core.fields import WholeField
from scheduler.model.task_types import ShrinkHow, TaskType

TYPES = "types"
"""Prefix of the rows."""
MINUTE = 60
HOW = (
    ("", _("as is safest")),
    (ShrinkHow.TASKS, _("as tasks")),
    (ShrinkHow.INPLACE, _("in place")),
    (ShrinkHow.RESTART, _("by a restart")),
)


class TaskTypeForm(forms.Form):
    """One row; the first that fits a job's name counts. The time is in minutes, as sbatch takes it."""

    pattern = forms.CharField(label=_("Job names"), max_length=200)
    cpus = WholeField(label=_("CPUs"), required=False)
    gpus = WholeField(label=_("GPUs"), required=False)
    memory_mb = WholeField(label=_("Memory, MB"), required=False)
    minutes = WholeField(label=_("Minutes"), required=False)
    elastic_min = WholeField(label=_("Keeps workers"), required=False)
    elastic_wish = WholeField(label=_("Wishes workers"), required=False)
    elastic_how = forms.ChoiceField(label=_("Gives them up"), choices=HOW, required=False)
    balanced = forms.BooleanField(label=_("Even set"), required=False)


def task_type_initial(row: TaskType) -> dict[str, Any]:
    """A row as the form shows it; a time that is no whole number of minutes is shown as the next one."""
    minutes = None if row.time_s is None else -(-row.time_s // MINUTE)
    shown = ("pattern", "cpus", "gpus", "memory_mb", "elastic_min", "elastic_wish", "elastic_how", "balanced")
    return {**{name: getattr(row, name) for name in shown}, "minutes": minutes}


def task_type_document(row: dict[str, Any]) -> dict[str, Any]:
    """A valid row as the priority file has it."""
    said = {name: value for name, value in row.items() if name != "minutes"}
    document = {name: value for name, value in said.items() if value not in (None, "", False)}
    if row["minutes"] is not None:
        document["time_s"] = row["minutes"] * MINUTE
    return document
