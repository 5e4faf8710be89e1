"""The document of an answer about finished jobs (`giveway.hindsight/1`), as the API describes it."""

from typing import Any

from rest_framework import serializers

from console.history.hindsight.figures import SCHEMA


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
