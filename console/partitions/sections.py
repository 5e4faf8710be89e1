"""The sections of the policy's page: what is seen at first, and what is folded away as "more"."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.forms import BoundField, Form
from django.utils.translation import gettext_lazy as _

from console.core.rows import Rows
from console.partitions.forms import LEVELS, TASKS, TYPES, USERS
from scheduler.model.policy import SETTINGS, PartitionPolicy

ADMINS = "administrators"


@dataclass(frozen=True, slots=True)
class SectionKind:
    """A section: its id on the page, what the form has of it, and what of a policy it is about besides the settings
    that are declared to stand there."""

    key: str
    title: Any
    others: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """The fields of the form, where they are not called like the settings."""

    @property
    def declared(self) -> list[str]:
        """The settings that stand here, in their order."""
        found = [(each.place, key) for key, each in SETTINGS.items() if each.section == self.key]
        return [key for _place, key in sorted(found)]

    @property
    def settings(self) -> list[str]:
        """All keys of a policy that it is about."""
        return [*self.declared, *self.others]

    @property
    def template(self) -> str:
        """What stands in it."""
        return f"partitions/sections/{self.key}.html"


@dataclass(frozen=True, slots=True)
class Section:
    """A section as it is shown. `differ`: how many of its settings are not as in a new
    policy; `entries`: how many rows it has."""

    kind: SectionKind
    differ: int
    entries: int
    unfolded: bool
    columns: tuple[list[BoundField], list[BoundField]] = ([], [])
    """The fields of the declared settings."""


FIRST = SectionKind("first", _("The five settings"), ("levels",), (LEVELS,))
MORE = (
    SectionKind("order", _("Order and bands"), ("bands",)),
    SectionKind("overrides", _("Overrides"), ("user_overrides", "task_overrides"), (USERS, TASKS)),
    SectionKind("stopping", _("How a job is stopped")),
    SectionKind("limits", _("Limits")),
    SectionKind("protection", _("Protection")),
    SectionKind("units-and-elastic", _("Units and elastic jobs")),
    SectionKind(
        "equal-power",
        _("Equal compute power"),
        ("balance",),
        fields=("balance_resource", "balance_max_distance", "balance_applies_to", "balance_else",
                "balance_most_wait_s", "balance_swap_below_s"),
    ),
    SectionKind("task-types", _("Task types"), ("task_types",), (TYPES,)),
    SectionKind("submission", _("Submission")),
    SectionKind(ADMINS, _("Administrators"), fields=("admins",)),
)  # fmt: skip


def sections_of(policy: PartitionPolicy, form: Form, rows: Mapping[str, Rows], pressed: str) -> list[Section]:
    """The folded sections. One with something wrong, or with the rows that a button has `pressed`, is unfolded."""
    usual = PartitionPolicy(name=policy.name)
    touched = pressed.partition(":")[0]
    return [
        Section(
            kind,
            differ=sum(getattr(policy, name) != getattr(usual, name) for name in kind.settings),
            entries=sum(len(rows[prefix].forms) for prefix in kind.rows),
            unfolded=touched in kind.rows or _wrong(kind, form, rows),
            columns=_columns([form[key] for key in kind.declared]),
        )
        for kind in MORE
        if kind.key != ADMINS or "admins" in form.fields
    ]


def _columns(fields: list[BoundField]) -> tuple[list[BoundField], list[BoundField]]:
    half = -(-len(fields) // 2)
    return fields[:half], fields[half:]


def _wrong(kind: SectionKind, form: Form, rows: Mapping[str, Rows]) -> bool:
    faulty = any(name in form.errors for name in (*kind.settings, *kind.fields))
    return faulty or any(rows[prefix].total_error_count() for prefix in kind.rows)
