"""What a user of the cluster asks first, for programs: my jobs, my levels and my quotas, as the page has them."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.jobs import JobSerializer
from console.api.quotas import QuotaUseSerializer, quota_row
from console.api.why import WhyReturnSerializer
from console.cluster.models import Job
from console.partitions.selectors import visible_partitions
from console.reports.levels import Named
from console.reports.mine import Mine, MyLevel, MyPartition, MyStop, my_jobs


class MyJobSerializer(JobSerializer):
    """One of my jobs: `place` in line, and in `explain` why it waits. Its `request` is at the job's own address."""

    request = None  # type: ignore[assignment]

    class Meta(JobSerializer.Meta):
        fields: ClassVar = [name for name in JobSerializer.Meta.fields if name != "request"]
        read_only_fields = fields


class MyLevelSerializer(serializers.Serializer):
    """A level: its rank in the partition (0 the highest, null = nothing configured) and its name."""

    rank = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()


class MyTaskLevelSerializer(MyLevelSerializer):
    """The level of jobs whose name fits a pattern of the project."""

    pattern = serializers.CharField()


class MyKeywordLevelSerializer(MyLevelSerializer):
    """The level of jobs whose name begins with a keyword that I may use."""

    keyword = serializers.CharField()


class MyStandingSerializer(serializers.Serializer):
    """My level through one project, or through none, and where it comes from."""

    project = serializers.CharField(allow_null=True)
    level = MyLevelSerializer()
    origin = serializers.CharField(help_text="Where the level comes from, in words.")
    tasks = MyTaskLevelSerializer(many=True)


class MyPartitionSerializer(serializers.Serializer):
    """What holds for me in one partition."""

    name = serializers.CharField()
    mode = serializers.CharField()
    standings = MyStandingSerializer(many=True)
    keywords = MyKeywordLevelSerializer(many=True)
    quotas = QuotaUseSerializer(many=True)
    over_quota = serializers.CharField(help_text="What happens to a job that asks for more than is left.")


class MyStopSerializer(serializers.Serializer):
    """A job of mine that was stopped for another, or is about to be."""

    job_id = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField(allow_null=True, help_text="When it was stopped; null: not yet.")
    plan = serializers.IntegerField()
    for_job = serializers.CharField()
    for_user = serializers.CharField()
    comes_back = WhyReturnSerializer()


class MyJobsSerializer(serializers.Serializer):
    """Everything about me: `more` is how many waiting and running jobs are left out of the two long lists."""

    user = serializers.CharField(help_text="My user name on the cluster.")
    waiting = MyJobSerializer(many=True)
    running = MyJobSerializer(many=True)
    more = serializers.IntegerField()
    stopped = MyStopSerializer(many=True, help_text="In the last two days, the latest first.")
    partitions = MyPartitionSerializer(many=True)


class MyJobs(ApiView):
    """My jobs, my levels and my quotas. Who I am follows from the account, and from nothing in the address."""

    permission = Permission.JOB_VIEW
    queryset = Job.objects.all()
    serializer_class = MyJobsSerializer

    @extend_schema(operation_id="my_jobs_retrieve", responses=MyJobsSerializer)
    def get(self, request: Request) -> Response:
        """Waiting in the order of their places, running, stopped; then what holds for me in each partition."""
        user = self.person.slurm_user
        rows = visible_partitions(self.person).filter(cluster=self.cluster, revision__isnull=False)
        return Response(self.get_serializer(_data(user, my_jobs(self.cluster, user, list(rows)))).data)


def _data(user: str, mine: Mine) -> dict[str, Any]:
    return {
        "user": user,
        "waiting": mine.waiting,
        "running": mine.running,
        "more": mine.more,
        "stopped": [_stop(each) for each in mine.stopped],
        "partitions": [_partition(each) for each in mine.partitions],
    }


def _stop(stopped: MyStop) -> dict[str, Any]:
    stop = stopped.stop
    return {
        "job_id": stop.job_id,
        "name": stop.job_name,
        "at": stop.issued_at,
        "plan": stopped.plan.pk,
        "for_job": stopped.plan.job_id,
        "for_user": stopped.plan.user,
        "comes_back": stopped.back,
    }


def _partition(partition: MyPartition) -> dict[str, Any]:
    return {
        "name": partition.name,
        "mode": partition.mode,
        "standings": [_standing(each) for each in partition.standings],
        "keywords": [{"keyword": word, **_level(level)} for word, level in partition.keywords],
        "quotas": [quota_row(use) for use in partition.quotas],
        "over_quota": partition.over_quota,
    }


def _standing(standing: MyLevel) -> dict[str, Any]:
    return {
        "project": standing.project or None,
        "level": _level(standing.level),
        "origin": standing.origin,
        "tasks": [{"pattern": pattern, **_level(level)} for pattern, level in standing.tasks],
    }


def _level(level: Named) -> dict[str, Any]:
    return {"rank": level.index, "name": level.name}
