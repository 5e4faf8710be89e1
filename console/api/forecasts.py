"""How long a job will run, when it ends, and how good such forecasts were."""

from dataclasses import asdict
from typing import ClassVar

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.dataclasses import DataclassSerializer
from console.api.fields import EpochField
from console.api.starts import StopScoreSerializer
from console.api.visible import visible_jobs
from console.cluster.models import Job, JobPhase
from console.forecasts.models import JobForecast, RunTimeModel
from console.forecasts.quality import PROMISES, ForecastScore, PromiseKept, forecast_quality
from console.forecasts.selectors import forecasts_of
from console.partitions.selectors import visible_partitions
from console.starts.quality import stop_quality


class JobForecastSerializer(serializers.ModelSerializer):
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
            "job_id",
            "p10",
            "p50",
            "p90",
            "low",
            "high",
            "end_low",
            "end_p50",
            "end_high",
            "version",
            "made_at",
        )
        read_only_fields = fields
        extra_kwargs = {
            "version": {
                "help_text": "Of the model that said so; empty: the plain weights, before there is a model."
            },
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


class RunTimeModelSerializer(serializers.ModelSerializer):
    """A model that was trained, with its figures on jobs that it had not seen."""

    class Meta:
        model = RunTimeModel
        fields = (
            "version",
            "made_at",
            "jobs",
            "later_jobs",
            "figure",
            "figure_before",
            "figure_medians",
            "in_force",
        )
        read_only_fields = fields


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
    queryset = Job.objects.all()
    serializer_class = JobForecastSerializer

    @extend_schema(operation_id="jobs_forecast_retrieve")
    def get(self, request: Request, job_id: str) -> Response:
        """How long it will run and when it ends; 404 where nothing is forecast of it, as of a job that has ended."""
        jobs = visible_jobs(self.person, self.cluster).filter(job_id=job_id)
        found = forecasts_of(self.cluster, jobs.exclude(phase=JobPhase.ENDED))
        if job_id not in found:
            raise Http404(_("Nothing is forecast of such a job."))
        return Response(self.get_serializer(found[job_id]).data)


class ForecastsView(ApiView):
    """How good forecasts were."""

    permission = Permission.JOB_VIEW
    queryset = JobForecast.objects.all()
    serializer_class = ForecastsSerializer

    @extend_schema(operation_id="forecasts_retrieve")
    def get(self, request: Request) -> Response:
        """Jobs that ended within the last weeks: how near their forecasts were, and what was promised and kept."""
        names = visible_partitions(self.person).filter(cluster=self.cluster).values_list("name", flat=True)
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
