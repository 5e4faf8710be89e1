"""The form of a partition's policy: rows for levels (with their quotas) and for overrides."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core import clock
from console.core.fields import NamesField, NumberField, ReasonField, WholeField, WithinTime
from console.core.rows import Rows, rows_of
from console.partitions.balance_form import BalanceForm, balance_initial
from console.partitions.keyword_form import KeywordForm, keyword_initial
from console.partitions.setting_fields import setting_fields
from console.partitions.task_types_form import TYPES, TaskTypeForm, task_type_initial
from scheduler.model.policy import SETTINGS, PartitionPolicy

UNCONFIGURED = "unconfigured"
LEVELS, USERS, TASKS = "levels", "users", "tasks"
FURTHER_QUOTAS = {"quota_amounts": "amounts", "quota_totals": "totals"}
"""Keys of a policy whose limits go with the rows of levels, and the columns that hold them."""
MOMENT = "%Y-%m-%dT%H:%M:%S"


class PolicyForm(BalanceForm):
    """A policy without its rows. `based_on` is the revision that the person had read."""

    bands = forms.CharField(
        label=_("Bands"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "One band per line, the highest first: P0, P1. Only jobs of a lower band make room; “unconfigured” stands "
            "for jobs without a level. Empty: every level is a band of its own."
        ),
    )
    admins = NamesField(
        label=_("Administrators of this partition"),
        help_text=_("Account names here, one per line. They may change this policy."),
    )
    draft_name = forms.CharField(
        label=_("Name of the draft"),
        required=False,
        max_length=80,
        help_text=_("A draft is kept beside the policy in force and changes nothing."),
    )
    based_on = forms.IntegerField(widget=forms.HiddenInput, required=False)
    reason = ReasonField()


PolicyForm.base_fields.update(setting_fields())


class ActivateForm(forms.Form):
    """Putting a draft or an earlier revision in force, as it was compared with revision `based_on`."""

    to = forms.CharField(widget=forms.HiddenInput, max_length=20)
    based_on = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1, max_value=2**31 - 1)
    reason = ReasonField()


class DeleteDraftForm(forms.Form):
    """Throwing a draft away, as it was read."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    reason = ReasonField()


class AmountsField(forms.JSONField):
    """Limits of resources that go unseen with a level's row; the matrix of quotas is where they are changed."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)

    def prepare_value(self, value: Any) -> Any:
        """Nothing stands for none: a new row is blank."""
        return super().prepare_value(value) if value else ""


class LevelForm(KeywordForm):
    """One level; its row's place is its rank."""

    name = forms.CharField(label=_("Name"), max_length=40)
    min_score = NumberField(label=_("From score"), required=False)
    quota = WholeField(label=_("Quota"), required=False)
    amounts = AmountsField()
    totals = AmountsField()


class MomentField(WithinTime):
    """A moment, or none, in the time zone of this installation, as the browser's own field has it."""

    def __init__(self, **kwargs: Any) -> None:
        attributes = {"type": "datetime-local", "step": "1"}
        super().__init__(
            required=False,
            widget=forms.DateTimeInput(attributes, format=MOMENT),
            input_formats=[MOMENT, "%Y-%m-%dT%H:%M"],
            **kwargs,
        )


class UserOverrideForm(forms.Form):
    """A user's level by hand."""

    user = forms.CharField(label=_("User"), max_length=200)
    level = forms.CharField(label=_("Level"), max_length=40)
    until = MomentField(label=_("Until"))


class TaskOverrideForm(forms.Form):
    """The level of job names, by hand."""

    pattern = forms.CharField(label=_("Job names"), max_length=200)
    level = forms.CharField(label=_("Level"), max_length=40)
    until = MomentField(label=_("Until"))


ROW_FORMS: dict[str, type[forms.Form]] = {
    LEVELS: LevelForm,
    USERS: UserOverrideForm,
    TASKS: TaskOverrideForm,
    TYPES: TaskTypeForm,
}
_ROWS = {prefix: rows_of(form) for prefix, form in ROW_FORMS.items()}


def make_rows(**kwargs: Any) -> dict[str, Rows]:
    """The rows of all kinds: `data=` what was posted, or `initial=` a list per kind."""
    initial = kwargs.pop("initial", {})
    return {
        prefix: made(prefix=prefix, initial=initial.get(prefix), **kwargs) for prefix, made in _ROWS.items()
    }


def policy_initial(policy: PartitionPolicy) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """A policy as the form and its rows show it."""
    values: dict[str, Any] = {key: getattr(policy, key) for key in SETTINGS}
    values |= balance_initial(policy.balance)
    values["bands"] = "\n".join(
        ", ".join(UNCONFIGURED if rank is None else policy.level_name(rank) for rank in band)
        for band in policy.bands or ()
    )
    rows: dict[str, list[dict[str, Any]]] = {
        LEVELS: [
            {
                "name": rule.name,
                "min_score": rule.min_score,
                **keyword_initial(rule),
                "quota": policy.quotas.get(rule.name),
                **{
                    column: dict(getattr(policy, key).get(rule.name, {}))
                    for key, column in FURTHER_QUOTAS.items()
                },
            }
            for rule in policy.levels
        ],
        USERS: [
            {"user": user, "level": level, "until": _moment(policy.user_overrides_until.get(user))}
            for user, level in policy.user_overrides.items()
        ],
        TASKS: [
            {"pattern": pattern, "level": level, "until": _moment(policy.task_overrides_until.get(pattern))}
            for pattern, level in policy.task_overrides.items()
        ],
        TYPES: [task_type_initial(row) for row in policy.task_types],
    }
    return values, rows


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else clock.from_epoch(seconds)
