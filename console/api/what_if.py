"""What would a change do, now and over the last days? Nothing is saved."""

from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read, require_write
from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.changes import changing
from console.api.config import FilePartitionSerializer, FileProjectSerializer
from console.api.errors import ConflictError
from console.api.fields import AmountsField, ObjectField
from console.api.work import WorkSerializer, work_data
from console.history.answers import Comparison, Move, NamedLevel, Start, Stop, Told
from console.history.changes import Change, policy_change, project_change
from console.history.past import Day, Past, Sum, over_days
from console.history.what_if import Answer, NotNowError, what_if
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


@extend_schema_field(FileProjectSerializer)
class ProjectEntryField(ObjectField):
    """A project's entry of the priority file."""


class WhatIfSerializer(serializers.Serializer):
    """Entries of the priority file, whole, as they would be. `days`: also ask the record of so many last days."""

    partitions = serializers.ListField(child=PartitionEntryField(), default=list, max_length=100)
    projects = serializers.ListField(child=ProjectEntryField(), default=list, max_length=10_000)
    days = serializers.IntegerField(default=0, min_value=0, max_value=MOST_DAYS)


class RankedLevelSerializer(serializers.Serializer):
    """A level: its rank, 0 the highest, null when nothing is configured, and its name."""

    rank = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()


class ToldSerializer(serializers.Serializer):
    """A job with its levels."""

    job = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    user = serializers.CharField()
    user_level = RankedLevelSerializer()
    task_level = RankedLevelSerializer()


class StopSerializer(serializers.Serializer):
    """A running job that is stopped, and for whom."""

    victim = ToldSerializer()
    beneficiary = ToldSerializer()
    how = serializers.ChoiceField(choices=["requeue", "cancel"])
    ran_s = serializers.IntegerField()
    amounts = AmountsField()


class StartSerializer(serializers.Serializer):
    """A waiting job that starts; `stops`: how many others are stopped for it."""

    job = ToldSerializer()
    nodes = serializers.ListField(child=serializers.CharField())
    stops = serializers.IntegerField()


class MoveSerializer(serializers.Serializer):
    """Jobs of one user, or of one name, that change level."""

    who = serializers.CharField(allow_blank=True)
    before = RankedLevelSerializer()
    after = RankedLevelSerializer()
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()


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


class WaitedSerializer(serializers.Serializer):
    """How long jobs of a level waited together."""

    level = RankedLevelSerializer()
    hours = serializers.FloatField()


class SideSerializer(serializers.Serializer):
    """One way in which the days would have gone."""

    stops = serializers.IntegerField()
    jobs = serializers.IntegerField(help_text="Jobs that would have got their room.")
    work_lost = WorkSerializer()
    waited = WaitedSerializer(many=True)


class DoneSerializer(serializers.Serializer):
    """What Giveway really stopped."""

    stops = serializers.IntegerField()
    work_lost = WorkSerializer()


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

    partitions = serializers.ListField(child=serializers.CharField())
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    used = serializers.IntegerField()
    looks = serializers.IntegerField()
    cut = serializers.BooleanField()
    days = PastDaySerializer(many=True)


class WhatIfAnswerSerializer(serializers.Serializer):
    """What would change now. `at`: when the facts were seen; `left`: partitions for which there was no time."""

    at = serializers.DateTimeField()
    jobs = serializers.IntegerField()
    partitions = ChangedPartitionSerializer(many=True)
    left = serializers.ListField(child=serializers.CharField())
    past = PastSerializer(allow_null=True)


class WhatIf(ApiView):
    """Asked by whoever may make the change."""

    queryset = Partition.objects.none()
    serializer_class = WhatIfAnswerSerializer
    further_errors: ClassVar = {"POST": {404, 409}}

    @extend_schema(
        request=WhatIfSerializer, responses={200: WhatIfAnswerSerializer}, operation_id="what_if_create"
    )
    def post(self, request: Request) -> Response:
        """What a change would do to the cluster as it was seen last, compared with no change. Nothing is saved."""
        sent = WhatIfSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values: dict[str, Any] = sent.validated_data
        change = Change()
        for index, entry in enumerate(values["partitions"]):
            change |= self._policy(entry, f"partitions[{index}]")
        for index, entry in enumerate(values["projects"]):
            change |= self._project(entry, f"projects[{index}]")
        try:
            answer = what_if(self.cluster, change)
            past = over_days(self.cluster, change, values["days"]) if values["days"] else None
        except NotNowError as error:
            raise ConflictError(str(error), code="not_now") from error
        return Response(_answer(answer, past))

    def _policy(self, entry: object, inside: str) -> Change:
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

    def _project(self, entry: object, inside: str) -> Change:
        with changing(inside):
            data = data_of(decode_project(entry))
        # One that is not theirs to see is refused like one that is not there, so that codes cannot be guessed.
        rows = visible_projects(self.person).filter(cluster=self.cluster)
        found = rows.filter(code=data.code).first()
        wanted = Permission.PROJECT_CHANGE if found else Permission.PROJECT_CREATE
        require_write(self.request, wanted, found)
        with changing(inside):
            return project_change(self.cluster, data)


def _answer(answer: Answer, past: Past | None) -> dict[str, Any]:
    return {
        "at": _moment(answer.at),
        "jobs": answer.jobs,
        "partitions": [_partition(each) for each in answer.partitions],
        "left": list(answer.left),
        "past": _past(past) if past else None,
    }


def _moment(value: Any) -> Any:
    return serializers.DateTimeField().to_representation(value)


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


def _level(level: NamedLevel) -> dict[str, Any]:
    return {"rank": level.rank, "name": level.name}


def _told(job: Told) -> dict[str, Any]:
    named = {"job": job.job, "name": job.name, "user": job.user}
    return {**named, "user_level": _level(job.user_level), "task_level": _level(job.task_level)}


def _move(move: Move) -> dict[str, Any]:
    levels = {"before": _level(move.before), "after": _level(move.after)}
    return {"who": move.who, **levels, "running": move.running, "waiting": move.waiting}


def _stop(stop: Stop) -> dict[str, Any]:
    both = {"victim": _told(stop.victim), "beneficiary": _told(stop.beneficiary)}
    return {**both, "how": stop.how.value, "ran_s": stop.ran_s, "amounts": dict(stop.amounts)}


def _start(start: Start) -> dict[str, Any]:
    return {"job": _told(start.job), "nodes": list(start.nodes), "stops": start.stops}


def _past(past: Past) -> dict[str, Any]:
    return {
        "partitions": list(past.partitions),
        "since": _moment(past.since),
        "until": _moment(past.until),
        "used": past.used,
        "looks": past.looks,
        "cut": past.cut,
        "days": [{"day": day.isoformat(), **_day(sums)} for day, sums in past.days],
        **_day(past.total),
    }


def _day(day: Day) -> dict[str, Any]:
    done = {"stops": day.done.stops, "work_lost": work_data(day.done.work)}
    return {"done": done, "present": _sum(day.present), "changed": _sum(day.changed)}


def _sum(side: Sum) -> dict[str, Any]:
    waited = [{"level": _level(level), "hours": round(s / 3600, 4)} for level, s in side.waited.items()]
    return {"stops": side.stops, "jobs": side.jobs, "work_lost": work_data(side.work), "waited": waited}
