"""Incidents: jobs that were stopped and did not come back; and closing one."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.changes import ReasonSerializerField, changing
from console.api.fields import EpochField, MomentFilter
from console.steering.models import Incident, IncidentKind
from console.steering.requests import close_incident


class IncidentSerializer(serializers.ModelSerializer):
    """A job that was stopped by `plan` for `beneficiary` and did not come back. Open while `closed_at` is null."""

    run_started_at = EpochField(source="victim.run_start")
    run_restarts = serializers.IntegerField(source="victim.run_restarts", read_only=True)

    class Meta:
        model = Incident
        fields: ClassVar = [
            "id",
            "partition",
            "kind",
            "job_id",
            "job_name",
            "user",
            "run_started_at",
            "run_restarts",
            "plan",
            "beneficiary",
            "words",
            "opened_at",
            "counts",
            "closed_at",
            "closed_by",
            "close_reason",
        ]
        read_only_fields = fields


class CloseSerializer(serializers.Serializer):
    """Why it need not be shown any more."""

    reason = ReasonSerializerField()


class IncidentFilter(FilterSet):
    """By where, whose, and whether it is open."""

    partition = django_filters.CharFilter()
    job_id = django_filters.CharFilter()
    user = django_filters.CharFilter(label="The job's user.")
    plan = django_filters.NumberFilter()
    kind = django_filters.ChoiceFilter(choices=IncidentKind.choices)
    open = django_filters.BooleanFilter(field_name="closed_at", lookup_expr="isnull")
    since = MomentFilter(field_name="opened_at", lookup_expr="gte")
    until = MomentFilter(field_name="opened_at", lookup_expr="lt")


class Incidents:
    """What all of them share."""

    permission = Permission.PLAN_VIEW
    queryset = Incident.objects.all()
    serializer_class = IncidentSerializer
    cluster: Any

    def get_queryset(self) -> QuerySet[Incident]:
        """The incidents of this cluster."""
        rows = Incident.objects.filter(cluster=self.cluster)
        return rows.select_related("victim", "cluster").order_by("-id")


class IncidentList(Incidents, ApiList):
    """Incidents, the latest first."""

    filterset_class = IncidentFilter


class IncidentDetail(Incidents, ApiDetail):
    """One incident."""


class IncidentClosing(Incidents, ApiView):
    """Closing one."""

    @extend_schema(
        request=CloseSerializer, responses={200: IncidentSerializer}, operation_id="incidents_close_create"
    )
    def post(self, request: Request, pk: int) -> Response:
        """Say why it need not be shown any more. Closed already, it stays as it was closed first."""
        incident = self.get_object()
        require_write(request, Permission.INCIDENT_CLOSE, incident)
        sent = CloseSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        with changing():
            close_incident(
                actor=self.person.username,
                incident=incident,
                reason=sent.validated_data["reason"],
                request_id=self.request_id,
            )
        return Response(IncidentSerializer(self.get_object(), context=self.get_serializer_context()).data)
