"""The form that asks when a job would start that is not submitted yet."""

from collections.abc import Iterable

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from console.core.fields import WholeField
from scheduler.model.jobs import Request
from scheduler.model.resource_kinds import ACCELERATORS

MB_PER_GB = 1024


def _between(least: int, most: int) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(least), MaxValueValidator(most)]


class WhenForm(forms.Form):
    """What the job would ask for; all amounts but the time are those of each node."""

    nodes = WholeField(label=_("Nodes"), initial=1, validators=_between(1, 10_000))
    cpu = WholeField(label=_("CPUs on each node"), initial=1, validators=_between(1, 100_000))
    gpu = WholeField(label=_("GPUs on each node"), initial=0, required=False, validators=_between(0, 10_000))
    mem_gb = WholeField(
        label=_("Memory on each node"), unit=_("GB"), required=False, validators=_between(1, 1_000_000)
    )
    minutes = WholeField(
        label=_("Time limit"), unit=_("minutes"), initial=60, validators=_between(1, 527_040)
    )

    field_order = ("partition", "nodes", "cpu", "gpu", "mem_gb", "minutes")

    def __init__(
        self, names: Iterable[str], data: QueryDict | None = None, accelerator: str = ACCELERATORS[0]
    ) -> None:
        """`accelerator`: the kind that the cluster has."""
        super().__init__(data)
        self.accelerator = accelerator
        if accelerator == "npu":
            self.fields["gpu"].label = _("NPUs on each node")
        choices = [(name, name) for name in names]
        self.fields["partition"] = forms.ChoiceField(label=_("Partition"), choices=choices)
        self.order_fields(self.field_order)

    @property
    def request(self) -> Request:
        """Of a form that is valid."""
        sent = self.cleaned_data
        each = {
            "cpu": sent["cpu"],
            self.accelerator: sent["gpu"] or 0,
            "mem": (sent["mem_gb"] or 0) * MB_PER_GB,
        }
        return Request(
            nodes=sent["nodes"], per_node={name: amount for name, amount in each.items() if amount}
        )

    @property
    def time_limit_s(self) -> int:
        """Of a form that is valid."""
        minutes: int = self.cleaned_data["minutes"]
        return minutes * 60
