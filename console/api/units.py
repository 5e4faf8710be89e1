"""The part of a policy's document that is about units and elastic jobs."""

from rest_framework import serializers

from scheduler.model.policy import GiveBack, Partial


class TaskTypeSerializer(serializers.Serializer):
    """What a kind of task needs where its request leaves it out. The first row that fits a job's name counts."""

    pattern = serializers.CharField(help_text="Shell style, of job names.")
    cpus = serializers.IntegerField(required=False, help_text="For each node.")
    gpus = serializers.IntegerField(required=False, help_text="For each node.")
    memory_mb = serializers.IntegerField(required=False, help_text="For each node.")
    time_s = serializers.IntegerField(required=False, help_text="The time limit.")
    elastic_min = serializers.IntegerField(
        required=False, help_text="Such a task is elastic and goes on with so many workers."
    )
    elastic_wish = serializers.IntegerField(required=False, help_text="It would like to have so many.")


class UnitsPolicySerializer(serializers.Serializer):
    """What jobs give up instead of being stopped whole, and how it goes back."""

    units = serializers.BooleanField(
        required=False,
        help_text="Whether jobs that hold units may lose some of them instead of being stopped.",
    )
    elastic = serializers.BooleanField(
        required=False, help_text="Whether elastic jobs give up workers before anybody is stopped."
    )
    partial = serializers.ChoiceField(  # type: ignore[assignment]  # the document's key, no part of an update
        choices=[p.value for p in Partial],
        required=False,
        help_text="Whether others are stopped for a part of a request in units.",
    )
    give_back = serializers.ChoiceField(
        choices=[g.value for g in GiveBack], required=False, help_text="How what is left over goes back."
    )
    patience_s = serializers.IntegerField(
        required=False,
        help_text="Nobody is stopped for a job that is forecast to start by itself within so many seconds.",
    )
    task_types = TaskTypeSerializer(many=True, required=False)
    regrow_s = serializers.IntegerField(
        required=False, help_text="How long a job is not restarted again to grow; 0: no limit."
    )
