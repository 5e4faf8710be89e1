"""When waiting jobs start, and how likely running ones are stopped."""

from dataclasses import asdict
from typing import ClassVar

import django_filters
from django.db.models import F, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView, reading
from console.api.errors import ConflictError
from console.api.fields import DataclassSerializer, EpochField, NamesField, ObjectField, RowSerializer
from console.cluster.models import JobPhase
from console.forecasts.models import JobForecast, RunTimeModel
from console.forecasts.quality import PROMISES, ForecastScore, PromiseKept, forecast_quality
from console.forecasts.selectors import forecasts_of
from console.starts.expecting import MOST_OPEN, TooManyQuestionsError, ask
from console.starts.models import ExpectedStart, StartQuestion, StopChance
from console.starts.quality import StopScore, stop_quality
from console.starts.selectors import expected_starts, said_chances
from scheduler.contracts.requests import decode_request


class SoonerSerializer(serializers.Serializer):
    """What a waiting job might ask for instead, and when it would start then: another limit, or so many nodes."""

    limit_s = serializers.IntegerField(required=False)
    nodes = serializers.IntegerField(required=False)
    p50 = EpochField()


class ExpectedStartSerializer(RowSerializer):
    """When a waiting job is expected to start, as it looks now; `made_at` tells when that was worked out.

    Nine starts in ten are meant to lie between `low` and `high`. All are null where no start is in sight.
    """

    made_at = EpochField()
    p50 = EpochField(help_text="The middle of what is expected.")
    low = EpochField()
    high = EpochField(help_text="Null where the end is open.")
    nodes = NamesField(help_text="Where, as it looks now.")
    after = NamesField(help_text="The running jobs whose ends it waits for there, the last first.")

    sooner = SoonerSerializer(
        many=True,
        help_text="What would make it start notably sooner, the best first; tried of the first in line.",
    )

    class Meta:
        model = ExpectedStart
        fields = ("job_id", "partition", "made_at", "p50", "low", "high", "nodes", "after", "sooner")


class StopChanceSerializer(RowSerializer):
    """How likely a running job is stopped within the hour after `made_at`."""

    made_at = EpochField()
    chance = serializers.FloatField(help_text="0 to 1, corrected by what came of earlier ones.")

    class Meta:
        model = StopChance
        fields = ("job_id", "partition", "made_at", "chance")


class StopScoreSerializer(DataclassSerializer):
    """What came of the chances of being stopped in a partition."""

    dataclass = StopScore
    partition = serializers.CharField()
    told: ClassVar = {
        "jobs": "Running jobs of which a chance was said an hour ago or longer.",
        "stopped": "How many of them were stopped within their hour.",
        "brier": "Mean square of the errors.",
        "base": "The same of the share that was stopped before, told to everybody.",
        "below": "By what share `brier` is smaller than `base`; null where nobody was stopped.",
        "shown": "Whether chances are shown to users: where they were better, and enough is known.",
    }


class JobStartView(ApiView):
    """When one job is expected to start."""

    permission = Permission.JOB_VIEW
    serializer_class = ExpectedStartSerializer

    def get(self, request: Request, job_id: str) -> Response:
        """When it starts and where; 404 where nothing is expected: it does not wait, or may not start yet."""
        found = expected_starts(self.cluster, self.visible_jobs(job_id=job_id))
        if job_id not in found:
            raise Http404(_("No start is expected of such a job."))
        return Response(self.get_serializer(found[job_id]).data)


class StartFilter(FilterSet):
    """By partition."""

    partition = django_filters.CharFilter()


class StartList(ApiList):
    """When waiting jobs are expected to start, by the middle; last those with no start in sight."""

    permission = Permission.JOB_VIEW
    queryset = ExpectedStart.objects.all()
    serializer_class = ExpectedStartSerializer
    filterset_class = StartFilter

    def get_queryset(self) -> QuerySet[ExpectedStart]:
        """Of the jobs that wait in the partitions that the asker sees."""
        names = self.partitions().values_list("name", flat=True)
        waiting = ExpectedStart.objects.filter(cluster=self.cluster, partition__in=list(names), gone_at=None)
        return waiting.order_by(F("p50").asc(nulls_last=True), "pk")


class JobStopChanceView(ApiView):
    """How likely one job is stopped."""

    permission = Permission.JOB_VIEW
    serializer_class = StopChanceSerializer

    def get(self, request: Request, job_id: str) -> Response:
        """The chance that its run is stopped within the hour; 404 where none is said: it does not run, is protected,
        nobody is stopped there, or chances have not been worth anything there yet."""
        runs = self.visible_jobs(job_id=job_id, phase=JobPhase.RUNNING)
        for row in said_chances(self.cluster).filter(job_id=job_id):
            if runs.filter(partition=row.partition, start=row.start).exists():
                return Response(self.get_serializer(row).data)
        raise Http404(_("No chance of being stopped is said of such a job."))


# --- When a job would start that nobody has submitted: asked here, answered by the next look at the queue.

MOST_LIMIT_S = 366 * 86_400


class StartQuestionSerializer(RowSerializer):
    """A question and its answer, which is null until `answered_at`.

    Nine starts in ten are meant to lie between `low` and `high`. All are null in an answer where no start is in sight:
    too few nodes of the partition are large enough, or they are taken for as long as can be seen.
    """

    request = ObjectField()
    p50 = EpochField(help_text="The middle of what is expected.")
    low = EpochField()
    high = EpochField(help_text="Null where the end is open.")
    nodes = NamesField(help_text="Where, as it looks now.")

    class Meta:
        model = StartQuestion
        fields: ClassVar = [
            "id", "partition", "user", "account", "request", "time_limit_s", "asked_at", "answered_at", "p50",
            "low", "high", "nodes", "level",
        ]  # fmt: skip
        extra_kwargs: ClassVar = {
            "user": {"help_text": "As whom it would be submitted: the asker's own user."},
            "level": {"help_text": "The levels that it would have; empty: none is configured."},
        }


class NewStartQuestionSerializer(serializers.Serializer):
    """A job that might be submitted. It is taken to run for its whole time limit."""

    partition = serializers.CharField(max_length=64)
    account = serializers.CharField(max_length=64, default="", allow_blank=True)
    request = ObjectField(
        help_text='As in a snapshot: `{"nodes": 4, "per_node": {"cpu": 8, "gpu": 2}}`, or `{"spread": {"cpu": 8}}`.'
    )
    time_limit_s = serializers.IntegerField(min_value=60, max_value=MOST_LIMIT_S)


class StartQuestionList(ApiView):
    """Questions when a job would start."""

    permission = Permission.JOB_VIEW
    serializer_class = StartQuestionSerializer

    @extend_schema(request=NewStartQuestionSerializer, responses={201: StartQuestionSerializer})
    def post(self, request: Request) -> Response:
        """Ask for one's own user. The answer is there after some seconds, and for an hour."""
        asked = self.sent(NewStartQuestionSerializer, NewStartQuestionSerializer)
        names = self.partitions().values_list("name", flat=True)
        if asked["partition"] not in names:
            raise ValidationError(
                {"partition": [_("There is no such partition, or it is not yours to see.")]}
            )
        with reading():
            wanted = decode_request(asked["request"], "request")
        try:
            question = ask(
                cluster=self.cluster,
                person=self.person,
                partition=asked["partition"],
                account=asked["account"],
                request=wanted,
                time_limit_s=asked["time_limit_s"],
            )
        except TooManyQuestionsError as error:
            raise ConflictError(
                _("%(n)s of your questions wait for an answer. Ask again in a minute.") % {"n": MOST_OPEN},
                code="too_many",
            ) from error
        return Response(StartQuestionSerializer(question).data, status=status.HTTP_201_CREATED)


class StartQuestionDetail(ApiDetail):
    """One question, to who asked it."""

    permission = Permission.JOB_VIEW
    serializer_class = StartQuestionSerializer

    def get_queryset(self) -> QuerySet[StartQuestion]:
        """The asker's own."""
        return StartQuestion.objects.filter(cluster=self.cluster, asked_by=self.person)


# --- How long a job will run, when it ends, and how good such forecasts were.


class JobForecastSerializer(RowSerializer):
    """How long a job will run, in seconds from its start, as it was said at its submission; and when it will end.

    90 % of run times are meant to lie between `low` and `high`. The ends are null while the job waits, and are said
    anew when they have passed. A forecast never ends a job.
    """

    end_low = EpochField(
        help_text="Of a running job: nine ends in ten are meant to lie between this and `end_high`."
    )
    end_p50 = EpochField(help_text="When it is expected to end.")
    end_high = EpochField()

    class Meta:
        model = JobForecast
        fields = (
            "job_id", "p10", "p50", "p90", "low", "high", "end_low", "end_p50", "end_high", "version",
            "made_at",
        )  # fmt: skip
        extra_kwargs = {
            "version": {
                "help_text": "Of the model that said so; empty: the plain weights, before there is a model."
            }
        }


class ForecastScoreSerializer(DataclassSerializer):
    """How near some forecasts were."""

    dataclass = ForecastScore
    told: ClassVar = {
        "figure": "Mean of min(p, t) / max(p, t) of forecast and truth; 1 is exact.",
        "within": "Share of the run times between `low` and `high`; 0.9 is meant.",
        "longer": "Share that ran longer than forecast.",
        "error_s": "Median of the errors, in seconds.",
    }


class NamedForecastScoreSerializer(ForecastScoreSerializer):
    """The same of one week, partition or user."""

    name = serializers.CharField()


class PromiseSerializer(DataclassSerializer):
    """What share of the jobs should have ended by one of the figures of a forecast, and did."""

    dataclass = PromiseKept
    name = serializers.ChoiceField(choices=[name for name, _ in PROMISES])


class RunTimeModelSerializer(RowSerializer):
    """A model that was trained, with its figures on jobs that it had not seen."""

    class Meta:
        model = RunTimeModel
        fields = (
            "version", "made_at", "jobs", "later_jobs", "figure", "figure_before", "figure_medians",
            "in_force",
        )  # fmt: skip


class ForecastsSerializer(serializers.Serializer):
    """The forecasts of jobs that ended lately, in the partitions that the asker sees."""

    since = serializers.DateField()
    total = ForecastScoreSerializer(allow_null=True, help_text="null: no job with a forecast has ended.")
    limit = serializers.FloatField(allow_null=True, help_text="`figure` of the time limits that users set.")
    last_two = serializers.FloatField(
        allow_null=True, help_text="`figure` of the mean of the user's last two jobs."
    )
    promises = PromiseSerializer(many=True)
    weeks = NamedForecastScoreSerializer(many=True, help_text="By the Monday of the week.")
    partitions = NamedForecastScoreSerializer(many=True)
    worst_users = NamedForecastScoreSerializer(many=True)
    models = RunTimeModelSerializer(many=True, help_text="The latest first.")
    stops = StopScoreSerializer(many=True, help_text="Chances of being stopped, by partition.")
    fault = serializers.CharField(
        allow_blank=True, help_text="Why Slurm's accounting could not be read the last time; empty: it could."
    )
    is_cut = serializers.BooleanField(help_text="There was more; only the latest forecasts are counted.")


class JobForecastView(ApiView):
    """What is forecast of one job."""

    permission = Permission.JOB_VIEW
    serializer_class = JobForecastSerializer

    def get(self, request: Request, job_id: str) -> Response:
        """How long it will run and when it ends; 404 where nothing is forecast of it, as of a job that has ended."""
        jobs = self.visible_jobs(job_id=job_id)
        found = forecasts_of(self.cluster, jobs.exclude(phase=JobPhase.ENDED))
        if job_id not in found:
            raise Http404(_("Nothing is forecast of such a job."))
        return Response(self.get_serializer(found[job_id]).data)


class ForecastsView(ApiView):
    """How good forecasts were."""

    permission = Permission.JOB_VIEW
    serializer_class = ForecastsSerializer

    def get(self, request: Request) -> Response:
        """Jobs that ended within the last weeks: how near their forecasts were, and what was promised and kept."""
        names = self.partitions().values_list("name", flat=True)
        quality = forecast_quality(self.cluster, list(names))
        stops = stop_quality(self.cluster, list(names))
        plain = {"since": quality.since, "limit": quality.limit, "last_two": quality.last_two}
        return Response(
            self.get_serializer(
                {
                    **plain,
                    "total": quality.total and asdict(quality.total),
                    "promises": quality.promises,
                    "models": quality.models,
                    "is_cut": quality.is_cut,
                    "fault": quality.fault,
                    "weeks": _named(quality.weeks),
                    "partitions": _named(quality.partitions),
                    "worst_users": _named(quality.worst_users),
                    "stops": [{"partition": name, **asdict(score)} for name, score in stops],
                }
            ).data
        )


def _named(scores: tuple[tuple[object, ForecastScore], ...]) -> list[dict[str, object]]:
    return [{"name": str(name), **asdict(score)} for name, score in scores]
