"""A job's and a project's whole history: rows of the audit log, plans and checkpoints in one order."""

from datetime import datetime
from typing import Any

from django.http import Http404
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.dataclasses import DataclassSerializer
from console.audit.models import AuditEntry
from console.core.fields import within_time
from console.core.l10n_format import in_a_row
from console.reports.histories import History, HistoryMoment, HistorySpan, job_history, project_history

NEWEST, OLDEST = "-at", "at"
PARAMETERS = [
    OpenApiParameter(
        "ordering",
        OpenApiTypes.STR,
        enum=[NEWEST, OLDEST],
        description="`-at`, unless told: the newest first; `at`: the oldest.",
    ),
    OpenApiParameter("since", OpenApiTypes.DATETIME, description="Not before; `newer` of the page before."),
    OpenApiParameter("until", OpenApiTypes.DATETIME, description="Not after; `older` of the page before."),
]
KINDS = [(kind, kind) for kind in ("audit", "plan", "checkpoint")]


class MomentSerializer(DataclassSerializer):
    """One thing that happened, in words. `row` is its number in the audit log."""

    dataclass = HistoryMoment
    only = ("at", "text", "detail", "who", "row", "plan", "job_id")
    kind = serializers.ChoiceField(choices=KINDS)
    differences = serializers.ListField(child=serializers.CharField())


class HistorySerializer(serializers.Serializer):
    """A page of it. `older`: `until` of the next page, `newer`: its `since` where the oldest come first; null: this
    is all."""

    moments = MomentSerializer(many=True)
    older = serializers.DateTimeField(allow_null=True)
    newer = serializers.DateTimeField(allow_null=True)


class _HistoryView(ApiView):
    permission = Permission.JOB_VIEW
    queryset = AuditEntry.objects.all()
    parameters = frozenset({"ordering", "since", "until"})

    def stretch(self) -> HistorySpan:
        """The time and the order that are asked for."""
        ordering = self.request.query_params.get("ordering", NEWEST)
        if ordering not in {NEWEST, OLDEST}:
            said = _("Must be one of %(words)s.") % {"words": in_a_row((NEWEST, OLDEST))}
            raise ValidationError({"ordering": [said]})
        return HistorySpan(self._moment("since"), self._moment("until"), oldest_first=ordering == OLDEST)

    def _moment(self, name: str) -> datetime | None:
        text = self.request.query_params.get(name, "")
        try:
            moment = parse_datetime(text)
            moment = within_time(moment) if moment is not None and moment.tzinfo is not None else None
        except ValueError:
            moment = None
        if text and moment is None:
            said = _("Must be a time with its zone: %(example)s.") % {"example": "2026-03-02T12:00:00Z"}
            raise ValidationError({name: [said]})
        return moment

    def answer(self, history: History | None, stretch: HistorySpan) -> Response:
        """The page, or 404 when there is none for this account."""
        if history is None:
            raise Http404
        older, newer = (None, history.further) if stretch.oldest_first else (history.further, None)
        page = {"moments": history.moments, "older": older, "newer": newer}
        return Response(HistorySerializer(page).data)


class JobHistory(_HistoryView):
    """What is kept of a job, also when Slurm has forgotten it."""

    @extend_schema(parameters=PARAMETERS, responses=HistorySerializer)
    def get(self, request: Request, job_id: str, **kwargs: Any) -> Response:
        """Rows of the audit log as far as they are this account's, plans and checkpoints."""
        stretch = self.stretch()
        return self.answer(job_history(self.person, self.cluster, job_id, stretch), stretch)


class ProjectHistory(_HistoryView):
    """Changes of a project, and what became of its jobs."""

    @extend_schema(parameters=PARAMETERS, responses=HistorySerializer)
    def get(self, request: Request, code: str, **kwargs: Any) -> Response:
        """Rows of the audit log as far as they are this account's, plans and checkpoints."""
        stretch = self.stretch()
        return self.answer(project_history(self.person, self.cluster, code, stretch), stretch)
