"""The columns that a list of jobs can have: one order for all lists, chosen in the address (`w_col=name`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `sort`: the name of its order in the address, empty when it has none; `css` is for head and cells."""

    key: str
    label: Promise
    sort: str = ""
    css: str = ""


COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("place", _("Line"), "place", "num tight"),
        Column("job", _("Job"), "job", "tight"),
        Column("phase", _("State"), "phase", "tight"),
        Column("name", _("Name"), "name"),
        Column("user", _("User"), "user"),
        Column("project", _("Project"), "project"),
        Column("account", _("Account"), "account"),
        Column("partition", _("Partition"), "partition"),
        Column("user_level", _("User level"), "user_level", "tight"),
        Column("task_level", _("Task level"), "task_level", "tight"),
        Column("asks", _("Asks for"), css="tight"),
        Column("holds", _("Holds"), css="tight"),
        Column("nodes", _("On"), css="clip"),
        Column("submitted", _("Submitted"), "submit", "num tight"),
        Column("waits", _("Waits"), "waits", "num tight"),
        Column("runs", _("Runs"), "start", "num tight"),
        Column("limit", _("Time limit"), "limit", "num tight"),
        Column("expected", _("Slurm expects it"), "expected", "num tight"),
        Column("preemptions", _("Stopped before"), "preemptions", "num tight"),
        Column("now", _("State"), css="tight"),
        Column("why", _("Why")),
    )
}
ALWAYS = "job"
"""A row without its job leads nowhere."""


def read_columns(asked: Sequence[str], offered: Sequence[str], usual: Sequence[str]) -> list[Column]:
    """The columns that are asked for, of those on offer, in the one order; the usual ones when none is."""
    wanted = {key for key in asked if key in offered} or set(usual)
    return [column for key, column in COLUMNS.items() if key in wanted | {ALWAYS}]
