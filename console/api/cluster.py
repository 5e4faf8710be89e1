"""The cluster: its last cycle, when it was seen and what was wrong."""

from typing import ClassVar

from rest_framework import serializers

from console.api.base import ApiDetail
from console.api.fields import ObjectField
from console.cluster.models import Cluster


class ClusterSerializer(serializers.ModelSerializer):
    """`observed_at`: the last complete look; `fault`: why a later one failed, empty when all is well."""

    facts = ObjectField(read_only=True, help_text="What the cluster tells of itself.")

    class Meta:
        model = Cluster
        fields: ClassVar = [
            "name",
            "kind",
            "software",
            "facts",
            "cycle",
            "version",
            "observed_at",
            "attempted_at",
            "fault",
        ]
        read_only_fields = fields
        extra_kwargs: ClassVar = {
            "cycle": {"help_text": "How many cycles there have been."},
            "version": {"help_text": "Grows whenever something that this API shows has changed."},
        }


class ClusterView(ApiDetail):
    """The cluster that this console is attached to."""

    queryset = Cluster.objects.all()
    serializer_class = ClusterSerializer

    def get_object(self) -> Cluster:
        """There is one."""
        return self.cluster
