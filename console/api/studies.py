"""Studies: what a change would have done over the last days, worked off by a worker while nobody waits."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read, require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.errors import ConflictError
from console.api.past import PastSerializer, past_data
from console.api.strict import valid
from console.api.what_if import MOST_DAYS, Asking, ChangeSerializer
from console.history.answering import decode_past
from console.history.hindsight.figures import SCHEMA
from console.history.hindsight.wording import told_of
from console.history.models import Study, StudyKind, StudyState
from console.history.studies import ask, cancel, visible_studies
from console.history.what_if import NotNowError

# --- The document of an answer about finished jobs (`giveway.hindsight/1`), as the API describes it ---


class RangeSerializer(serializers.Serializer):
    """`value` with the jobs as they were submitted; the lowest and the highest of all runs."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class RecordedWaitsSerializer(serializers.Serializer):
    """How long jobs really waited, in seconds."""

    mean_s = serializers.FloatField()
    median_s = serializers.FloatField()
    p90_s = serializers.FloatField()


class SimulatedWaitsSerializer(serializers.Serializer):
    """How long jobs would have waited, in seconds."""

    mean_s = RangeSerializer()
    median_s = RangeSerializer()
    p90_s = RangeSerializer()


class GroupSerializer(serializers.Serializer):
    """Some jobs. `lost_s`: a resource to the seconds of its work that stops would have thrown away."""

    jobs = serializers.IntegerField()
    recorded = RecordedWaitsSerializer()
    without = SimulatedWaitsSerializer()
    with_policy = SimulatedWaitsSerializer()
    stops = RangeSerializer()
    lost_s = serializers.DictField(child=RangeSerializer())


class LevelGroupSerializer(GroupSerializer):
    """Jobs of a level; `rank` is 0 for the highest and null where nothing is configured."""

    rank = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()


class ProjectGroupSerializer(GroupSerializer):
    """Jobs of a project; the code is empty for those of none."""

    project = serializers.CharField(allow_blank=True)


class SimulatedNodesSerializer(serializers.Serializer):
    """The nodes that were simulated; `alike`: the partition's are really equal."""

    count = serializers.IntegerField(help_text="So many were up in half of the recorded minutes.")
    has = serializers.IntegerField(
        required=False, help_text="So many the partition has, those that are down too."
    )
    per_node = serializers.DictField(child=serializers.IntegerField())
    alike = serializers.BooleanField()


class LargeJobSerializer(serializers.Serializer):
    """A job that is larger than the partition is today."""

    job = serializers.CharField()
    nodes = serializers.IntegerField(allow_null=True)
    cpu = serializers.IntegerField()
    gpu = serializers.IntegerField()


class JobsLeftOutSerializer(serializers.Serializer):
    """Jobs that were not simulated."""

    too_large = serializers.IntegerField()
    asks_nothing = serializers.IntegerField()
    largest = LargeJobSerializer(many=True)


class HindsightSerializer(serializers.Serializer):
    """What the time would have been without Giveway and with the policy.

    `cut`: there were more jobs than are simulated, and only the newest count. `not_followed`: what of the policy is not
    simulated. `runs` of `runs_meant` were done, with submissions up to `shift_s` seconds earlier or later.
    """

    schema = serializers.CharField(default=SCHEMA)
    partition = serializers.CharField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    days = serializers.IntegerField()
    cut = serializers.BooleanField()
    nodes = SimulatedNodesSerializer()
    runs = serializers.IntegerField()
    runs_meant = serializers.IntegerField()
    shift_s = serializers.IntegerField()
    not_followed = serializers.ListField(child=serializers.CharField())
    left_out = JobsLeftOutSerializer()
    sentence = serializers.CharField(help_text="The answer for people.")
    all = GroupSerializer()
    levels = LevelGroupSerializer(many=True)
    projects = ProjectGroupSerializer(many=True)


def hindsight_data(doc: dict[str, Any], sentence: str) -> dict[str, Any]:
    """The document with its sentence."""
    return {**doc, "sentence": sentence}


class StudySerializer(serializers.ModelSerializer):
    """A study. `done` of `total` recorded looks are decided; `partitions` and `projects` are what would change.

    One of the kind `hindsight` simulates finished jobs of `partition` with the policy that it was asked about: `done`
    of `total` jobs, those of all runs together.
    """

    partitions = serializers.SerializerMethodField()
    projects = serializers.SerializerMethodField()

    class Meta:
        model = Study
        fields: ClassVar = [
            "id",
            "kind",
            "partition",
            "asked_by",
            "asked_at",
            "days",
            "partitions",
            "projects",
            "state",
            "done",
            "total",
            "begun_at",
            "ended_at",
            "fault",
        ]
        read_only_fields = fields

    def get_partitions(self, study: Study) -> list[str]:
        """Whose policy would be another one."""
        return list(study.question["policies"])

    def get_projects(self, study: Study) -> list[str]:
        """The codes of the projects that would be other ones."""
        return list(study.question["projects"])


class WholeStudySerializer(StudySerializer):
    """A study with its answer, null until it is done: `hindsight` of the kind of that name, else `result`."""

    result = serializers.SerializerMethodField()
    hindsight = serializers.SerializerMethodField()

    class Meta(StudySerializer.Meta):
        fields: ClassVar = [*StudySerializer.Meta.fields, "result", "hindsight"]
        read_only_fields = fields

    @extend_schema_field(PastSerializer(allow_null=True))
    def get_result(self, study: Study) -> dict[str, Any] | None:
        """The answer of recorded looks."""
        if not study.result or study.kind != StudyKind.LOOKS:
            return None
        return past_data(decode_past(study.result))

    @extend_schema_field(HindsightSerializer(allow_null=True))
    def get_hindsight(self, study: Study) -> dict[str, Any] | None:
        """The answer of finished jobs."""
        if not study.result or study.kind != StudyKind.HINDSIGHT:
            return None
        return hindsight_data(study.result, told_of(study.result).sentence)


class NewStudySerializer(ChangeSerializer):
    """Entries of the priority file, whole, as they would be, over so many last days."""

    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS)


class StudyFilter(FilterSet):
    """By who asked and where it is."""

    asked_by = django_filters.CharFilter()
    state = django_filters.MultipleChoiceFilter(choices=StudyState.choices)
    ordering = django_filters.OrderingFilter(fields=(("id", "id"), ("asked_at", "asked_at")))


class Studies:
    """What list and detail share."""

    permission = Permission.STUDY_VIEW
    queryset = Study.objects.all()
    person: Any

    def get_queryset(self) -> QuerySet[Study]:
        """The studies that are this account's to see."""
        return visible_studies(self.person)


class StudyList(Studies, Asking, ApiList):
    """Studies, the newest first."""

    serializer_class = StudySerializer
    filterset_class = StudyFilter
    further_errors: ClassVar = {"POST": {404, 409}}

    @extend_schema(request=NewStudySerializer, responses={201: WholeStudySerializer})
    def post(self, request: Request) -> Response:
        """Ask what a change would have done over the last days. Whoever may make the change may ask."""
        sent = NewStudySerializer(data=request.data)
        valid(sent, self.serializer_class)
        change = self.change(sent.validated_data)
        try:
            study = ask(
                actor=self.person.username,
                cluster=self.cluster,
                change=change,
                days=sent.validated_data["days"],
                request_id=self.request_id,
            )
        except NotNowError as error:
            raise ConflictError(str(error), code="not_now") from error
        return Response(WholeStudySerializer(study).data, status=status.HTTP_201_CREATED)


class StudyDetail(Studies, ApiDetail):
    """One study."""

    serializer_class = WholeStudySerializer


class StudyCancel(Studies, ApiView):
    """A study that is not wanted any more."""

    serializer_class = WholeStudySerializer

    @extend_schema(request=None, responses=WholeStudySerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Cancel it; one that is over stays as it is."""
        study = self.get_object()
        require_read(request, Permission.STUDY_VIEW, study)
        require_write(request, Permission.STUDY_CANCEL, study)
        cancel(actor=self.person.username, study=study, request_id=self.request_id)
        return Response(WholeStudySerializer(study).data)
