"""Partitions that Giveway steers, with what is observed of them and, for who may see it, their policy."""

from typing import Any, ClassVar

import django_filters
from django.db.models import Count, QuerySet
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList
from console.api.fields import AmountsSerializerField, EpochField
from console.api.policies import PolicySerializer
from console.cluster.models import ClusterPartition, Job, JobPhase
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from console.reports.immune import NOBODY, WHY, immune_parts
from scheduler.model.policy import Enforcement, Mode

SHOWN_PHASES = (JobPhase.PENDING, JobPhase.RUNNING, JobPhase.COMPLETING)


class JobCountsSerializer(serializers.Serializer):
    """How many jobs are where."""

    pending = serializers.IntegerField()
    running = serializers.IntegerField()
    completing = serializers.IntegerField()


class PartitionSerializer(serializers.ModelSerializer):
    """`state` is Slurm's own word, empty while the partition is not observed."""

    state = serializers.SerializerMethodField()
    mode = serializers.SerializerMethodField()
    enforcement = serializers.CharField(
        source="revision.enforcement", read_only=True, allow_null=True, default=None
    )
    revision = serializers.IntegerField(
        source="revision.number", read_only=True, allow_null=True, default=None
    )
    jobs = serializers.SerializerMethodField()

    class Meta:
        model = Partition
        fields: ClassVar = ["name", "state", "mode", "enforcement", "revision", "jobs"]
        read_only_fields = fields

    def get_state(self, partition: Partition) -> str:
        """As last observed."""
        return self.context["states"].get(partition.name, "")

    @extend_schema_field(serializers.ChoiceField(choices=[(m.value, m.value) for m in Mode], allow_null=True))
    def get_mode(self, partition: Partition) -> str | None:
        """The mode in force."""
        return partition.revision.document.get("mode") if partition.revision else None

    @extend_schema_field(JobCountsSerializer)
    def get_jobs(self, partition: Partition) -> dict[str, int]:
        """Jobs by phase."""
        counts = self.context["counts"]
        return {str(phase): counts.get((partition.name, phase), 0) for phase in SHOWN_PHASES}


class ImmuneUserSerializer(serializers.Serializer):
    """One user's immune jobs."""

    user = serializers.CharField()
    jobs = serializers.ListField(child=serializers.CharField(), help_text="Their ids, the oldest first.")
    why = serializers.ListField(child=serializers.ChoiceField(choices=list(WHY)))
    amounts = AmountsSerializerField()
    since = EpochField()


class ImmuneSerializer(serializers.Serializer):
    """What running jobs hold that nobody stops, because Slurm does not requeue them."""

    jobs = serializers.IntegerField()
    amounts = AmountsSerializerField()
    shares = serializers.DictField(
        child=serializers.FloatField(), help_text="Of each resource of the partition, from 0 to 1."
    )
    users = ImmuneUserSerializer(many=True, help_text="Who holds the largest part first.")


class PartitionDetailSerializer(PartitionSerializer):
    """The same with what of it is immune, and with the policy in force, null for who may not see it."""

    immune = serializers.SerializerMethodField()
    policy = serializers.SerializerMethodField()

    class Meta(PartitionSerializer.Meta):
        fields: ClassVar = [*PartitionSerializer.Meta.fields, "immune", "policy"]
        read_only_fields = fields

    @extend_schema_field(ImmuneSerializer)
    def get_immune(self, partition: Partition) -> dict[str, Any]:
        """As last observed."""
        found = immune_parts(partition.cluster, [partition.name]).get(partition.name, NOBODY)
        told = {"jobs": found.count, "amounts": found.amounts, "shares": found.shares}
        users = [
            {
                "jobs": list(each.jobs),
                **{key: getattr(each, key) for key in ("user", "why", "amounts", "since")},
            }
            for each in found.users
        ]
        return dict(ImmuneSerializer(told | {"users": users}).data)

    @extend_schema_field(PolicySerializer(allow_null=True))
    def get_policy(self, partition: Partition) -> dict[str, Any] | None:
        """The policy, if this account may see it."""
        person = self.context["request"].user
        if partition.revision is None or not person.has_perm(Permission.POLICY_VIEW, partition):
            return None
        return dict(PolicySerializer(partition.revision, context=self.context).data)


class PartitionFilter(FilterSet):
    """By name and by what its plans lead to."""

    name = django_filters.CharFilter()
    enforcement = django_filters.ChoiceFilter(
        field_name="revision__enforcement", choices=[(each.value, each.value) for each in Enforcement]
    )
    ordering = django_filters.OrderingFilter(fields=(("name", "name"),))


class Partitions:
    """What list and detail share."""

    permission = Permission.PARTITION_VIEW
    queryset = Partition.objects.all()
    lookup_field = "name"
    person: Any
    cluster: Any

    def get_queryset(self) -> QuerySet[Partition]:
        """The partitions that this account may see."""
        return visible_partitions(self.person).filter(cluster=self.cluster).select_related("revision")

    def get_serializer_context(self) -> dict[str, Any]:
        """What is observed, asked once for all partitions."""
        context: dict[str, Any] = super().get_serializer_context()
        if getattr(self, "swagger_fake_view", False):
            return context
        jobs = Job.objects.filter(cluster=self.cluster, phase__in=SHOWN_PHASES)
        counted = jobs.values_list("partition", "phase").annotate(number=Count("pk")).order_by()
        observed = ClusterPartition.objects.filter(cluster=self.cluster)
        return context | {
            "counts": {(partition, phase): number for partition, phase, number in counted},
            "states": dict(observed.values_list("name", "state")),
        }


class PartitionList(Partitions, ApiList):
    """Partitions by name."""

    serializer_class = PartitionSerializer
    filterset_class = PartitionFilter


class PartitionDetail(Partitions, ApiDetail):
    """One partition."""

    serializer_class = PartitionDetailSerializer
