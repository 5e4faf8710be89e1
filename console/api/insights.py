"""A month or some days against the same time before: what the page of insights shows, and each answer as a file."""

from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.audit import AnyAnswer
from console.api.base import ApiView
from console.api.fields import DataclassSerializer, WorkSerializer
from console.insights import answers
from console.insights.selectors import insights
from console.insights.views import as_csv
from console.insights.wording import coverage_words, sections

PARAMETERS = [
    OpenApiParameter(
        "days",
        OpenApiTypes.INT,
        enum=list(answers.DAYS),
        description=f"The last so many; {answers.USUAL} unless told.",
    ),
    OpenApiParameter("month", OpenApiTypes.STR, description="A month instead: 2026-10."),
    OpenApiParameter("partition", OpenApiTypes.STR, description="Of this partition alone."),
]


class CoverageSerializer(DataclassSerializer):
    """How much of a time was seen."""

    dataclass = answers.Coverage
    told: ClassVar = {"days": "With data.", "hours": "In which a partition at least was looked at."}


class LevelWaitsSerializer(DataclassSerializer):
    """How long jobs of a level had waited when they started, to within a tenth; null for fewer than 10 jobs."""

    dataclass = answers.LevelWaits


class CauseOfLossSerializer(DataclassSerializer):
    """Stops of one cause, the work lost with them and what checkpoints saved."""

    dataclass = answers.CauseOfLoss
    lost = WorkSerializer()
    saved = WorkSerializer()
    lost_before = WorkSerializer()
    saved_before = WorkSerializer()


class ProjectBalanceSerializer(DataclassSerializer):
    """What a project gained by stops of others, and what it paid."""

    dataclass = answers.ProjectBalance
    room = WorkSerializer(
        help_text="What its jobs ran that others had been stopped for, once they have ended."
    )
    lost = WorkSerializer()
    saved = WorkSerializer()
    told: ClassVar = {
        "project": "Empty: none is known.",
        "jobs": "That others had been stopped for, and that have ended.",
        "made": "Stops of others for it.",
        "suffered": "Stops of its own jobs.",
    }


class StopRateSerializer(DataclassSerializer):
    """Stops per 1,000 hours that jobs ran."""

    dataclass = answers.StopRate
    told: ClassVar = {"bound": "What the limit by the hour in force allows; null: none, or not yours to see."}


class ForecastNearnessSerializer(DataclassSerializer):
    """How near forecasts of run times or starts were; null for fewer than 30 jobs."""

    dataclass = answers.ForecastNearness
    told: ClassVar = {
        "of": "`run_times` or `starts`.",
        "near": "Of run times the nearness, 1 is exact; of starts the share within ten minutes.",
        "within": "Share within the range; 0.9 is meant.",
    }


class ProjectUnevennessSerializer(DataclassSerializer):
    """What a project's runs on several measured processors held and waited for the slowest one, in hours."""

    dataclass = answers.ProjectUnevenness
    told: ClassVar = {"project": "Empty: none is known.", "resource": "What the hours are of: `gpu`."}


class InsightsSerializer(serializers.Serializer):
    """All answers. `comparable`: of both times enough was seen, and about as much, to compare sums."""

    first = serializers.DateField()
    last = serializers.DateField()
    seen = CoverageSerializer()
    seen_before = CoverageSerializer()
    comparable = serializers.BooleanField()
    coverage = serializers.CharField(help_text="The same for people.")
    sentences = serializers.DictField(
        child=serializers.CharField(), help_text="A question to its answer, for people."
    )
    waits = LevelWaitsSerializer(many=True)
    work = CauseOfLossSerializer(many=True)
    projects = ProjectBalanceSerializer(many=True, help_text="Those that this account may see.")
    stops = StopRateSerializer(many=True)
    forecasts = ForecastNearnessSerializer(many=True)
    unevenness = ProjectUnevennessSerializer(many=True, help_text="Of projects that this account may see.")


class _Insights(ApiView):
    permission = Permission.PARTITION_VIEW
    parameters: ClassVar = frozenset({"days", "month", "partition"})

    def found(self) -> answers.Insights:
        """The answers for the time and the partitions that are asked about."""
        try:
            period = answers.asked(self.request.query_params)
        except answers.NoSuchPeriodError as error:
            raise ValidationError({error.name: [error.fault]}) from error
        rows = self.partitions(revision__isnull=False)
        name = self.request.query_params.get("partition", "")
        chosen = [each for each in rows.order_by("name") if not name or each.name == name]
        if name and not chosen:
            raise Http404
        return insights(self.person, self.cluster, chosen, period)


class InsightsView(_Insights):
    """Waits, work, projects, stops and forecasts of a time, against the same time before."""

    serializer_class = InsightsSerializer

    @extend_schema(parameters=PARAMETERS, responses=InsightsSerializer)
    def get(self, request: Request) -> Response:
        """From sums by day, which are added up every five minutes."""
        found = self.found()
        answer: dict[str, Any] = {
            "first": found.period.first,
            "last": found.period.last,
            "seen": found.seen,
            "seen_before": found.seen_before,
            "comparable": found.comparable,
            "coverage": coverage_words(found),
            "sentences": {each.key: each.sentence for each in sections(found)},
            **{question: getattr(found, question) for question in answers.QUESTIONS},
        }
        return Response(InsightsSerializer(answer).data)


class InsightsFile(_Insights):
    """One answer as a file."""

    content_negotiation_class = AnyAnswer

    @extend_schema(parameters=PARAMETERS, responses={(200, "text/csv"): OpenApiTypes.BYTE})
    def get(self, request: Request, question: str) -> HttpResponse:
        """A line per row, work in hours by resource; safe to open as a spreadsheet."""
        if question not in answers.QUESTIONS:
            raise Http404
        found = self.found()
        period = found.period
        name = f"giveway-{question}-{period.first}-{period.last}.csv"
        return HttpResponse(
            as_csv(found, question),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
