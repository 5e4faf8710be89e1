"""The form of a partition's policy: rows for levels (with their quotas) and for overrides."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core.fields import NamesField, NumberField, ReasonField, WholeField
from console.core.rows import Rows, rows_of
from scheduler.model.policy import Enforcement, Mode, OverQuota, PartitionPolicy, VictimOrder

MODES = (
    (Mode.USER, _("User: only jobs of lower users make room")),
    (Mode.USER_THEN_TASK, _("User, then task: then also lower tasks of equal users")),
    (Mode.TASK, _("Task: only jobs of lower task level make room")),
    (Mode.TASK_THEN_USER, _("Task, then user: then also equal tasks of lower users")),
)
ENFORCEMENTS = (
    (Enforcement.SHADOW, _("Shadow: plans are made, shown and recorded; nothing is touched")),
    (Enforcement.APPROVE, _("Approve: a plan waits for a person (no button for it yet: nothing is touched)")),
    (Enforcement.ENFORCE, _("Enforce: plans are carried out at once; running jobs are stopped")),
)
OVER_QUOTA = (
    (OverQuota.LOWEST, _("counts as unconfigured: free room only, first to make room")),
    (OverQuota.HOLD, _("is held until its user is under quota again")),
    (OverQuota.REJECT, _("is refused at submission where the plugin is installed, else held")),
)
VICTIM_ORDERS = (
    (VictimOrder.SHORTEST_RUNTIME, _("the one that has run for the shortest time")),
    (
        VictimOrder.LEAST_LOST_WORK,
        _("the one that loses the least work (time × share of the scarcest resource)"),
    ),
)
UNCONFIGURED = "unconfigured"
LEVELS, USERS, TASKS = "levels", "users", "tasks"


class PolicyForm(forms.Form):
    """A policy without its rows. `based_on` is the revision that the person had read."""

    mode = forms.ChoiceField(label=_("Who makes room for whom"), choices=MODES, widget=forms.RadioSelect)
    enforcement = forms.ChoiceField(label=_("Enforcement"), choices=ENFORCEMENTS, widget=forms.RadioSelect)
    over_quota = forms.ChoiceField(label=_("A job beyond its user's quota"), choices=OVER_QUOTA)
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
    exempt_s = WholeField(
        label=_("Left alone at first"),
        unit=_("seconds"),
        help_text=_("A job that has run for less than this is never stopped."),
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
    max_preemptions_per_job = WholeField(
        label=_("Most stops per job"),
        unit=_("times"),
        help_text=_("A job that has been stopped so often is left alone from then on."),
    )
    cancel_if_not_requeueable = forms.BooleanField(
        label=_("Cancel a job that cannot be requeued (it is lost)"), required=False
    )
    admins = NamesField(
        label=_("Administrators of this partition"),
        help_text=_("Account names here, one per line. They may change this policy."),
    )
    based_on = forms.IntegerField(widget=forms.HiddenInput, required=False)
    reason = ReasonField()


class LevelForm(forms.Form):
    """One level; its row's place is its rank."""

    name = forms.CharField(label=_("Name"), max_length=40)
    min_score = NumberField(label=_("From score"), required=False)
    keyword = forms.CharField(label=_("Keyword"), max_length=60, required=False)
    quota = WholeField(label=_("Quota"), required=False)


class UserOverrideForm(forms.Form):
    """A user's level by hand."""

    user = forms.CharField(label=_("User"), max_length=200)
    level = forms.CharField(label=_("Level"), max_length=40)


class TaskOverrideForm(forms.Form):
    """The level of job names, by hand."""

    pattern = forms.CharField(label=_("Job names"), max_length=200)
    level = forms.CharField(label=_("Level"), max_length=40)


ROW_FORMS: dict[str, type[forms.Form]] = {
    LEVELS: LevelForm,
    USERS: UserOverrideForm,
    TASKS: TaskOverrideForm,
}
_ROWS = {prefix: rows_of(form) for prefix, form in ROW_FORMS.items()}
_PLAIN = (
    "mode", "enforcement", "over_quota", "victim_order", "exempt_s", "grace_s", "checkpoint_signal",
    "start_deadline_s", "max_preemptions_per_job", "cancel_if_not_requeueable",
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
    values["bands"] = "\n".join(
        ", ".join(UNCONFIGURED if rank is None else policy.level_name(rank) for rank in band)
        for band in policy.bands or ()
    )
    rows: dict[str, list[dict[str, Any]]] = {
        LEVELS: [
            {
                "name": rule.name,
                "min_score": rule.min_score,
                "keyword": rule.keyword or "",
                "quota": policy.quotas.get(rule.name),
            }
            for rule in policy.levels
        ],
        USERS: [{"user": user, "level": level} for user, level in policy.user_overrides.items()],
        TASKS: [{"pattern": pattern, "level": level} for pattern, level in policy.task_overrides.items()],
    }
    return values, rows
