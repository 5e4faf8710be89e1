"""What the last days would have been, as the question at once and a study both tell it."""

from typing import Any

from rest_framework import serializers

from console.api.dataclasses import DataclassSerializer
from console.api.work import WorkSerializer, work_data
from console.history.answers import NamedLevel
from console.history.past import Day, PastStudy, StudySum


class RankedLevelSerializer(DataclassSerializer):
    """A level: its rank, 0 the highest, null when nothing is configured, and its name."""

    dataclass = NamedLevel


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
    enough = serializers.BooleanField(help_text="Whether enough was looked at for sums to mean anything.")
    days = PastDaySerializer(many=True)


def level_data(level: NamedLevel) -> dict[str, Any]:
    """As `RankedLevelSerializer` describes it."""
    return {"rank": level.rank, "name": level.name}


def moment_data(value: Any) -> Any:
    """A moment as all answers write it."""
    return serializers.DateTimeField().to_representation(value)


def past_data(past: PastStudy) -> dict[str, Any]:
    """As `PastSerializer` describes it."""
    return {
        "partitions": list(past.partitions),
        "since": moment_data(past.since),
        "until": moment_data(past.until),
        "used": past.used,
        "looks": past.looks,
        "cut": past.cut,
        "enough": past.enough,
        "days": [{"day": day.isoformat(), **_day(sums)} for day, sums in past.days],
        **_day(past.total),
    }


def _day(day: Day) -> dict[str, Any]:
    done = {"stops": day.done.stops, "work_lost": work_data(day.done.work)}
    return {"done": done, "present": _sum(day.present), "changed": _sum(day.changed)}


def _sum(side: StudySum) -> dict[str, Any]:
    waited = [{"level": level_data(level), "hours": round(s / 3600, 4)} for level, s in side.waited.items()]
    return {"stops": side.stops, "jobs": side.jobs, "work_lost": work_data(side.work), "waited": waited}
