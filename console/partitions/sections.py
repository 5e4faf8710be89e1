"""The sections of the policy's page: what is seen at first, and what is folded away as "more"."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.forms import Form
from django.utils.translation import gettext_lazy as _

from console.core.rows import Rows
from console.partitions.forms import LEVELS, TASKS, USERS
from console.partitions.task_types_form import TYPES
from scheduler.model.policy import PartitionPolicy

ADMINS = "administrators"


@dataclass(frozen=True, slots=True)
class SectionKind:
    """A section: its id on the page, what the form has of it, and the settings of a policy that it is about."""

    key: str
    title: Any
    settings: tuple[str, ...]
    rows: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """The fields of the form, where they are not called like the settings."""

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


FIRST = SectionKind(
    "first", _("The five settings"), ("mode", "enforcement", "levels", "exempt_s", "grace_s"), (LEVELS,)
)
MORE = (
    SectionKind("order", _("Order and bands"), ("order", "victim_order", "bands")),
    SectionKind("overrides", _("Overrides"), ("user_overrides", "task_overrides"), (USERS, TASKS)),
    SectionKind(
        "stopping",
        _("How a job is stopped"),
        ("checkpoint_signal", "start_deadline_s", "not_requeueable", "cancel_notice_s"),
    ),
    SectionKind(
        "limits",
        _("Limits"),
        (
            "rest_s", "min_wait_s", "patience_s", "dispatch", "cool_down_s", "max_preemptions_per_job",
            "max_stops_per_hour", "max_stops_per_user_hour", "max_stops_per_job_hour", "max_crashes_per_hour",
        ),
    ),
    SectionKind(
        "protection",
        _("Protection"),
        ("protected_users", "protected_accounts", "protected_qos", "protected_jobs"),
    ),
    SectionKind(
        "units-and-elastic",
        _("Units and elastic jobs"),
        ("units", "partial", "give_back", "elastic", "regrow_s"),
    ),
    SectionKind(
        "equal-power",
        _("Equal compute power"),
        ("balance",),
        fields=("balance_resource", "balance_max_distance", "balance_applies_to", "balance_else",
                "balance_most_wait_s", "balance_swap_below_s"),
    ),
    SectionKind("task-types", _("Task types"), ("task_types",), (TYPES,)),
    SectionKind("submission", _("Submission"), ("over_quota", "keyword_denied", "no_requeue_users")),
    SectionKind(ADMINS, _("Administrators"), (), fields=("admins",)),
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
        )
        for kind in MORE
        if kind.key != ADMINS or "admins" in form.fields
    ]


def _wrong(kind: SectionKind, form: Form, rows: Mapping[str, Rows]) -> bool:
    faulty = any(name in form.errors for name in (*kind.settings, *kind.fields))
    return faulty or any(rows[prefix].total_error_count() for prefix in kind.rows)
