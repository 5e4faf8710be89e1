"""What the last days would have been, as the question at once and a study both tell it."""

from dataclasses import asdict
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read, require_write
from console.accounts.permissions import Permission
from console.api import fields
from console.api.audit import AnyAnswer
from console.api.base import ApiView, ApiViewSet, changing, reading
from console.api.errors import ConflictError
from console.api.installation import FilePartitionSerializer, FileProjectSerializer
from console.api.partitions import OfPartition, PolicyDocumentField
from console.core.limits import POLICY, PROJECT
from console.history.answering import decode_past
from console.history.answers import ComparedJob, ComparedStop, Comparison, Move, Start
from console.history.changes import HypotheticalChange, policy_change, project_change, proposal_change
from console.history.hindsight.asking import SPANS, USUAL, ask_hindsight, days_known, newest_done
from console.history.hindsight.figures import SCHEMA
from console.history.hindsight.wording import as_csv, told_of
from console.history.models import Study, StudyKind, StudyState
from console.history.past import Day, PastStudy, StudySum, over_days_at_once
from console.history.studies import ask, takes_too_long, visible_studies
from console.history.studies import cancel as cancel_study
from console.history.what_if import what_if
from console.history.wording import lost_by, sentences
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.selectors import visible_projects
from console.projects.services import data_of
from scheduler.contracts.config import decode_partition, decode_policy, decode_project
from scheduler.model.policy import PartitionPolicy


class WaitedSerializer(serializers.Serializer):
    """How long jobs of a level waited together."""

    level = fields.RankedLevelSerializer()
    hours = serializers.FloatField()


class SideSerializer(serializers.Serializer):
    """One way in which the days would have gone."""

    stops = serializers.IntegerField()
    jobs = serializers.IntegerField(help_text="Jobs that would have got their room.")
    work_lost = fields.WorkSerializer()
    waited = WaitedSerializer(many=True)


class DoneSerializer(serializers.Serializer):
    """What Giveway really stopped."""

    stops = serializers.IntegerField()
    work_lost = fields.WorkSerializer()


class DaysSerializer(serializers.Serializer):
    """What really was, what would have been as things are now, and with the change."""

    done = DoneSerializer()
    present = SideSerializer()
    changed = SideSerializer()


class PastDaySerializer(DaysSerializer):
    """One day, where this installation is."""

    day = serializers.DateField()


class PastSerializer(DaysSerializer):
    """The last days: `used` of `looks` recorded looks were decided; `cut`: there was no time for the later ones."""

    partitions = fields.NamesField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    used = serializers.IntegerField()
    looks = serializers.IntegerField()
    cut = serializers.BooleanField()
    enough = serializers.BooleanField(help_text="Whether enough was looked at for sums to mean anything.")
    days = PastDaySerializer(many=True)


def past_data(past: PastStudy) -> dict[str, Any]:
    """As `PastSerializer` describes it."""
    return {
        **{key: getattr(past, key) for key in ("partitions", "used", "looks", "cut", "enough")},
        "since": fields.moment_data(past.since),
        "until": fields.moment_data(past.until),
        "days": [{"day": day.isoformat(), **_day(sums)} for day, sums in past.days],
        **_day(past.total),
    }


def _day(day: Day) -> dict[str, Any]:
    done = {"stops": day.done.stops, "work_lost": fields.work_data(day.done.work)}
    return {"done": done, "present": _sum(day.present), "changed": _sum(day.changed)}


def _sum(side: StudySum) -> dict[str, Any]:
    waited = [{"level": asdict(level), "hours": round(s / 3600, 4)} for level, s in side.waited.items()]
    return {
        "stops": side.stops,
        "jobs": side.jobs,
        "work_lost": fields.work_data(side.work),
        "waited": waited,
    }


# --- What would a change do, now and over the last days? Nothing is saved.

MOST_DAYS = 31


@extend_schema_field(FilePartitionSerializer)
class PartitionEntryField(fields.ObjectField):
    """A partition's entry of the priority file."""

    bounds = POLICY


@extend_schema_field(FileProjectSerializer)
class ProjectEntryField(fields.ObjectField):
    """A project's entry of the priority file."""

    bounds = PROJECT


class ChangeSerializer(serializers.Serializer):
    """Entries of the priority file, whole, as they would be."""

    partitions = serializers.ListField(child=PartitionEntryField(), default=list, max_length=100)
    projects = serializers.ListField(child=ProjectEntryField(), default=list, max_length=10_000)


class WhatIfSerializer(ChangeSerializer):
    """Entries of the priority file, whole, as they would be. `days`: also ask the record of so many last days."""

    days = serializers.IntegerField(default=0, min_value=0, max_value=MOST_DAYS)


class ToldSerializer(fields.DataclassSerializer):
    """A job with its levels."""

    dataclass = ComparedJob
    user_level = fields.RankedLevelSerializer()
    task_level = fields.RankedLevelSerializer()


class StopSerializer(fields.DataclassSerializer):
    """A running job that is stopped, and for whom."""

    dataclass = ComparedStop
    victim = ToldSerializer()
    beneficiary = ToldSerializer()
    amounts = fields.AmountsSerializerField()


class StartSerializer(fields.DataclassSerializer):
    """A waiting job that starts; `stops`: how many others are stopped for it."""

    dataclass = Start
    job = ToldSerializer()


class MoveSerializer(fields.DataclassSerializer):
    """Jobs of one user, or of one name, that change level."""

    dataclass = Move
    before = fields.RankedLevelSerializer()
    after = fields.RankedLevelSerializer()


class ChangedPartitionSerializer(serializers.Serializer):
    """What changes in one partition, compared with no change. `only_planned`: in shadow, so nothing is touched."""

    partition = serializers.CharField()
    enforcement = serializers.CharField()
    only_planned = serializers.BooleanField()
    sentences = fields.NamesField()
    users = MoveSerializer(many=True)
    tasks = MoveSerializer(many=True)
    stopped = StopSerializer(many=True)
    spared = StopSerializer(many=True)
    started = StartSerializer(many=True)
    kept_waiting = StartSerializer(many=True)
    work_lost = fields.WorkSerializer()


class WhatIfAnswerSerializer(serializers.Serializer):
    """What would change now. `at`: when the facts were seen; `left`: partitions for which there was no time."""

    at = serializers.DateTimeField()
    jobs = serializers.IntegerField()
    partitions = ChangedPartitionSerializer(many=True)
    left = fields.NamesField()
    past = PastSerializer(allow_null=True)


class Asking(ApiView):
    """What is asked about, by whoever may make the change."""

    body_limit = "file"

    def change(self, values: dict[str, Any]) -> HypotheticalChange:
        """The change that was sent: 403 or 404 where it is not this account's to make."""
        change = HypotheticalChange()
        for index, entry in enumerate(values["partitions"]):
            change |= self._policy(entry, f"partitions[{index}]")
        for index, entry in enumerate(values["projects"]):
            change |= self._project(entry, f"projects[{index}]")
        return change

    def _policy(self, entry: object, inside: str) -> HypotheticalChange:
        with changing(inside):
            policy = decode_partition(entry).policy
        rows = self.partitions(revision__isnull=False)
        partition = rows.filter(name=policy.name).first()
        if partition is None:
            raise Http404
        require_read(self.request, Permission.POLICY_VIEW, partition)
        require_write(self.request, Permission.POLICY_CHANGE, partition)
        with changing(inside):
            return policy_change(partition, policy)

    def _project(self, entry: object, inside: str) -> HypotheticalChange:
        with changing(inside):
            data = data_of(decode_project(entry))
        # One that is not theirs to see is refused like one that is not there, so that codes cannot be guessed.
        rows = visible_projects(self.person).filter(cluster=self.cluster)
        found = rows.filter(code=data.code).first()
        proposes = found is None and not self.person.has_perm(Permission.PROJECT_CREATE)
        if proposes and self.person.has_perm(Permission.PROJECT_PROPOSE):
            with changing(inside):
                return proposal_change(self.cluster, data)
        wanted = Permission.PROJECT_CHANGE if found else Permission.PROJECT_CREATE
        require_write(self.request, wanted, found)
        with changing(inside):
            return project_change(self.cluster, data)


class WhatIf(Asking):
    """Asked by whoever may make the change."""

    saves_nothing = True

    serializer_class = WhatIfAnswerSerializer
    further_errors: ClassVar = {"POST": {404}}

    @extend_schema(request=WhatIfSerializer, responses={200: WhatIfAnswerSerializer})
    def post(self, request: Request) -> Response:
        """What a change would do to the cluster as it was seen last, compared with no change. Nothing is saved."""
        values = self.sent(WhatIfSerializer)
        change, days = self.change(values), values["days"]
        if days and takes_too_long(self.cluster, days):
            text = _("So many recorded looks take longer than a request. Ask for a study (studies/).")
            raise ConflictError(text, code="takes_too_long")
        answer = what_if(self.cluster, change)
        past = over_days_at_once(self.cluster, change, days) if days else None
        partitions = [_partition(each) for each in answer.partitions]
        told = {
            "at": answer.at,
            "jobs": answer.jobs,
            "partitions": partitions,
            "left": answer.left,
            "past": None,
        }
        return Response({**self.get_serializer(told).data, "past": past and past_data(past)})


def _partition(found: Comparison) -> dict[str, Any]:
    same = ("partition", "only_planned", "users", "tasks", "stopped", "spared", "started", "kept_waiting")
    return {
        **{key: getattr(found, key) for key in same},
        "enforcement": found.after.policy.enforcement,
        "sentences": sentences(found),
        "work_lost": lost_by(found.stopped),
    }


# --- Studies: what a change would have done over the last days, worked off by a worker while nobody waits.


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
    not_followed = fields.NamesField()
    left_out = JobsLeftOutSerializer()
    sentence = serializers.CharField(help_text="The answer for people.")
    all = GroupSerializer()
    levels = LevelGroupSerializer(many=True)
    projects = ProjectGroupSerializer(many=True)


class StudySerializer(fields.RowSerializer):
    """A study. `done` of `total` recorded looks are decided; `partitions` and `projects` are what would change.

    One of the kind `hindsight` simulates finished jobs of `partition` with the policy that it was asked about: `done`
    of `total` jobs, those of all runs together.
    """

    partitions = serializers.SerializerMethodField()
    projects = serializers.SerializerMethodField()

    class Meta:
        model = Study
        fields: ClassVar = [
            "id", "kind", "partition", "asked_by", "asked_at", "days", "partitions", "projects", "state",
            "done", "total", "begun_at", "ended_at", "fault",
        ]  # fmt: skip

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
        return {**study.result, "sentence": told_of(study.result).sentence}


class NewStudySerializer(ChangeSerializer):
    """Entries of the priority file, whole, as they would be, over so many last days."""

    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS)


class StudyFilter(FilterSet):
    """By who asked and where it is."""

    asked_by = django_filters.CharFilter()
    state = django_filters.MultipleChoiceFilter(choices=StudyState.choices)
    ordering = django_filters.OrderingFilter(fields=["id", "asked_at"])


class Studies(Asking, ApiViewSet):
    """Studies, the newest first."""

    one = "One study."
    permission = Permission.STUDY_VIEW
    queryset = Study.objects.all()
    serializer_class = StudySerializer
    whole = WholeStudySerializer
    filterset_class = StudyFilter
    further_errors: ClassVar = {"create": {404}}

    def get_queryset(self) -> QuerySet[Study]:
        """The studies that are this account's to see."""
        return visible_studies(self.person)

    @extend_schema(request=NewStudySerializer, responses={201: WholeStudySerializer})
    def create(self, request: Request) -> Response:
        """Ask what a change would have done over the last days. Whoever may make the change may ask."""
        sent = self.sent(NewStudySerializer)
        change = self.change(sent)
        study = ask(cluster=self.cluster, change=change, days=sent["days"], **self.by)
        return Response(WholeStudySerializer(study).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=WholeStudySerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: int) -> Response:
        """Cancel it; one that is over stays as it is."""
        study = self.get_object()
        require_read(request, Permission.STUDY_VIEW, study)
        require_write(request, Permission.STUDY_CANCEL, study)
        cancel_study(study=study, **self.by)
        return Response(WholeStudySerializer(study).data)


# --- What the last month would have been with a partition's policy: asking, the answer that is kept, and a file of it.


class KeptHindsightSerializer(serializers.Serializer):
    """How far back finished jobs are known, and the last answer about the policy in force; null until there is one."""

    days_known = serializers.IntegerField()
    study = WholeStudySerializer(allow_null=True)


class AskHindsightSerializer(serializers.Serializer):
    """`days` of finished jobs, with the policy in force or a whole other one."""

    days = serializers.IntegerField(default=USUAL, min_value=1, max_value=max(SPANS))
    policy = PolicyDocumentField(required=False)


class PartitionHindsight(OfPartition):
    """Finished jobs of a partition, simulated without Giveway and with a policy."""

    serializer_class = KeptHindsightSerializer

    def get(self, request: Request, name: str) -> Response:
        """The last answer about the policy in force."""
        partition = self.with_policy()
        found = {"days_known": days_known(partition), "study": newest_done(partition)}
        return Response(KeptHindsightSerializer(found).data)

    @extend_schema(request=AskHindsightSerializer, responses={201: WholeStudySerializer})
    def post(self, request: Request, name: str) -> Response:
        """Ask; a worker simulates. Whoever may change the policy may ask; the same open question is not put twice."""
        partition = self.with_policy()
        require_write(request, Permission.POLICY_CHANGE, partition)
        sent = self.sent(AskHindsightSerializer, WholeStudySerializer)
        study = ask_hindsight(
            partition=partition,
            policy=self._policy(partition, sent.get("policy")),
            days=sent["days"],
            **self.by,
        )
        return Response(WholeStudySerializer(study).data, status=status.HTTP_201_CREATED)

    def with_policy(self) -> Partition:
        """The partition, which has a policy."""
        partition = self.partition
        if partition.revision is None:
            raise Http404
        return partition

    def _policy(self, partition: Partition, sent: dict[str, Any] | None) -> PartitionPolicy:
        if sent is None:
            return policy_of(partition)
        with reading("policy"):
            policy = decode_policy({"name": partition.name, **sent})
        with changing("policy"):
            return policy_change(partition, policy).policies[partition.name]


class StudyFile(ApiView):
    """The answer about finished jobs as a file: a line for all, each level and each project."""

    permission = Permission.STUDY_VIEW
    content_negotiation_class = AnyAnswer

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.BYTE})
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Waits in seconds, work in hours by resource; safe to open as a spreadsheet."""
        done = visible_studies(self.person).filter(kind=StudyKind.HINDSIGHT, result__isnull=False)
        study = get_object_or_404(done, pk=pk)
        require_read(request, Permission.STUDY_VIEW, study)
        return HttpResponse(
            as_csv(study.result or {}),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="giveway-study-{study.pk}.csv"'},
        )
