"""The part of a policy's form that is about units and elastic jobs."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core.fields import SwitchField, WholeField
from console.partitions.choices import DISPATCH, ELASTIC, GIVE_BACK, PARTIAL, UNITS
from scheduler.model.policy import Dispatch, GiveBack, Partial


class UnitsForm(forms.Form):
    """What jobs give up instead of being stopped whole, and how it goes back."""

    units = SwitchField(label=_("A job that holds units, such as the tasks of an array"), choices=UNITS)
    partial = forms.ChoiceField(
        label=_("A request in units that does not fit whole"), choices=PARTIAL, required=False
    )
    give_back = forms.ChoiceField(
        label=_("What is left over goes back to"), choices=GIVE_BACK, required=False
    )
    elastic = SwitchField(label=_("A job that says it is elastic"), choices=ELASTIC)
    regrow_s = WholeField(
        label=_("Between two restarts to grow"),
        unit=_("seconds"),
        required=False,
        help_text=_("A job that grows only by a restart is not restarted again sooner. 0: no limit."),
    )

    patience_s = WholeField(
        label=_("Patience"),
        unit=_("seconds"),
        required=False,
        help_text=_(
            "Nobody is stopped for a job that is forecast to start by itself within this time. If it has not started "
            "by then, others may be stopped for it. 0: no patience."
        ),
    )

    dispatch = forms.ChoiceField(label=_("A job that waits for room"), choices=DISPATCH, required=False)

    def clean_dispatch(self) -> str:
        """As with the parts."""
        return self.cleaned_data["dispatch"] or Dispatch.SLURM.value

    def clean_partial(self) -> str:
        """Scripts from before there was a choice do not say it."""
        return self.cleaned_data["partial"] or Partial.TAKE.value

    def clean_give_back(self) -> str:
        """As with the parts."""
        return self.cleaned_data["give_back"] or GiveBack.UNITS.value

    def clean_regrow_s(self) -> int:
        """As with the parts."""
        return self.cleaned_data["regrow_s"] or 0

    def clean_patience_s(self) -> int:
        """As with the parts."""
        return self.cleaned_data["patience_s"] or 0
