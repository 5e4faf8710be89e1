"""The filters of the audit log, from the address."""

from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from console.audit.models import AuditEntry
from console.audit.registry import ACTIONS


def _moment() -> forms.DateTimeInput:
    return forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})


class LogFilter(forms.Form):
    """Which rows are wanted. What makes no sense is told beside the field, and no row is shown."""

    since = forms.DateTimeField(label=_("From"), required=False, widget=_moment())
    until = forms.DateTimeField(label=_("Until"), required=False, widget=_moment())
    actor = forms.CharField(label=_("Who"), required=False, max_length=150)
    action = forms.ChoiceField(label=_("What"), required=False)
    text = forms.CharField(label=_("Object"), required=False, max_length=200)
    partition = forms.CharField(label=_("Partition"), required=False, max_length=64)
    project = forms.CharField(label=_("Project"), required=False, max_length=64)
    job = forms.CharField(label=_("Job"), required=False, max_length=40)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        action = self.fields["action"]
        assert isinstance(action, forms.ChoiceField)  # noqa: S101 - for the type checker
        action.choices = [("", _("Anything")), *((name, each.label) for name, each in ACTIONS.items())]

    def apply(self, rows: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """The rows that are wanted; none when the filter is wrong."""
        if not self.is_valid():
            return rows.none()
        wanted = self.cleaned_data
        conditions = {
            "at__gte": wanted["since"],
            "at__lte": wanted["until"],
            "actor": wanted["actor"],
            "action": wanted["action"],
            "partition": wanted["partition"],
            "project": wanted["project"],
            "job_id": wanted["job"],
        }
        rows = rows.filter(**{key: value for key, value in conditions.items() if value})
        if wanted["text"]:
            text = wanted["text"]
            rows = rows.filter(
                Q(object_label__icontains=text) | Q(object_id=text) | Q(reason__icontains=text)
            )
        return rows
