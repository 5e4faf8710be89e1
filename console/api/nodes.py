"""Nodes as last observed."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import FilterSet
from rest_framework import serializers

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList
from console.api.fields import AmountsSerializerField
from console.cluster.models import Node


class NodeSerializer(serializers.ModelSerializer):
    """`up`: new jobs may start there. `used` counts the running jobs of all partitions.

    `unit`: the switch or block that it is in, empty where none is known; `own_units`: the same in partitions that see
    the network in their own way.
    """

    total = AmountsSerializerField(read_only=True)
    used = AmountsSerializerField(read_only=True)
    features = serializers.ListField(child=serializers.CharField(), read_only=True)
    partitions = serializers.ListField(child=serializers.CharField(), read_only=True)
    own_units = serializers.DictField(child=serializers.CharField(allow_blank=True), read_only=True)

    class Meta:
        model = Node
        fields: ClassVar = [
            "name",
            "up",
            "state",
            "state_reason",
            "total",
            "used",
            "features",
            "partitions",
            "unit",
            "own_units",
        ]
        read_only_fields = fields


class NodeFilter(FilterSet):
    """By partition, by unit and by whether jobs may start there."""

    partition = django_filters.CharFilter(method="in_partition", label="Nodes of this partition.")
    up = django_filters.BooleanFilter()
    unit = django_filters.CharFilter(label="Nodes of this switch or block.")

    def in_partition(self, nodes: QuerySet[Node], name: str, value: str) -> QuerySet[Node]:
        """A JSON list cannot be searched in SQLite's SQL: the names are compared here, two columns of each node."""
        keys = [pk for pk, partitions in nodes.values_list("pk", "partitions") if value in partitions]
        return nodes.filter(pk__in=keys)


class NodeListView:
    """What list and detail share."""

    permission = Permission.PARTITION_VIEW
    queryset = Node.objects.all()
    serializer_class = NodeSerializer
    lookup_field = "name"
    version_tag: Any

    def weak_tag(self) -> str | None:
        """The mirror's version."""
        return str(self.version_tag())


class NodeList(NodeListView, ApiList):
    """Nodes by name."""

    filterset_class = NodeFilter

    def get_queryset(self) -> QuerySet[Node]:
        """The nodes of this cluster."""
        return Node.objects.filter(cluster=self.cluster).order_by("name")


class NodeDetail(NodeListView, ApiDetail):
    """One node."""

    def get_queryset(self) -> QuerySet[Node]:
        """The nodes of this cluster."""
        return Node.objects.filter(cluster=self.cluster)
