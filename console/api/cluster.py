"""The cluster: its last cycle, when it was seen and what was wrong."""

from typing import Any, ClassVar

from rest_framework import serializers

from console.api.base import ApiDetail
from console.api.fields import ObjectField
from console.cluster.models import Cluster
from console.steering.requests import standing


class FailureSerializer(serializers.Serializer):
    """A cycle that failed, with no good one since: nobody is stopped."""

    partition = serializers.CharField(
        help_text="The one that could not be decided on. Empty: the whole cycle."
    )
    fault = serializers.CharField(source="sentence", help_text="Where it was raised, and what.")
    since = serializers.DateTimeField()
    in_a_row = serializers.IntegerField(help_text="How many cycles have failed since the last good one.")


class ClusterSerializer(serializers.ModelSerializer):
    """`observed_at`: the last complete look; `fault`: why a later one or the last cycle failed, else empty."""

    failures = FailureSerializer(many=True, read_only=True, help_text="Why nobody is stopped now.")
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
            "failures",
        ]
        read_only_fields = fields
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

    queryset = Cluster.objects.all()
    serializer_class = ClusterSerializer

    def get_object(self) -> Cluster:
        """There is one."""
        return self.cluster
