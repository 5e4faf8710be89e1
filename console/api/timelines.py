"""A partition's last hours or days, as the page draws them."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.past import RankedLevelSerializer
from console.api.reports import SPAN, PartitionReport, span_asked
from console.api.work import WorkSerializer, work_data
from console.history.timeline import SPANS, UNCONFIGURED, Timeline, TimelineStep, read_timeline
from console.partitions.selectors import policy_of
from scheduler.model.policy import PartitionPolicy

NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}, "example": {"gpu": 28.5}}


@extend_schema_field(NUMBERS)
class MeansField(serializers.DictField):
    """Resource to amount, on the average."""


class LevelJobsSerializer(serializers.Serializer):
    """Jobs of a level, on the average."""

    level = RankedLevelSerializer()
    jobs = serializers.FloatField()


class TimelineStepSerializer(serializers.Serializer):
    """One step: means of what held, sums of what came to pass. `minutes` of it were looked at; 0: nothing is known."""

    at = serializers.DateTimeField()
    minutes = serializers.IntegerField()
    used = MeansField()
    total = MeansField()
    waiting = LevelJobsSerializer(many=True)
    started = serializers.IntegerField()
    stops = serializers.IntegerField()
    work_lost = WorkSerializer()


class LevelWaitSerializer(serializers.Serializer):
    """How long jobs of a level had waited when they started."""

    level = RankedLevelSerializer()
    jobs = serializers.IntegerField()
    mean_s = serializers.FloatField()


class TimelineSerializer(serializers.Serializer):
    """The steps, the oldest first. `resource` is the one that the page plots; `waits` are over the whole time."""

    span = serializers.ChoiceField(choices=list(SPANS))
    step_s = serializers.IntegerField()
    resource = serializers.CharField()
    steps = TimelineStepSerializer(many=True)
    waits = LevelWaitSerializer(many=True)


class PartitionTimeline(PartitionReport):
    """Utilisation, queue by level, stops and work lost over time."""

    permission = Permission.PARTITION_VIEW
    parameters: ClassVar = frozenset({"span"})
    serializer_class = TimelineSerializer

    @extend_schema(
        parameters=[SPAN],
        responses=TimelineSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        """From the record of minutes; the last step is not over yet."""
        span = span_asked(request)
        partition = self.partition(name, revision__isnull=False)
        found, policy = read_timeline(partition, span), policy_of(partition)
        return Response(_answer(found, policy))


def _answer(found: Timeline, policy: PartitionPolicy) -> dict[str, Any]:
    waits = [
        {"level": _level(policy, each.level), "jobs": each.jobs, "mean_s": round(each.mean_s, 1)}
        for each in found.waits
    ]
    return {
        "span": found.span,
        "step_s": int(SPANS[found.span].step.total_seconds()),
        "resource": found.resource,
        "steps": [_step(step, found, policy) for step in found.steps],
        "waits": waits,
    }


def _step(step: TimelineStep, found: Timeline, policy: PartitionPolicy) -> dict[str, Any]:
    seen = [level for level in found.levels if level in step.pending]
    return {
        "at": serializers.DateTimeField().to_representation(step.at),
        "minutes": step.minutes,
        "used": _means(step.used, step),
        "total": _means(step.total, step),
        "waiting": [{"level": _level(policy, level), "jobs": round(step.mean(level), 3)} for level in seen],
        "started": step.starts,
        "stops": step.stops,
        "work_lost": work_data(step.work_lost),
    }


def _means(sums: dict[str, float], step: TimelineStep) -> dict[str, float]:
    return {name: round(amount / step.minutes, 3) for name, amount in sums.items()}


def _level(policy: PartitionPolicy, level: str) -> dict[str, Any]:
    """Named as the policy in force names it."""
    rank = None if level == UNCONFIGURED else int(level)
    return {"rank": rank, "name": policy.level_name(rank)}
