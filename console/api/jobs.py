"""Jobs as last observed, with their levels, where these come from, and the verdict on each."""

from typing import Any, ClassVar, cast

import django_filters
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotAuthenticated, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api import fields
from console.api.authentication import AddressThrottle
from console.api.base import ApiView, ApiViewSet
from console.api.partitions import QuotaUseSerializer, quota_row
from console.cluster.elastic import WorkerCounter
from console.cluster.models import Job, JobPhase
from console.core import clock
from console.partitions.selectors import task_types_of
from console.projects.selectors import elastic_patterns
from console.reports.levels import Named
from console.reports.mine import MyLevel, MyPartition, my_jobs
from console.steering.checkpoints import BadTokenError, acknowledge, asked_of, make_token, read_token
from console.steering.explanations import Stage, tasks_of, why
from console.steering.explanations.answer import AnsweredStop, AnswerLine, AnswerPart, Return
from console.steering.models import Checkpoint, Via
from console.steering.past import LONGEST_SAVED
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


class JobSerializer(fields.RowSerializer):
    """A job in one partition. A pending job that names several partitions is there once for each."""

    submitted_at = fields.EpochField(source="first_submit", help_text="When it was first submitted.")
    queued_at = fields.EpochField(
        source="submit", help_text="When it came into the queue the last time: a requeued job comes again."
    )
    started_at = fields.EpochField(source="start")
    estimated_start_at = fields.EpochField(
        source="estimated_start", help_text="Slurm's own expectation, if any."
    )
    immune_since = fields.EpochField(help_text="When it was first seen so.")
    alloc = fields.AmountsByNodeField(read_only=True)
    request = fields.ObjectField(read_only=True, help_text="What it asks for, as in a snapshot (contract A).")
    user_level = serializers.SerializerMethodField()
    task_level = serializers.SerializerMethodField()
    place = serializers.SerializerMethodField()
    line_place = serializers.SerializerMethodField()
    elastic = serializers.SerializerMethodField()
    comment_faults = serializers.SerializerMethodField()

    class Meta:
        model = Job
        fields: ClassVar = [
            "job_id", "partition", "name", "group", "user", "account", "comment", "elastic", "comment_faults",
            "project", "phase", "slurm_state", "slurm_reason", "held", "priority", "submitted_at",
            "queued_at", "started_at", "ended_at", "estimated_start_at", "time_limit_s", "restarts", "alloc",
            "request", "resources", "user_level", "task_level", "protected", "immune", "immune_since",
            "preemptions", "verdict", "reason", "explain", "place", "line_place", "line_ordered",
            "own_priority", "keeps_place", "plan",
        ]  # fmt: skip
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

    @extend_schema_field(fields.NamesField())
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

    phase = django_filters.MultipleChoiceFilter(
        choices=JobPhase.choices, label="Several may be given: phase=pending&phase=running."
    )
    level = django_filters.CharFilter(
        method="of_level", label=f"Name of the user's or the job's level, or `{UNCONFIGURED}`."
    )
    user_level = django_filters.CharFilter(method="of_level", label=f"Name of a level, or `{UNCONFIGURED}`.")
    task_level = django_filters.CharFilter(method="of_level", label=f"Name of a level, or `{UNCONFIGURED}`.")
    ordering = django_filters.OrderingFilter(
        fields=(
            ("first_submit", "submitted_at"),
            ("start", "started_at"),
            ("place", "place"),
            ("line_place", "line_place"),
            ("job_id", "job_id"),
        )
    )

    class Meta:
        model = Job
        fields: ClassVar = [
            "job_id", "partition", "phase", "user", "account", "project", "level", "user_level", "task_level",
            "held", "verdict", "reason", "plan", "ordering",
        ]  # fmt: skip

    def of_level(self, jobs: QuerySet[Job], name: str, value: str) -> QuerySet[Job]:
        """Jobs with the level called `value` on one axis, or on either for `level`."""
        axes = ("user_level", "task_level") if name == "level" else (name,)
        wanted = Q()
        for axis in axes:
            wanted |= Q(**{f"{axis}__isnull": True} if value == UNCONFIGURED else {f"{axis}_name": value})
        return jobs.filter(wanted)


class Jobs(ApiViewSet):
    """Jobs, the latest submitted first."""

    one = "One job."
    permission = Permission.JOB_VIEW
    queryset = Job.objects.all()
    serializer_class = JobSerializer
    filterset_class = JobFilterSet
    parameters = frozenset({"partition"})
    lookup_field = "job_id"
    lookup_value_converter = "name"

    def weak_tag(self) -> str:
        """The mirror's version: a poll that finds nothing new asks for no job."""
        return self.version_tag()

    def get_queryset(self) -> QuerySet[Job]:
        """The jobs of this cluster."""
        return Job.objects.filter(cluster=self.cluster).order_by("-first_submit", "job_id", "partition")

    def filter_queryset(self, queryset: QuerySet[Job]) -> QuerySet[Job]:
        """Any asked-for order ends in the job, so that pages do not overlap."""
        jobs = super().filter_queryset(queryset)
        return jobs.order_by(*jobs.query.order_by, "job_id", "partition")

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "partition",
                description="Which row, of a job that waits in several partitions; else the first by name.",
            )
        ]
    )
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One job by its id, with its levels, the verdict and the reason."""
        return super().retrieve(request, *args, **kwargs)

    def get_object(self) -> Job:
        """Its row in the wanted partition."""
        jobs = Job.objects.filter(cluster=self.cluster, job_id=self.kwargs["job_id"]).order_by("partition")
        if partition := self.request.query_params.get("partition"):
            jobs = jobs.filter(partition=partition)
        if (job := jobs.first()) is None:
            raise Http404
        return job


# --- Why a job waits or was stopped, for its owner: the answer that the job's page shows, for programs.

STAGES = [(stage.value, stage.value) for stage in Stage]
TASKS_NAMED = 5


class WhyLineSerializer(fields.DataclassSerializer):
    """A sentence, and the moment that it speaks of, if any."""

    dataclass = AnswerLine


class WhyPartSerializer(fields.DataclassSerializer):
    """One question's answer."""

    dataclass = AnswerPart
    only = ("about", "headline", "plan")
    told: ClassVar = {"plan": "The plan that it speaks of."}
    lines = WhyLineSerializer(many=True)


class WhyStopSerializer(fields.DataclassSerializer):
    """One stop of the job, to make room for another."""

    dataclass = AnsweredStop
    told: ClassVar = {
        "job_id": "For which job.",
        "user": "Whose that is.",
        "at": "When it was done; null: not yet, or never.",
        "stage": "How far the job is on its way back.",
        "saved": "What the job says that it saved.",
    }


class WhyReturnSerializer(fields.DataclassSerializer):
    """When a stopped job comes back."""

    dataclass = Return


class WhySerializer(serializers.Serializer):
    """The answer. `lines` are all sentences after the headline as plain text; `parts` are the same in their order."""

    job_id = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    user = serializers.CharField(allow_blank=True)
    partitions = fields.NamesField()
    state = serializers.CharField(
        help_text="`pending`, `held`, `running`, `completing`, `ended`, or `forgotten` by the cluster."
    )
    headline = serializers.CharField()
    lines = serializers.SerializerMethodField()
    parts = WhyPartSerializer(many=True)
    plan = serializers.IntegerField(allow_null=True, help_text="The plan that matters now.")
    stopped_by = WhyStopSerializer(many=True, help_text="The latest first.")
    comes_back = WhyReturnSerializer(allow_null=True, help_text="After the latest stop; null: never stopped.")
    stops = serializers.IntegerField(help_text="How often it was stopped so far.")
    most_stops = serializers.IntegerField(allow_null=True, help_text="Then it is protected.")

    def get_lines(self, answer: Any) -> list[str]:
        """Sentences with their moments in words."""
        lines: list[str] = answer.lines(clock.now())
        return lines


class JobWhy(ApiView):
    """Why a job waits, why it was stopped, for whom and by which rule, and when it comes back."""

    permission = Permission.JOB_VIEW
    serializer_class = WhySerializer

    @extend_schema(responses=WhySerializer)
    def get(self, request: Request, job_id: str) -> Response:
        """The answer for one job or one task of an array (`41_2`), also when the cluster has forgotten it."""
        answer = why(self.cluster, job_id)
        if answer is None:
            tasks = tasks_of(self.cluster, job_id)
            if tasks:
                some = ", ".join(tasks[:TASKS_NAMED])
                text = _("%(job)s is a job array; ask about one of its tasks: %(some)s.")
                raise Http404(text % {"job": job_id, "some": some})
            raise Http404(_("Giveway knows no such job."))
        return Response(self.get_serializer(answer).data)


# --- What a user of the cluster asks first, for programs: my jobs, my levels and my quotas, as the page has them.


class MyJobSerializer(JobSerializer):
    """One of my jobs: `place` in line, and in `explain` why it waits. Its `request` is at the job's own address."""

    request = None  # type: ignore[assignment]

    class Meta(JobSerializer.Meta):
        fields: ClassVar = [name for name in JobSerializer.Meta.fields if name != "request"]


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

    job_id = serializers.CharField(source="stop.job_id")
    name = serializers.CharField(allow_blank=True, source="stop.job_name")
    at = serializers.DateTimeField(
        allow_null=True, source="stop.issued_at", help_text="When it was stopped; null: not yet."
    )
    plan = serializers.IntegerField(source="plan.pk")
    for_job = serializers.CharField(source="plan.job_id")
    for_user = serializers.CharField(source="plan.user")
    comes_back = WhyReturnSerializer(source="back")


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
    serializer_class = MyJobsSerializer

    @extend_schema(responses=MyJobsSerializer)
    def get(self, request: Request) -> Response:
        """Waiting in the order of their places, running, stopped; then what holds for me in each partition."""
        user = self.person.slurm_user
        rows = self.partitions(revision__isnull=False)
        mine = my_jobs(self.cluster, user, list(rows))
        lists = {key: getattr(mine, key) for key in ("waiting", "running", "more", "stopped")}
        partitions = [_partition(each) for each in mine.partitions]
        return Response(self.get_serializer({"user": user, **lists, "partitions": partitions}).data)


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


# --- Checkpoints: a job tells that it has saved its state, with a token of its own or through its user's account.


class NotAskedError(APIException):
    """The job was not asked to save its state, so there is nothing to acknowledge."""

    status_code = 409
    default_code = "no_checkpoint_asked"


class JobEndedError(APIException):
    """The job is over: there will be nothing to acknowledge."""

    status_code = 409
    default_code = "job_ended"


class CheckpointTokenSerializer(serializers.Serializer):
    """Hand it to the job; it is good for nothing but acknowledging this job's checkpoints."""

    token = serializers.CharField(read_only=True)
    job_id = serializers.CharField(read_only=True)
    expires_at = serializers.DateTimeField(read_only=True)


class AcknowledgementSerializer(serializers.Serializer):
    """Who tells it: the job by its token, or its user, signed in, by the job's id."""

    token = serializers.CharField(max_length=2000, required=False)
    job_id = serializers.CharField(
        max_length=40,
        required=False,
        help_text="Needed without a token; with one it must be the token's job.",
    )
    saved = serializers.CharField(
        max_length=LONGEST_SAVED,
        required=False,
        allow_blank=True,
        default="",
        help_text="What was saved, in the job's own words: `epoch=10`.",
    )


class CheckpointSerializer(fields.RowSerializer):
    """A checkpoint that a job was asked for. The first acknowledgement counts; later ones change nothing."""

    class Meta:
        model = Checkpoint
        fields: ClassVar = ["job_id", "plan", "asked_at", "acknowledged_at", "via", "saved"]


class PerJobThrottle(AddressThrottle):
    """So many tries per job of a genuine token, else per account or address: jobs of one node share its address."""

    def get_ident(self, request: Request) -> str:
        """The token's job, or where the request comes from."""
        token = request.data.get("token") if isinstance(request.data, dict) else None
        try:
            return f"job-{read_token(token).job}" if isinstance(token, str) else super().get_ident(request)
        except BadTokenError:
            return str(super().get_ident(request))


class CheckpointTokenView(ApiView):
    """A job's checkpoint token."""

    permission = Permission.JOB_VIEW
    serializer_class = CheckpointTokenSerializer

    @extend_schema(request=None, responses={200: CheckpointTokenSerializer})
    def post(self, request: Request, job_id: str) -> Response:
        """Make a token for a job of one's own. It ends by itself after thirty days; earlier ones stay good."""
        job = _job(self.cluster.pk, job_id)
        if job is None:
            raise Http404
        require_write(request, Permission.CHECKPOINT_TELL, job)
        if job.phase == JobPhase.ENDED:
            raise JobEndedError(f"Job {job_id} has ended.")
        token, until = make_token(job)
        made = {"token": token, "job_id": job.job_id, "expires_at": until}
        return Response(self.get_serializer(made).data)


class CheckpointView(ApiView):
    """Acknowledging a checkpoint."""

    serializer_class = CheckpointSerializer
    permission_classes: ClassVar[Any] = [AllowAny]
    throttle_classes: ClassVar[Any] = [PerJobThrottle]
    throttle_scope = "checkpoint"
    further_errors: ClassVar = {"POST": {404}}

    @extend_schema(request=AcknowledgementSerializer, responses={200: CheckpointSerializer})
    def post(self, request: Request) -> Response:
        """Tell that the job has saved its state; when all who were asked have, they are stopped at once."""
        data = self.sent(AcknowledgementSerializer)
        job_id, actor = self._by_token(data) if "token" in data else self._by_account(data)
        with transaction.atomic():
            asked = asked_of(self.cluster, job_id)
            if asked is None:
                raise NotAskedError(f"No checkpoint is asked of job {job_id}.")
            told = acknowledge(asked, data["saved"], via=Via.API, actor=actor, request_id=self.request_id)
        if not told:
            asked.refresh_from_db()
        return Response(self.get_serializer(asked).data)

    def _by_token(self, data: dict[str, Any]) -> tuple[str, str]:
        """The token's job and its user."""
        try:
            says = read_token(data["token"])
        except BadTokenError as error:
            raise ValidationError({"token": [str(error)]}) from error
        if data.get("job_id", says.job) != says.job:
            text = _("This is the token of job %(job)s, not of %(other)s.")
            raise ValidationError({"token": [text % {"job": says.job, "other": data["job_id"]}]})
        job = _job(self.cluster.pk, says.job)
        if job is None:
            raise NotAskedError(_("No checkpoint is asked of job %(job)s.") % {"job": says.job})
        if not says.is_of(job):
            text = _("This token is of an earlier job with the id %(job)s.")
            raise ValidationError({"token": [text % {"job": says.job}]})
        return says.job, says.user

    def _by_account(self, data: dict[str, Any]) -> tuple[str, str]:
        """A job of the signed-in account, and the account."""
        if not self.request.user.is_authenticated:
            raise NotAuthenticated
        if "job_id" not in data:
            raise ValidationError({"job_id": [_("Say which job, or send its token.")]})
        job = _job(self.cluster.pk, data["job_id"])
        if job is None:
            raise Http404
        require_write(self.request, Permission.CHECKPOINT_TELL, job)
        return job.job_id, self.person.username


def _job(cluster: int, job_id: str) -> Job | None:
    """The job in the mirror, its row that was written last when it is in several partitions."""
    jobs = Job.objects.filter(cluster=cluster, job_id=job_id).select_related("cluster")
    return jobs.order_by("-restarts", "-submit", "partition").first()
