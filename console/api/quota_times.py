"""How far the quotas of a level were used over the last hours or days, as the page draws it."""

from typing import Any, ClassVar

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read
from console.accounts.permissions import Permission
from console.api.past import RankedLevelSerializer
from console.api.reports import SPAN, PartitionReport, span_asked
from console.core.l10n_format import in_a_row
from console.history.quota_times import QuotaLine, QuotaStep, UserTime, read_quota_times, usual_level
from console.history.spans import SPANS
from console.partitions.selectors import policy_of
from scheduler.model.policy import PartitionPolicy


class PeakSerializer(serializers.Serializer):
    """The use that was nearest to its limit, of the limit as it was then. `user` null: by all users together."""

    user = serializers.CharField(allow_null=True)
    used = serializers.IntegerField()
    limit = serializers.IntegerField()


class QuotaStepSerializer(serializers.Serializer):
    """One step: in each minute, the use nearest to the limit. `minutes` of it are known; 0: nothing."""

    at = serializers.DateTimeField()
    minutes = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="Used part on the average; 1 is all of it.")
    peak = PeakSerializer(allow_null=True)
    full_minutes = serializers.IntegerField(help_text="Minutes in which somebody had all of it.")


class QuotaUserSerializer(PeakSerializer):
    """A user's part in a limit."""

    full_minutes = serializers.IntegerField(help_text="Minutes in which this user had all of it.")


class QuotaLineSerializer(serializers.Serializer):
    """One limit, as it was last; `together`: of all users, else of each."""

    resource = serializers.CharField(help_text="`jobs`, or what they hold; memory in MB.")
    together = serializers.BooleanField()
    limit = serializers.IntegerField()
    users = QuotaUserSerializer(many=True, help_text="Who was ever among the fullest, the longest first.")
    steps = QuotaStepSerializer(many=True)


class QuotaTimesSerializer(serializers.Serializer):
    """A level's limits over time, the oldest step first; `level` null: the policy has no levels."""

    span = serializers.ChoiceField(choices=list(SPANS))
    step_s = serializers.IntegerField()
    level = RankedLevelSerializer(allow_null=True)
    limits = QuotaLineSerializer(many=True)


class QuotaTimesView(PartitionReport):
    """Quota use over time."""

    permission = Permission.PARTITION_VIEW
    parameters: ClassVar = frozenset({"level", "span"})
    serializer_class = QuotaTimesSerializer

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "level", OpenApiTypes.STR, description="By name; the first with a quota unless told."
            ),
            SPAN,
        ],
        responses=QuotaTimesSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        """From the record of minutes, for who may see the policy; the last step is not over yet."""
        partition = self.partition(name, revision__isnull=False)
        require_read(request, Permission.POLICY_VIEW, partition)
        policy = policy_of(partition)
        span = span_asked(request)
        rank = _rank(policy, request.query_params.get("level"))
        answer: dict[str, Any] = {"span": span, "step_s": int(SPANS[span].step.total_seconds())}
        if rank is None:
            return Response(answer | {"level": None, "limits": []})
        lines = read_quota_times(partition, policy, rank, span).lines
        level = {"rank": rank, "name": policy.levels[rank].name}
        return Response(answer | {"level": level, "limits": [_line(line) for line in lines]})


def _rank(policy: PartitionPolicy, level: str | None) -> int | None:
    if level is None:
        return usual_level(policy)
    names = [rule.name for rule in policy.levels]
    if level not in names:
        said = _("No such level; there are: %(levels)s.") % {"levels": in_a_row(names) or _("none")}
        raise ValidationError({"level": [said]})
    return names.index(level)


def _line(line: QuotaLine) -> dict[str, Any]:
    return {
        "resource": line.limit.resource or "jobs",
        "together": line.limit.of_all,
        "limit": line.limit.most,
        "users": [] if line.limit.of_all else [_user(time) for time in line.nearest],
        "steps": [_step(step) for step in line.steps],
    }


def _user(time: UserTime) -> dict[str, Any]:
    peak = time.peak
    return {
        "user": peak.user,
        "used": peak.used,
        "limit": peak.most,
        "full_minutes": time.full,
    }


def _step(step: QuotaStep) -> dict[str, Any]:
    peak = step.peak
    return {
        "at": serializers.DateTimeField().to_representation(step.at),
        "minutes": step.minutes,
        "share": None if step.share is None else round(step.share, 4),
        "peak": peak and {"user": peak.user or None, "used": peak.used, "limit": peak.most},
        "full_minutes": step.full,
    }
