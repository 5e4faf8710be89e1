"""How much of a partition's quotas is used. The limits themselves are a part of its policy, and changed there."""

from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiList
from console.partitions.models import Partition
from console.partitions.quotas import Use, all_uses, own_uses
from console.partitions.selectors import policy_of, visible_partitions


class QuotaUseSerializer(serializers.Serializer):
    """How much of one limit is used. `user` null: by all users together."""

    user = serializers.CharField(allow_null=True)
    level = serializers.CharField()
    rank = serializers.IntegerField(help_text="0 is the highest level.")
    resource = serializers.CharField(help_text="`jobs`, or what they hold; memory in MB.")
    used = serializers.IntegerField()
    limit = serializers.IntegerField()
    full = serializers.BooleanField()


class QuotaUseList(ApiList):
    """Who uses how much of which limit now."""

    permission = Permission.PARTITION_VIEW
    parameters: ClassVar = frozenset({"user"})
    queryset = Partition.objects.all()
    serializer_class = QuotaUseSerializer

    @extend_schema(
        operation_id="partitions_quotas_list",
        parameters=[OpenApiParameter("user", OpenApiTypes.STR, description="Exactly this user's.")],
        responses=QuotaUseSerializer(many=True),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The fullest first. Who may not see the policy gets the limits that hold for their own jobs."""
        rows = visible_partitions(self.person).filter(cluster=self.cluster, revision__isnull=False)
        partition = get_object_or_404(rows, name=self.kwargs["name"])
        page = self.paginate_queryset([quota_row(use) for use in self._uses(partition)])
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def _uses(self, partition: Partition) -> list[Use]:
        user = self.request.query_params.get("user")
        if self.person.has_perm(Permission.POLICY_VIEW, partition):
            uses = all_uses(partition, policy_of(partition))
        else:
            uses = own_uses(partition, policy_of(partition), self.person.slurm_user)
        return [use for use in uses if user is None or use.user == user]


def quota_row(use: Use) -> dict[str, Any]:
    """How much of a limit is used, for `QuotaUseSerializer`."""
    limit = use.limit
    return {
        "user": use.user or None,
        "level": limit.level,
        "rank": limit.rank,
        "resource": limit.resource or "jobs",
        "used": use.used,
        "limit": limit.most,
        "full": use.full,
    }
