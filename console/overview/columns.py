"""The columns that a list of jobs can have: one order for all lists, chosen in the address (`w_col=name`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column. `sort`: the name of its order in the address, empty when it has none; `css` is for head and cells."""

    key: str
    label: Promise
    sort: str = ""
    css: str = ""


COLUMNS: dict[str, TableColumn] = {
    column.key: column
    for column in (
        TableColumn("place", _("Line"), "place", "num tight"),
        TableColumn("job", _("Job"), "job", "tight"),
        TableColumn("phase", _("State"), "phase", "tight"),
        TableColumn("name", _("Name"), "name"),
        TableColumn("user", _("User"), "user"),
        TableColumn("project", _("Project"), "project"),
        TableColumn("account", _("Account"), "account"),
        TableColumn("partition", _("Partition"), "partition"),
        TableColumn("user_level", _("User level"), "user_level", "tight"),
        TableColumn("task_level", _("Task level"), "task_level", "tight"),
        TableColumn("asks", _("Asks for"), css="tight"),
        TableColumn("holds", _("Holds"), css="tight"),
        TableColumn("nodes", _("On"), css="clip"),
        TableColumn("submitted", _("Submitted"), "submit", "num tight"),
        TableColumn("waits", _("Waits"), "waits", "num tight"),
        TableColumn("runs", _("Runs"), "start", "num tight"),
        TableColumn("limit", _("Time limit"), "limit", "num tight"),
        TableColumn("risk", _("May be stopped"), css="num tight"),
        TableColumn("starts", _("Expected start"), css="num tight"),
        TableColumn("expected", _("Slurm expects it"), "expected", "num tight"),
        TableColumn("preemptions", _("Stopped before"), "preemptions", "num tight"),
        TableColumn("now", _("State"), css="tight"),
        TableColumn("why", _("Why")),
    )
}
ALWAYS = "job"
"""A row without its job leads nowhere."""
STARTS, RISK = "starts", "risk"
"""What is told here is no part of the job: it is read only where the column is shown."""


def read_columns(asked: Sequence[str], offered: Sequence[str], usual: Sequence[str]) -> list[TableColumn]:
    """The columns that are asked for, of those on offer, in the one order; the usual ones when none is."""
    wanted = {key for key in asked if key in offered} or set(usual)
    return [column for key, column in COLUMNS.items() if key in wanted | {ALWAYS}]
