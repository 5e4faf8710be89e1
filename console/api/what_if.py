"""What would a change do, now and over the last days? Nothing is saved."""

from typing import Any, ClassVar

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read, require_write
from console.accounts.models import User
from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.changes import changing
from console.api.config import FilePartitionSerializer, FileProjectSerializer
from console.api.dataclasses import DataclassSerializer
from console.api.errors import ConflictError
from console.api.fields import AmountsSerializerField, ObjectField
from console.api.past import PastSerializer, RankedLevelSerializer, level_data, moment_data, past_data
from console.api.strict import valid
from console.api.work import WorkSerializer, work_data
from console.cluster.models import Cluster
from console.core.limits import POLICY, PROJECT
from console.history.answers import ComparedJob, ComparedStop, Comparison, Move, Start
from console.history.changes import HypotheticalChange, policy_change, project_change, proposal_change
from console.history.past import PastStudy, over_days_at_once
from console.history.studies import takes_too_long
from console.history.what_if import NotNowError, WhatIfAnswer, what_if
from console.history.wording import lost_by, sentences
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from console.projects.selectors import visible_projects
from console.projects.services import data_of
from scheduler.contracts.config import decode_partition, decode_project

MOST_DAYS = 31


@extend_schema_field(FilePartitionSerializer)
class PartitionEntryField(ObjectField):
    """A partition's entry of the priority file."""

    bounds = POLICY


@extend_schema_field(FileProjectSerializer)
class ProjectEntryField(ObjectField):
    """A project's entry of the priority file."""

    bounds = PROJECT


class ChangeSerializer(serializers.Serializer):
    """Entries of the priority file, whole, as they would be."""

    partitions = serializers.ListField(child=PartitionEntryField(), default=list, max_length=100)
    projects = serializers.ListField(child=ProjectEntryField(), default=list, max_length=10_000)


class WhatIfSerializer(ChangeSerializer):
    """Entries of the priority file, whole, as they would be. `days`: also ask the record of so many last days."""

    days = serializers.IntegerField(default=0, min_value=0, max_value=MOST_DAYS)


class ToldSerializer(DataclassSerializer):
    """A job with its levels."""

    dataclass = ComparedJob
    user_level = RankedLevelSerializer()
    task_level = RankedLevelSerializer()


class StopSerializer(DataclassSerializer):
    """A running job that is stopped, and for whom."""

    dataclass = ComparedStop
    victim = ToldSerializer()
    beneficiary = ToldSerializer()
    amounts = AmountsSerializerField()


class StartSerializer(DataclassSerializer):
    """A waiting job that starts; `stops`: how many others are stopped for it."""

    dataclass = Start
    job = ToldSerializer()


class MoveSerializer(DataclassSerializer):
    """Jobs of one user, or of one name, that change level."""

    dataclass = Move
    before = RankedLevelSerializer()
    after = RankedLevelSerializer()


class ChangedPartitionSerializer(serializers.Serializer):
    """What changes in one partition, compared with no change. `only_planned`: in shadow, so nothing is touched."""

    partition = serializers.CharField()
    enforcement = serializers.CharField()
    only_planned = serializers.BooleanField()
    sentences = serializers.ListField(child=serializers.CharField())
    users = MoveSerializer(many=True)
    tasks = MoveSerializer(many=True)
    stopped = StopSerializer(many=True)
    spared = StopSerializer(many=True)
    started = StartSerializer(many=True)
    kept_waiting = StartSerializer(many=True)
    work_lost = WorkSerializer()


class WhatIfAnswerSerializer(serializers.Serializer):
    """What would change now. `at`: when the facts were seen; `left`: partitions for which there was no time."""

    at = serializers.DateTimeField()
    jobs = serializers.IntegerField()
    partitions = ChangedPartitionSerializer(many=True)
    left = serializers.ListField(child=serializers.CharField())
    past = PastSerializer(allow_null=True)


class Asking:
    """What is asked about, by whoever may make the change."""

    body_limit = "file"

    request: Request
    person: User
    cluster: Cluster

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
        rows = visible_partitions(self.person).filter(cluster=self.cluster, revision__isnull=False)
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


class WhatIf(Asking, ApiView):
    """Asked by whoever may make the change."""

    saves_nothing = True

    queryset = Partition.objects.none()
    serializer_class = WhatIfAnswerSerializer
    further_errors: ClassVar = {"POST": {404, 409}}

    @extend_schema(
        request=WhatIfSerializer, responses={200: WhatIfAnswerSerializer}, operation_id="what_if_create"
    )
    def post(self, request: Request) -> Response:
        """What a change would do to the cluster as it was seen last, compared with no change. Nothing is saved."""
        sent = WhatIfSerializer(data=request.data)
        valid(sent, self.serializer_class)
        values: dict[str, Any] = sent.validated_data
        change, days = self.change(values), values["days"]
        if days and takes_too_long(self.cluster, days):
            text = _("So many recorded looks take longer than a request. Ask for a study (studies/).")
            raise ConflictError(text, code="takes_too_long")
        try:
            answer = what_if(self.cluster, change)
            past = over_days_at_once(self.cluster, change, days) if days else None
        except NotNowError as error:
            raise ConflictError(str(error), code="not_now") from error
        return Response(_answer(answer, past))


def _answer(answer: WhatIfAnswer, past: PastStudy | None) -> dict[str, Any]:
    return {
        "at": moment_data(answer.at),
        "jobs": answer.jobs,
        "partitions": [_partition(each) for each in answer.partitions],
        "left": list(answer.left),
        "past": past_data(past) if past else None,
    }


def _partition(found: Comparison) -> dict[str, Any]:
    return {
        "partition": found.partition,
        "enforcement": found.after.policy.enforcement.value,
        "only_planned": found.only_planned,
        "sentences": sentences(found),
        "users": [_move(each) for each in found.users],
        "tasks": [_move(each) for each in found.tasks],
        "stopped": [_stop(each) for each in found.stopped],
        "spared": [_stop(each) for each in found.spared],
        "started": [_start(each) for each in found.started],
        "kept_waiting": [_start(each) for each in found.kept_waiting],
        "work_lost": work_data(lost_by(found.stopped)),
    }


def _told(job: ComparedJob) -> dict[str, Any]:
    named = {"job": job.job, "name": job.name, "user": job.user}
    return {**named, "user_level": level_data(job.user_level), "task_level": level_data(job.task_level)}


def _move(move: Move) -> dict[str, Any]:
    levels = {"before": level_data(move.before), "after": level_data(move.after)}
    return {"who": move.who, **levels, "running": move.running, "waiting": move.waiting}


def _stop(stop: ComparedStop) -> dict[str, Any]:
    both = {"victim": _told(stop.victim), "beneficiary": _told(stop.beneficiary)}
    return {**both, "how": stop.how.value, "ran_s": stop.ran_s, "amounts": dict(stop.amounts)}


def _start(start: Start) -> dict[str, Any]:
    return {"job": _told(start.job), "nodes": list(start.nodes), "stops": start.stops}
