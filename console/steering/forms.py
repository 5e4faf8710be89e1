"""The forms of steering: a decision on a plan, the switch, and closing an incident."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core.fields import ReasonField
from console.steering.pausing import LONGEST_REASON

APPROVE, REJECT = "approve", "reject"
INSTEAD = "instead:"
"""Before the mark of an alternative that is approved."""


class DecisionField(forms.ChoiceField):
    """What a button of the form says: yes, no, or which alternative instead."""

    def valid_value(self, value: str) -> bool:
        """An alternative is known by its mark only."""
        return value.startswith(INSTEAD) or super().valid_value(value)


class DecisionForm(forms.Form):
    """One form with two buttons, and one beside each alternative. `seen` is the mark of what the person has read."""

    reason = ReasonField(placeholder=" ")
    """The placeholder lets the page's style tell an empty field from one that holds something."""
    seen = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    decision = DecisionField(
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
