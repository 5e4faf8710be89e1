"""The audit log: who did what, when and why. Reading only; rows are written by the services themselves."""

from typing import ClassVar

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import FilterSet
from rest_framework import serializers

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList
from console.api.fields import AnyJsonField, MomentFilter
from console.audit.models import AuditEntry
from console.audit.search import ITSELF, PEOPLE, containing, done_by
from console.audit.selectors import visible_entries


class AuditSerializer(serializers.ModelSerializer):
    """One row. `hash` covers the row and `previous_hash`, the hash of the row before it."""

    before = AnyJsonField(read_only=True)
    after = AnyJsonField(read_only=True)

    class Meta:
        model = AuditEntry
        fields: ClassVar = [
            "sequence",
            "at",
            "actor",
            "action",
            "object_type",
            "object_id",
            "object_label",
            "cluster",
            "partition",
            "project",
            "job_id",
            "before",
            "after",
            "reason",
            "cycle",
            "plan",
            "policy_revision",
            "request_id",
            "previous_hash",
            "hash",
        ]
        read_only_fields = fields


class AuditFilter(FilterSet):
    """By who, what, when and about what."""

    actor = django_filters.CharFilter(label="Account name, or `giveway` for the system itself.")
    action = django_filters.CharFilter()
    object_type = django_filters.CharFilter()
    object_id = django_filters.CharFilter()
    cluster = django_filters.CharFilter()
    partition = django_filters.CharFilter()
    project = django_filters.CharFilter()
    job_id = django_filters.CharFilter()
    cycle = django_filters.NumberFilter()
    plan = django_filters.NumberFilter()
    request_id = django_filters.CharFilter()
    since = MomentFilter(field_name="at", lookup_expr="gte")
    until = MomentFilter(field_name="at", lookup_expr="lt")
    ordering = django_filters.OrderingFilter(fields=(("sequence", "sequence"),))
    by = django_filters.ChoiceFilter(
        method="with_whom",
        choices=[(PEOPLE, PEOPLE), (ITSELF, ITSELF)],
        label="What people did, or `giveway` by itself.",
    )
    text = django_filters.CharFilter(method="with_words", label="Words anywhere in the row.")

    def with_words(self, rows: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        """As the page looks for them."""
        return rows.filter(containing(value))

    def with_whom(self, rows: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        """As the page has it."""
        return done_by(rows, value)


class AuditList(ApiList):
    """The rows that this account may read, the latest first."""

    permission = Permission.AUDIT_VIEW
    queryset = AuditEntry.objects.all()
    serializer_class = AuditSerializer
    filterset_class = AuditFilter

    def get_queryset(self) -> QuerySet[AuditEntry]:
        """Whole log for who reads everything; rows about one's own partitions and projects otherwise."""
        return visible_entries(self.person).order_by("-sequence")


class AuditDetail(ApiDetail):
    """One row by its number."""

    queryset = AuditEntry.objects.all()
    serializer_class = AuditSerializer
    lookup_field = "sequence"

    def get_queryset(self) -> QuerySet[AuditEntry]:
        """Rows that are not this account's to read are not there for it."""
        return visible_entries(self.person)
