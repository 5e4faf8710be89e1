"""The cluster: its last cycle, when it was seen and what was wrong."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import FilterSet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiView, ApiViewSet
from console.api.fields import AmountsSerializerField, NamesField, ObjectField, RowSerializer
from console.cluster.models import Cluster, Node
from console.needs.rows import NeedKind
from console.needs.selectors import needs_of
from console.steering.requests import standing


class FailureSerializer(serializers.Serializer):
    """A cycle that failed, with no good one since: nobody is stopped."""

    partition = serializers.CharField(
        help_text="The one that could not be decided on. Empty: the whole cycle."
    )
    fault = serializers.CharField(source="sentence", help_text="Where it was raised, and what.")
    since = serializers.DateTimeField()
    in_a_row = serializers.IntegerField(help_text="How many cycles have failed since the last good one.")


class ClusterSerializer(RowSerializer):
    """`observed_at`: the last complete look; `fault`: why a later one or the last cycle failed, else empty."""

    failures = FailureSerializer(many=True, read_only=True, help_text="Why nobody is stopped now.")
    facts = ObjectField(read_only=True, help_text="What the cluster tells of itself.")

    class Meta:
        model = Cluster
        fields: ClassVar = [
            "name", "kind", "software", "facts", "cycle", "version", "observed_at", "attempted_at", "fault",
            "failures",
        ]  # fmt: skip
        extra_kwargs: ClassVar = {
            "cycle": {"help_text": "How many cycles there have been."},
            "version": {"help_text": "Grows whenever something that this API shows has changed."},
        }

    def to_representation(self, instance: Cluster) -> dict[str, Any]:
        """With the cycles that failed, the whole cycle's first."""
        failures = standing(instance.name).streaks
        vars(instance)["failures"] = failures
        if failures and not instance.fault:
            instance.fault = failures[0].sentence
        told: dict[str, Any] = super().to_representation(instance)
        return told


class ClusterView(ApiDetail):
    """The cluster that this console is attached to."""

    serializer_class = ClusterSerializer

    def get_object(self) -> Cluster:
        """There is one."""
        return self.cluster


# --- Nodes as last observed.


class NodeSerializer(RowSerializer):
    """`up`: new jobs may start there. `used` counts the running jobs of all partitions.

    `unit`: the switch or block that it is in, empty where none is known; `own_units`: the same in partitions that see
    the network in their own way.
    """

    total = AmountsSerializerField(read_only=True)
    used = AmountsSerializerField(read_only=True)
    features = NamesField(read_only=True)
    partitions = NamesField(read_only=True)
    own_units = serializers.DictField(child=serializers.CharField(allow_blank=True), read_only=True)

    class Meta:
        model = Node
        fields: ClassVar = [
            "name", "up", "state", "state_reason", "total", "used", "features", "partitions", "unit",
            "own_units",
        ]  # fmt: skip


class NodeFilter(FilterSet):
    """By partition, by unit and by whether jobs may start there."""

    partition = django_filters.CharFilter(method="in_partition", label="Nodes of this partition.")
    up = django_filters.BooleanFilter()
    unit = django_filters.CharFilter(label="Nodes of this switch or block.")

    def in_partition(self, nodes: QuerySet[Node], name: str, value: str) -> QuerySet[Node]:
        """A JSON list cannot be searched in SQLite's SQL: the names are compared here, two columns of each node."""
        keys = [pk for pk, partitions in nodes.values_list("pk", "partitions") if value in partitions]
        return nodes.filter(pk__in=keys)


class Nodes(ApiViewSet):
    """Nodes by name."""

    one = "One node."
    permission = Permission.PARTITION_VIEW
    queryset = Node.objects.all()
    serializer_class = NodeSerializer
    filterset_class = NodeFilter
    lookup_field = "name"
    lookup_value_converter = "name"

    def get_queryset(self) -> QuerySet[Node]:
        """The nodes of this cluster."""
        return Node.objects.filter(cluster=self.cluster).order_by("name")

    def weak_tag(self) -> str:
        """The mirror's version."""
        return self.version_tag()


# --- What the asker has to act on, as the overview lists it.


class NeedSerializer(serializers.Serializer):
    """One thing to act on."""

    kind = serializers.ChoiceField(choices=NeedKind.choices)
    text = serializers.CharField(help_text="In one sentence, or two.")
    since = serializers.DateTimeField(allow_null=True, help_text="Null where nothing tells it.")
    partition = serializers.CharField(allow_blank=True, help_text="Empty where it is about none.")
    url = serializers.CharField(help_text="The page where it is acted on.")


class NeedsSerializer(serializers.Serializer):
    """All of them, the most urgent first; empty when nothing needs the asker."""

    needs = NeedSerializer(many=True)


class NeedsView(ApiView):
    """What needs the asker."""

    permission = Permission.PARTITION_VIEW
    serializer_class = NeedsSerializer

    def get(self, request: Request) -> Response:
        """What the asker may act on, and should."""
        partitions = self.partitions()
        found = needs_of(self.person, self.cluster, list(partitions))
        return Response(NeedsSerializer({"needs": found}).data)
