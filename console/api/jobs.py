"""Jobs as last observed, with their levels, where these come from, and the verdict on each."""

from typing import Any, ClassVar, cast

import django_filters
from django.db.models import Q, QuerySet
from django.http import Http404
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList
from console.api.fields import AmountsByNodeField, EpochField, ObjectField
from console.cluster.elastic import WorkerCounter
from console.cluster.models import Job, JobPhase
from console.partitions.selectors import task_types_of
from console.projects.selectors import elastic_patterns
from scheduler.model.task_types import ShrinkHow
from scheduler.priority.comment import read_comment

UNCONFIGURED = "unconfigured"
"""What people call having no level."""


class JobLevelSerializer(serializers.Serializer):
    """A level: its rank in the partition (0 the highest, null = nothing configured), its name, and why."""

    rank = serializers.IntegerField(allow_null=True)
    name = serializers.CharField(allow_blank=True)
    origin = serializers.CharField(allow_blank=True, help_text="Where the level comes from, in words.")


class ElasticSerializer(serializers.Serializer):
    """An elastic job, in workers: tasks of its array, jobs of its group, or its nodes.

    Those whose workers are tasks or jobs give up workers before anybody is stopped; the others count as not elastic.
    """

    min = serializers.IntegerField(help_text="It can do with so many.")
    wish = serializers.IntegerField(allow_null=True, help_text="It would like to have so many.")
    now = serializers.IntegerField(allow_null=True, help_text="null: none of it runs.")
    how = serializers.ChoiceField(
        choices=[how.value for how in ShrinkHow],
        allow_null=True,
        help_text="In which way it gives up workers.",
    )
    said_by = serializers.ChoiceField(choices=["comment", "project", "task_type"], help_text="Who says so.")


class JobSerializer(serializers.ModelSerializer):
    """A job in one partition. A pending job that names several partitions is there once for each."""

    submitted_at = EpochField(source="first_submit", help_text="When it was first submitted.")
    queued_at = EpochField(
        source="submit", help_text="When it came into the queue the last time: a requeued job comes again."
    )
    started_at = EpochField(source="start")
    estimated_start_at = EpochField(source="estimated_start", help_text="Slurm's own expectation, if any.")
    immune_since = EpochField(help_text="When it was first seen so.")
    alloc = AmountsByNodeField(read_only=True)
    request = ObjectField(read_only=True, help_text="What it asks for, as in a snapshot (contract A).")
    user_level = serializers.SerializerMethodField()
    task_level = serializers.SerializerMethodField()
    place = serializers.SerializerMethodField()
    line_place = serializers.SerializerMethodField()
    elastic = serializers.SerializerMethodField()
    comment_faults = serializers.SerializerMethodField()

    class Meta:
        model = Job
        fields: ClassVar = [
            "job_id",
            "partition",
            "name",
            "group",
            "user",
            "account",
            "comment",
            "elastic",
            "comment_faults",
            "project",
            "phase",
            "slurm_state",
            "slurm_reason",
            "held",
            "priority",
            "submitted_at",
            "queued_at",
            "started_at",
            "ended_at",
            "estimated_start_at",
            "time_limit_s",
            "restarts",
            "alloc",
            "request",
            "resources",
            "user_level",
            "task_level",
            "protected",
            "immune",
            "immune_since",
            "preemptions",
            "verdict",
            "reason",
            "explain",
            "place",
            "line_place",
            "line_ordered",
            "own_priority",
            "keeps_place",
            "plan",
        ]
        read_only_fields = fields
        extra_kwargs: ClassVar = {
            "resources": {"help_text": "What it holds or asks for, in words."},
            "protected": {"help_text": "Why it may never be stopped; empty when it may."},
            "immune": {
                "help_text": "Where that is because it is not requeued, why not: interactive, no_requeue, changed, het."
            },
            "preemptions": {"help_text": "How often it has been stopped to make room."},
            "verdict": {"help_text": "The last decision on a pending job."},
            "line_ordered": {
                "help_text": "Whether Giveway puts Slurm's line in that order; else it only would."
            },
            "own_priority": {"help_text": "Slurm's priority of it as it would be without Giveway."},
            "keeps_place": {"help_text": "It has the place that it had before it was stopped or put first."},
            "plan": {"help_text": "The open plan that makes room for it or that stopped it."},
        }

    @extend_schema_field(JobLevelSerializer)
    def get_user_level(self, job: Job) -> dict[str, Any]:
        """The level of its user in this partition."""
        return {"rank": job.user_level, "name": job.user_level_name, "origin": job.user_origin}

    @extend_schema_field(JobLevelSerializer)
    def get_task_level(self, job: Job) -> dict[str, Any]:
        """The level of the job itself."""
        return {"rank": job.task_level, "name": job.task_level_name, "origin": job.task_origin}

    @extend_schema_field(ElasticSerializer(allow_null=True))
    def get_elastic(self, job: Job) -> dict[str, Any] | None:
        """How far it may shrink; null: it is rigid."""
        said = self._workers(job).said_of(job)
        elastic = said.words.elastic
        if elastic is None:
            return None
        numbers = {"min": elastic.least, "wish": elastic.wish, "now": said.workers}
        return numbers | {"how": elastic.how.value if elastic.how else None, "said_by": said.said_by}

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_comment_faults(self, job: Job) -> list[str]:
        """The words of its comment that are not understood and change nothing, each in a sentence."""
        return [str(fault) for fault in read_comment(job.comment).faults]

    def _workers(self, job: Job) -> WorkerCounter:
        """One counter for all jobs of an answer: it asks once for each user."""
        shared = cast(dict[str, Any], self.context)
        if "workers" not in shared:
            shared["workers"] = WorkerCounter(
                job.cluster, task_types_of(job.cluster), elastic_patterns(job.cluster)
            )
        return cast(WorkerCounter, shared["workers"])

    def get_place(self, job: Job) -> int | None:
        """Its place in line, 1 is next; null when it does not wait."""
        return job.place or None

    def get_line_place(self, job: Job) -> int | None:
        """Its place in Slurm's line of the partition, 1 is the first; null when it stands nowhere."""
        return job.line_place or None


class JobFilterSet(FilterSet):
    """By what the job is, whose it is and how it ranks."""

    job_id = django_filters.CharFilter()
    partition = django_filters.CharFilter()
    phase = django_filters.MultipleChoiceFilter(
        choices=JobPhase.choices, label="Several may be given: phase=pending&phase=running."
    )
    user = django_filters.CharFilter()
    account = django_filters.CharFilter()
    project = django_filters.CharFilter()
    level = django_filters.CharFilter(
        method="of_level", label=f"Name of the user's or the job's level, or `{UNCONFIGURED}`."
    )
    user_level = django_filters.CharFilter(method="of_level", label=f"Name of a level, or `{UNCONFIGURED}`.")
    task_level = django_filters.CharFilter(method="of_level", label=f"Name of a level, or `{UNCONFIGURED}`.")
    held = django_filters.BooleanFilter()
    verdict = django_filters.CharFilter()
    reason = django_filters.CharFilter()
    plan = django_filters.NumberFilter()
    ordering = django_filters.OrderingFilter(
        fields=(
            ("first_submit", "submitted_at"),
            ("start", "started_at"),
            ("place", "place"),
            ("line_place", "line_place"),
            ("job_id", "job_id"),
        )
    )

    def of_level(self, jobs: QuerySet[Job], name: str, value: str) -> QuerySet[Job]:
        """Jobs with the level called `value` on one axis, or on either for `level`."""
        axes = ("user_level", "task_level") if name == "level" else (name,)
        wanted = Q()
        for axis in axes:
            wanted |= Q(**{f"{axis}__isnull": True} if value == UNCONFIGURED else {f"{axis}_name": value})
        return jobs.filter(wanted)


class Jobs:
    """What list and detail share."""

    permission = Permission.JOB_VIEW
    queryset = Job.objects.all()
    serializer_class = JobSerializer
    version_tag: Any

    def weak_tag(self) -> str | None:
        """The mirror's version: a poll that finds nothing new asks for no job."""
        return str(self.version_tag())


class JobListView(Jobs, ApiList):
    """Jobs, the latest submitted first."""

    filterset_class = JobFilterSet

    def get_queryset(self) -> QuerySet[Job]:
        """The jobs of this cluster."""
        return Job.objects.filter(cluster=self.cluster).order_by("-first_submit", "job_id", "partition")

    def filter_queryset(self, queryset: QuerySet[Job]) -> QuerySet[Job]:
        """Any asked-for order ends in the job, so that pages do not overlap."""
        jobs = super().filter_queryset(queryset)
        return jobs.order_by(*jobs.query.order_by, "job_id", "partition")


class JobDetail(Jobs, ApiDetail):
    """One job."""

    parameters = frozenset({"partition"})
    lookup_field = "job_id"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "partition",
                description="Which row, of a job that waits in several partitions; else the first by name.",
            )
        ]
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One job by its id, with its levels, the verdict and the reason."""
        return super().get(request, *args, **kwargs)

    def get_object(self) -> Job:
        """Its row in the wanted partition."""
        jobs = Job.objects.filter(cluster=self.cluster, job_id=self.kwargs["job_id"]).order_by("partition")
        if partition := self.request.query_params.get("partition"):
            jobs = jobs.filter(partition=partition)
        if (job := jobs.first()) is None:
            raise Http404
        return job
