"""The forms of steering: a decision on a plan, the switch, and closing an incident."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core.fields import ReasonField
from console.steering.people.pausing import LONGEST_REASON

APPROVE, REJECT = "approve", "reject"


class DecisionForm(forms.Form):
    """One form with two buttons. `seen` is the mark of the plan that the person looked at."""

    reason = ReasonField()
    seen = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    decision = forms.ChoiceField(
        choices=[(APPROVE, _("Approve")), (REJECT, _("Reject"))],
        error_messages={
            "required": _("Press one of the two buttons."),
            "invalid_choice": _("No such choice."),
        },
    )


class PauseForm(forms.Form):
    """Why, if somebody wants to say it."""

    reason = forms.CharField(max_length=LONGEST_REASON, required=False)


class CloseForm(forms.Form):
    """Why an incident need not be shown any more."""

    reason = ReasonField()
