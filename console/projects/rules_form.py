"""The form of the rules for projects, with a row for each step of the schedule."""

from dataclasses import asdict
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core.fields import NumberField, ReasonField, WholeField
from console.core.rows import Rows
from console.projects.rulebook import FLAGS, NUMBERS, ManagerLimits, Rules, SizeGrade
from scheduler.priority.deadline import Schedule, UrgencyStep

SIZE_GRADE = (
    (SizeGrade.FREE, _("set by managers as they see fit")),
    (SizeGrade.BOUNDS, _("set by managers within these bounds")),
    (SizeGrade.ADMINISTRATORS, _("set by administrators only")),
)


def _limit(label: Any, help_text: Any = "") -> NumberField:
    return NumberField(label=label, required=False, help_text=help_text)


class RulesForm(forms.Form):
    """The rules without the steps. `version` is what the person had read."""

    hold_days = WholeField(
        label=_("After the deadline"),
        unit=_("days"),
        help_text=_("For so long the last step's urgency stays; then the project's own counts again."),
    )
    urgency_limit = _limit(
        _("Urgency without approval, at most"),
        _("What a manager sets above it waits for an administrator. Empty: any."),
    )
    size_grade = forms.ChoiceField(label=_("Size and grade are"), choices=SIZE_GRADE)
    size_min = _limit(_("Smallest size"))
    size_max = _limit(_("Largest size"))
    grade_min = _limit(_("Smallest grade"), _("1 is the most important."))
    grade_max = _limit(_("Largest grade"))
    importance_max = _limit(
        _("Importance of a pattern, at most"), _("It multiplies the score, as the urgency does. Empty: any.")
    )
    managers_set_levels = forms.BooleanField(
        label=_("Managers may give a task pattern a level of its own"), required=False
    )
    managers_set_managers = forms.BooleanField(label=_("Managers may name managers"), required=False)
    managers_set_account = forms.BooleanField(label=_("Managers may set the Slurm account"), required=False)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    reason = ReasonField()
    step_faults: list[str] = []


class StepForm(forms.Form):
    """One step of the schedule."""

    days_left = forms.IntegerField(label=_("Days before the deadline"), min_value=0, max_value=10**6)
    urgency = NumberField(label=_("Urgency at least"))


STEPS = "steps"


def rules_initial(rules: Rules) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Rules as the form and its rows show them."""
    return (
        {"hold_days": rules.schedule.hold_days, **asdict(rules.limits)},
        [asdict(step) for step in rules.schedule.steps],
    )


def rules_from(form: RulesForm, steps: Rows) -> Rules:
    """What valid forms say."""
    values = form.cleaned_data
    rows = tuple(UrgencyStep(row["days_left"], row["urgency"]) for _index, row in steps.filled)
    limits = {key: values[key] for key in (*NUMBERS, *FLAGS)}
    return Rules(
        Schedule(rows, values["hold_days"]),
        ManagerLimits(size_grade=SizeGrade(values["size_grade"]), **limits),
    )
