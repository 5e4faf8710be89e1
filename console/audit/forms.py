"""The filters of the audit log, from the address; and the name of a search that is kept."""

from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.audit.models import SavedSearch
from console.audit.registry import ACTIONS
from console.audit.search import ITSELF, PEOPLE, AuditSearch
from console.core.fields import WithinTime

OBJECT_TYPES = ("partition", "project", "plan", "job", "cluster", "config", "account", "log")
"""Proposed while one types; others may be typed."""


def _moment() -> forms.DateTimeInput:
    return forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})


class LogFilter(forms.Form):
    """Which rows are wanted. What makes no sense is told beside the field, and no row is shown."""

    since = WithinTime(label=_("From"), required=False, widget=_moment())
    until = WithinTime(label=pgettext_lazy("of a time span", "Until"), required=False, widget=_moment())
    by = forms.ChoiceField(
        label=_("By whom"),
        required=False,
        choices=[("", _("people and Giveway")), (PEOPLE, _("people")), (ITSELF, _("Giveway itself"))],
    )
    actor = forms.CharField(label=_("Who"), required=False, max_length=150)
    action = forms.ChoiceField(label=_("What"), required=False)
    text = forms.CharField(label=_("Words anywhere"), required=False, max_length=200)
    partition = forms.CharField(label=_("Partition"), required=False, max_length=64)
    project = forms.CharField(label=_("Project"), required=False, max_length=64)
    job = forms.CharField(label=_("Job"), required=False, max_length=40)
    object_type = forms.CharField(
        label=_("Kind of object"),
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"list": "object-types"}),
    )
    object_id = forms.CharField(label=_("Object's id"), required=False, max_length=100)
    plan = forms.IntegerField(label=_("Plan"), required=False, min_value=1, max_value=2**53)
    request = forms.CharField(label=pgettext_lazy("of a browser", "Request"), required=False, max_length=32)

    MORE = ("object_type", "object_id", "plan", "request")
    """Shown when one asks for more filters, or uses one of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        action = self.fields["action"]
        assert isinstance(action, forms.ChoiceField)  # noqa: S101 - for the type checker
        action.choices = [("", _("Anything")), *((name, each.label) for name, each in ACTIONS.items())]

    @property
    def search(self) -> AuditSearch | None:
        """What is asked; None when the filter is wrong."""
        return AuditSearch(**self.cleaned_data) if self.is_valid() else None

    @property
    def usual(self) -> list[forms.BoundField]:
        """The fields that are always shown."""
        return [self[name] for name in self.fields if name not in self.MORE]

    @property
    def more(self) -> list[forms.BoundField]:
        """The others."""
        return [self[name] for name in self.MORE]

    @property
    def uses_more(self) -> bool:
        """Whether one of the others is filled in."""
        return any(self.data.get(name) for name in self.MORE)

    @property
    def query(self) -> str:
        """The filter as it stands in an address: known names in a fixed order, nothing that is empty."""
        kept = QueryDict(mutable=True)
        for name in self.fields:
            if value := self.data.get(name, ""):
                kept[name] = value
        return kept.urlencode()


class SearchName(forms.ModelForm):
    """Under which name a search is kept. The same name again replaces what was kept under it."""

    name = forms.CharField(label=_("Name of the search"), max_length=60)

    class Meta:
        model = SavedSearch
        fields = ["name"]
