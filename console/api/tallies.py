"""What enforcing would have done in a partition."""

from typing import Any, ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.reports import PartitionReport, days_asked
from console.api.work import WorkSerializer, work_data
from console.reports.tally import DAYS, TallySum, shadow_tally

MOST_DAYS = 365


class SumSerializer(serializers.Serializer):
    """Jobs that would have got room, jobs that would have been stopped, and the work lost with them."""

    jobs = serializers.IntegerField()
    stops = serializers.IntegerField()
    shrinks = serializers.IntegerField(help_text="Workers that elastic jobs would have given up; no stops.")
    work_lost = WorkSerializer()
    work_kept = WorkSerializer(help_text="Of the workers that stay: lost, had these jobs been stopped.")


class DaySerializer(SumSerializer):
    """One day, where this installation is."""

    day = serializers.DateField()


class UserSerializer(SumSerializer):
    """One user of the cluster."""

    user = serializers.CharField()


class TallySerializer(SumSerializer):
    """Each job counts once with its last plan, each run that would have been stopped once."""

    partition = serializers.CharField()
    since = serializers.DateTimeField()
    cut = serializers.BooleanField(help_text="There was more; only the latest plans are counted.")
    days = DaySerializer(many=True)
    beneficiaries = UserSerializer(many=True, help_text="Those with the most stops for them.")
    victims = UserSerializer(many=True, help_text="Those with the most jobs stopped; `jobs` is 0.")


class PartitionTally(PartitionReport):
    """The tally of a partition's plans in shadow."""

    permission = Permission.PLAN_VIEW
    parameters: ClassVar = frozenset({"days"})
    serializer_class = TallySerializer

    @extend_schema(
        parameters=[
            OpenApiParameter("days", OpenApiTypes.INT, description=f"How far back, {DAYS} unless told.")
        ],
        operation_id="partitions_tally_retrieve",
    )
    def get(self, request: Request, name: str) -> Response:
        """What enforcing would have done lately: who would have got room, who been stopped, what work lost."""
        partition = self.partition(name)
        tally = shadow_tally(partition, days_asked(request, DAYS, MOST_DAYS))
        return Response(
            {
                "partition": partition.name,
                "since": serializers.DateTimeField().to_representation(tally.since),
                "cut": tally.cut,
                **_sum(tally.total),
                "days": [{"day": day.isoformat(), **_sum(each)} for day, each in tally.days],
                "beneficiaries": [{"user": user, **_sum(each)} for user, each in tally.by_user],
                "victims": [{"user": user, **_sum(each)} for user, each in tally.by_victim],
            }
        )


def _sum(each: TallySum) -> dict[str, Any]:
    return {
        "jobs": each.jobs,
        "stops": each.stops,
        "shrinks": each.shrinks,
        "work_lost": work_data(each.work),
        "work_kept": work_data(each.kept),
    }
