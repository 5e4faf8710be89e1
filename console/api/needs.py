"""What the asker has to act on, as the overview lists it."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.needs.rows import NeedKind
from console.needs.selectors import needs_of
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions


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
    queryset: ClassVar[Any] = Partition.objects.all()
    serializer_class = NeedsSerializer

    @extend_schema(operation_id="needs_retrieve")
    def get(self, request: Request) -> Response:
        """What the asker may act on, and should."""
        partitions = visible_partitions(self.person).filter(cluster=self.cluster)
        found = needs_of(self.person, self.cluster, list(partitions))
        return Response(NeedsSerializer({"needs": found}).data)
