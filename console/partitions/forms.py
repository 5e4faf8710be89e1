"""The form of a partition's policy: rows for levels (with their quotas) and for overrides."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core import clock
from console.core.fields import NamesField, NumberField, ReasonField, WholeField
from console.core.moments import WithinTime
from console.core.rows import Rows, rows_of
from console.partitions.balance_form import BalanceForm, balance_initial
from console.partitions.choices import (
    ENFORCEMENTS,
    KEYWORD_DENIED,
    MODES,
    NOT_REQUEUEABLE,
    ORDERS,
    OVER_QUOTA,
    VICTIM_ORDERS,
)
from console.partitions.keyword_form import KeywordForm, keyword_initial
from console.partitions.patterns import PatternsField
from console.partitions.task_types_form import TYPES, TaskTypeForm, task_type_initial
from console.partitions.units_form import UnitsForm
from scheduler.model.policy import LineOrder, PartitionPolicy

UNCONFIGURED = "unconfigured"
LEVELS, USERS, TASKS = "levels", "users", "tasks"
FURTHER_QUOTAS = {"quota_amounts": "amounts", "quota_totals": "totals"}
"""Keys of a policy whose limits go with the rows of levels, and the columns that hold them."""
MOMENT = "%Y-%m-%dT%H:%M:%S"


class PolicyForm(UnitsForm, BalanceForm):
    """A policy without its rows. `based_on` is the revision that the person had read."""

    mode = forms.ChoiceField(label=_("Who makes room for whom"), choices=MODES, widget=forms.RadioSelect)
    enforcement = forms.ChoiceField(label=_("Enforcement"), choices=ENFORCEMENTS, widget=forms.RadioSelect)
    over_quota = forms.ChoiceField(label=_("A job beyond its user's quota"), choices=OVER_QUOTA)
    order = forms.ChoiceField(label=_("Slurm's line stands"), choices=ORDERS, required=False)
    victim_order = forms.ChoiceField(label=_("Within a level, the first to go is"), choices=VICTIM_ORDERS)
    bands = forms.CharField(
        label=_("Bands"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "One band per line, the highest first: P0, P1. Only jobs of a lower band make room; “unconfigured” stands "
            "for jobs without a level. Empty: every level is a band of its own."
        ),
    )
    grace_s = WholeField(
        label=_("Grace"),
        unit=_("seconds"),
        help_text=_("Between the checkpoint signal and the requeue."),
    )
    checkpoint_signal = forms.CharField(
        label=_("Checkpoint signal"),
        required=False,
        max_length=10,
        help_text=_("USR1, USR2, TERM, INT …: sent to the batch script first. Empty sends none."),
    )
    start_deadline_s = WholeField(
        label=_("Start deadline"),
        unit=_("seconds"),
        help_text=_("If the job that room was made for does not run by then, the plan is undone."),
    )
    not_requeueable = forms.ChoiceField(
        label=_("A running job that cannot be requeued"),
        choices=NOT_REQUEUEABLE,
        help_text=_("Interactive, submitted with --no-requeue, or changed by its user since."),
    )
    cancel_notice_s = WholeField(
        label=_("Notice before it may be cancelled"),
        unit=_("seconds"),
        help_text=_(
            "From the moment in which it is first seen so; its user is told. Only where it may be cancelled."
        ),
    )
    exempt_s = WholeField(
        label=_("Left alone at first"),
        unit=_("seconds"),
        help_text=_("A job that has run for less than this is never stopped."),
    )
    rest_s = WholeField(
        label=_("Left alone after a stop"),
        unit=_("seconds"),
        help_text=_(
            "A job that has come back is not stopped again until it has run for so long, or has saved its state since."
        ),
    )
    min_wait_s = WholeField(
        label=_("Wait before others are stopped"),
        unit=_("seconds"),
        help_text=_("A job must have waited this long before anybody is stopped for it. 0: no wait."),
    )
    cool_down_s = WholeField(
        label=_("Cool-down after being stopped"),
        unit=_("seconds"),
        help_text=_(
            "For this long after a job was stopped, nobody is stopped for it: two jobs do not take turns stopping "
            "each other."
        ),
    )
    max_preemptions_per_job = WholeField(
        label=_("Most stops per job"),
        unit=_("times"),
        help_text=_("A job that has been stopped so often is left alone from then on."),
    )
    max_stops_per_hour = WholeField(
        label=_("Most stops within an hour"),
        unit=_("jobs"),
        required=False,
        help_text=_("In the whole partition. Empty: any number. 0: nobody is stopped."),
    )
    max_stops_per_user_hour = WholeField(
        label=_("Most stops of one user within an hour"),
        unit=_("jobs"),
        required=False,
        help_text=_("Of each user's jobs in this partition. Empty: any number."),
    )
    max_stops_per_job_hour = WholeField(
        label=_("Most stops of one job within an hour"),
        unit=_("times"),
        required=False,
        help_text=_("Empty: any number."),
    )
    max_crashes_per_hour = WholeField(
        label=_("Most failed starts within an hour"),
        unit=_("times"),
        required=False,
        help_text=_(
            "A job that others were stopped for, and that ended badly within a minute of its start so often, has "
            "nobody stopped for it until it has run well or is submitted anew. Empty: however often."
        ),
    )
    protected_users = PatternsField(label=_("Users"), help_text=_("Their jobs are never stopped."))
    protected_accounts = PatternsField(
        label=_("Accounts"), help_text=_("Jobs under these Slurm accounts are never stopped.")
    )
    protected_qos = PatternsField(label=_("QOS"), help_text=_("Jobs with these QOS are never stopped."))
    protected_jobs = PatternsField(
        label=_("Jobs"), help_text=_("Job ids (4711) or job names (release_*) that are never stopped.")
    )
    keyword_denied = forms.ChoiceField(
        label=_("A job with a keyword that is not its user's"), choices=KEYWORD_DENIED
    )
    no_requeue_users = PatternsField(
        label=_("Who may use --no-requeue"),
        help_text=_(
            "User names or patterns (eval-*). Everybody else's submission with it is refused where the partition "
            "enforces and the plugin is installed. Empty: nobody may."
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

    def clean_order(self) -> str:
        """Scripts from before there was a choice do not say it."""
        return self.cleaned_data["order"] or LineOrder.LEVELS.value


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
_PLAIN = (
    "mode", "enforcement", "over_quota", "victim_order", "exempt_s", "grace_s", "checkpoint_signal",
    "start_deadline_s", "max_preemptions_per_job", "not_requeueable", "cancel_notice_s", "min_wait_s", "cool_down_s",
    "max_stops_per_hour", "max_stops_per_user_hour", "protected_jobs", "protected_users", "protected_accounts",
    "protected_qos", "keyword_denied", "order", "no_requeue_users", "rest_s", "max_stops_per_job_hour",
    "max_crashes_per_hour", "units", "elastic", "partial", "give_back", "regrow_s",
    "patience_s", "dispatch",
)  # fmt: skip


def make_rows(**kwargs: Any) -> dict[str, Rows]:
    """The rows of all kinds: `data=` what was posted, or `initial=` a list per kind."""
    initial = kwargs.pop("initial", {})
    return {
        prefix: made(prefix=prefix, initial=initial.get(prefix), **kwargs) for prefix, made in _ROWS.items()
    }


def policy_initial(policy: PartitionPolicy) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """A policy as the form and its rows show it."""
    values: dict[str, Any] = {name: getattr(policy, name) for name in _PLAIN}
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
