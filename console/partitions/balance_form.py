"""The part of a policy's form that is about sets of equal compute power."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from console.core.fields import NumberField, WholeField
from scheduler.contracts.rules import encode_balance
from scheduler.model.policy import AppliesTo, Balance, Otherwise

BALANCE = "balance"
PREFIX = "balance_"
KEYS = ("resource", "max_distance", "else", "applies_to", "swap_below_s", "most_wait_s")
"""The keys of `balance` in the priority file; the form's fields are called like them, with the prefix."""
APPLIES_TO = (
    (AppliesTo.ALL, _("every job that asks for several processors")),
    (AppliesTo.ASKED, _("jobs that ask for one (balanced), and those whose type says so")),
)
OTHERWISE = (
    (Otherwise.WAIT, _("the job waits")),
    (Otherwise.NEAREST, _("the job takes the nearest set, and its page says how uneven it is")),
)
USUAL = {"else": Otherwise.WAIT.value, "applies_to": AppliesTo.ALL.value, "swap_below_s": 0, "most_wait_s": 0}


class BalanceForm(forms.Form):
    """Who gets nodes of equal compute power, and how equal they are to be."""

    balance_resource = forms.CharField(
        label=_("Measured resource"),
        required=False,
        max_length=64,
        help_text=_("gpu, or cpu. Empty: the partition has no rule; a job that asks gets the nearest set."),
    )
    balance_max_distance = NumberField(
        label=_("Largest difference"),
        required=False,
        help_text=_("Between the fastest and the slowest processor of a set, in the unit of the figures."),
    )
    balance_applies_to = forms.ChoiceField(label=_("Even sets are for"), choices=APPLIES_TO, required=False)
    balance_else = forms.ChoiceField(label=_("Where no set is even"), choices=OTHERWISE, required=False)
    balance_most_wait_s = WholeField(
        label=_("It waits for an even set at most"),
        unit=_("seconds"),
        required=False,
        help_text=_("After that it takes the nearest set. 0: it waits as long as it takes."),
    )
    balance_swap_below_s = WholeField(
        label=_("An exchange only with jobs younger than"),
        unit=_("seconds"),
        required=False,
        help_text=_("A job that exchanges a node begins again. 0: none does."),
    )

    def clean(self) -> dict[str, Any] | None:
        """A rule needs both its resource and its difference."""
        values = super().clean()
        resource, distance = (self.cleaned_data.get(PREFIX + key) for key in ("resource", "max_distance"))
        if resource and distance is None and f"{PREFIX}max_distance" not in self.errors:
            self.add_error(f"{PREFIX}max_distance", _now("Say how far apart a set may be."))
        if distance is not None and not resource and f"{PREFIX}resource" not in self.errors:
            self.add_error(f"{PREFIX}resource", _now("Say which resource is measured."))
        return values


def balance_initial(balance: Balance | None) -> dict[str, Any]:
    """A rule as the form shows it."""
    written = USUAL | ({} if balance is None else encode_balance(balance))
    return {PREFIX + key: written[key] for key in KEYS if key in written}


def balance_document(values: dict[str, Any]) -> dict[str, Any] | None:
    """What a valid form says of it, taken out of its values, as the priority file has it."""
    said = {key: values.pop(PREFIX + key) for key in KEYS}
    if not said["resource"]:
        return None
    return said | {key: said[key] or value for key, value in USUAL.items()}
