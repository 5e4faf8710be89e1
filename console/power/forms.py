"""The forms of a partition's compute power."""

from typing import Any, ClassVar

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _

from console.core.fields import ReasonField, WholeField
from console.power.figures import NewReading, read_table
from console.power.models import MeasuringRule


def _between(least: int, most: int) -> dict[str, Any]:
    return {"validators": [MinValueValidator(least), MaxValueValidator(most)]}


class RuleForm(forms.Form):
    """How a partition is measured."""

    enabled = forms.BooleanField(label=_("Measure idle nodes"), required=False)
    resource = forms.CharField(label=_("Measured resource"), max_length=64, help_text=_("gpu, or cpu."))
    at_most = WholeField(label=_("At once, at most"), unit=_("nodes"), **_between(1, 1000))
    every_days = WholeField(label=_("Measured anew after"), unit=_("days"), **_between(1, 3650))
    limit_s = WholeField(label=_("A measurement takes at most"), unit=_("seconds"), **_between(60, 86_400))
    reason = ReasonField()

    NAMES: ClassVar = ("enabled", "resource", "at_most", "every_days", "limit_s")

    @classmethod
    def of(cls, rule: MeasuringRule) -> "RuleForm":
        """As the rule is."""
        return cls(initial={name: getattr(rule, name) for name in cls.NAMES})


class StandoutForm(forms.Form):
    """What is done about a processor that stands out carries a reason."""

    reason = ReasonField()


class FiguresForm(forms.Form):
    """Figures that somebody knows, as a table."""

    table = forms.CharField(
        label=_("Figures"),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        max_length=1_000_000,
        help_text=_("node,resource,device,seconds: a line for each processor, as in n1,gpu,0,12.5."),
    )
    reason = ReasonField()

    def clean_table(self) -> list[NewReading]:
        """The rows."""
        return read_table(self.cleaned_data["table"])
