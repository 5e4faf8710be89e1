"""When waiting jobs start, and how likely running ones are stopped."""

from typing import ClassVar

import django_filters
from django.db.models import F, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiList, ApiView
from console.api.dataclasses import DataclassSerializer
from console.api.fields import EpochField
from console.api.visible import visible_jobs
from console.cluster.models import Job, JobPhase
from console.partitions.selectors import visible_partitions
from console.starts.models import ExpectedStart, StopChance
from console.starts.quality import StopScore
from console.starts.selectors import expected_starts, said_chances


class SoonerSerializer(serializers.Serializer):
    """What a waiting job might ask for instead, and when it would start then: another limit, or so many nodes."""

    limit_s = serializers.IntegerField(required=False)
    nodes = serializers.IntegerField(required=False)
    p50 = EpochField()


class ExpectedStartSerializer(serializers.ModelSerializer):
    """When a waiting job is expected to start, as it looks now; `made_at` tells when that was worked out.

    Nine starts in ten are meant to lie between `low` and `high`. All are null where no start is in sight.
    """

    made_at = EpochField()
    p50 = EpochField(help_text="The middle of what is expected.")
    low = EpochField()
    high = EpochField(help_text="Null where the end is open.")
    nodes = serializers.ListField(child=serializers.CharField(), help_text="Where, as it looks now.")
    after = serializers.ListField(
        child=serializers.CharField(),
        help_text="The running jobs whose ends it waits for there, the last first.",
    )

    sooner = SoonerSerializer(
        many=True,
        help_text="What would make it start notably sooner, the best first; tried of the first in line.",
    )

    class Meta:
        model = ExpectedStart
        fields = ("job_id", "partition", "made_at", "p50", "low", "high", "nodes", "after", "sooner")
        read_only_fields = fields


class StopChanceSerializer(serializers.ModelSerializer):
    """How likely a running job is stopped within the hour after `made_at`."""

    made_at = EpochField()
    chance = serializers.FloatField(help_text="0 to 1, corrected by what came of earlier ones.")

    class Meta:
        model = StopChance
        fields = ("job_id", "partition", "made_at", "chance")
        read_only_fields = fields


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
    queryset = Job.objects.all()
    serializer_class = ExpectedStartSerializer

    @extend_schema(operation_id="jobs_start_retrieve")
    def get(self, request: Request, job_id: str) -> Response:
        """When it starts and where; 404 where nothing is expected: it does not wait, or may not start yet."""
        found = expected_starts(self.cluster, visible_jobs(self.person, self.cluster).filter(job_id=job_id))
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
        names = visible_partitions(self.person).filter(cluster=self.cluster).values_list("name", flat=True)
        waiting = ExpectedStart.objects.filter(cluster=self.cluster, partition__in=list(names), gone_at=None)
        return waiting.order_by(F("p50").asc(nulls_last=True), "pk")


class JobStopChanceView(ApiView):
    """How likely one job is stopped."""

    permission = Permission.JOB_VIEW
    queryset = Job.objects.all()
    serializer_class = StopChanceSerializer

    @extend_schema(operation_id="jobs_stop_chance_retrieve")
    def get(self, request: Request, job_id: str) -> Response:
        """The chance that its run is stopped within the hour; 404 where none is said: it does not run, is protected,
        nobody is stopped there, or chances have not been worth anything there yet."""
        runs = visible_jobs(self.person, self.cluster).filter(job_id=job_id, phase=JobPhase.RUNNING)
        for row in said_chances(self.cluster).filter(job_id=job_id):
            if runs.filter(partition=row.partition, start=row.start).exists():
                return Response(self.get_serializer(row).data)
        raise Http404(_("No chance of being stopped is said of such a job."))
