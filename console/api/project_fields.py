"""Projects as the API reads and writes them."""

from typing import Any

from rest_framework import serializers

from console.api.changes import ReasonSerializerField, VersionField
from console.api.dataclasses import DataclassSerializer
from console.api.fields import BoundedNamesField, refuse_long_list
from console.projects.models import MemberRole, Project, UrgencyBy
from console.projects.selectors import people
from console.projects.services import (
    SETTABLE,
    TaskData,
)
from scheduler.priority.deadline import Turn


class TaskListSerializer(serializers.ListSerializer):
    """Patterns, once they are not too many."""

    def to_internal_value(self, data: Any) -> Any:
        """The length is looked at before the items."""
        refuse_long_list(data, "patterns")
        return super().to_internal_value(data)


class TaskSerializer(serializers.Serializer):
    """Job names (shell style) with an importance, or a level, of their own."""

    pattern = serializers.CharField(max_length=200)
    importance = serializers.FloatField(default=1.0)
    level = serializers.CharField(max_length=40, allow_null=True, allow_blank=True, default=None)
    one_request = serializers.BooleanField(
        default=False, help_text="Jobs of one user and account that fit it are one request in units."
    )
    elastic_min = serializers.IntegerField(
        min_value=1, allow_null=True, default=None, help_text="They are elastic and keep so many workers."
    )
    elastic_wish = serializers.IntegerField(
        min_value=1, allow_null=True, default=None, help_text="So many workers they would like to have."
    )

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """No level is null, as in the priority file."""
        shown = super().to_representation(instance)
        return shown | {"level": shown["level"] or None}

    class Meta:
        list_serializer_class = TaskListSerializer


class TurnSerializer(DataclassSerializer):
    """From this day on the urgency is this."""

    dataclass = Turn


class AskedSerializer(serializers.Serializer):
    """An urgency that waits for an administrator's approval (see `project-requests/`)."""

    id = serializers.IntegerField()
    urgency = serializers.FloatField()
    urgency_by = serializers.ChoiceField(choices=UrgencyBy.choices)
    deadline = serializers.DateField(allow_null=True)
    asked_by = serializers.CharField()
    asked_at = serializers.DateTimeField()
    reason = serializers.CharField()


class ProjectSerializer(serializers.Serializer):
    """A project. `score` is what size / grade * urgency come to, with the urgency that counts today.

    `urgency` is what is set: by hand it counts, by deadline the urgency rises from it and falls back to it.
    """

    code = serializers.CharField()
    name = serializers.CharField()
    size = serializers.FloatField()
    grade = serializers.FloatField()
    urgency = serializers.FloatField()
    urgency_by = serializers.ChoiceField(choices=UrgencyBy.choices)
    deadline = serializers.DateField(allow_null=True)
    urgency_now = serializers.FloatField(help_text="What counts today.")
    next_turn = TurnSerializer(allow_null=True, help_text="When the deadline changes it next.")
    waiting_request = AskedSerializer(allow_null=True)
    score = serializers.FloatField()
    slurm_account = serializers.CharField(allow_blank=True)
    members = serializers.SerializerMethodField()
    managers = serializers.SerializerMethodField()
    tasks = TaskSerializer(many=True)
    version = serializers.IntegerField(help_text="Grows with every change.")
    updated_at = serializers.DateTimeField()

    def get_members(self, project: Project) -> list[str]:
        """Users of the cluster."""
        return people(project, MemberRole.MEMBER)

    def get_managers(self, project: Project) -> list[str]:
        """Accounts of the console."""
        return people(project, MemberRole.MANAGER)


class MembersField(BoundedNamesField):
    """Names of users of the cluster."""

    bound = "members"


class ManagersField(MembersField):
    """Names of accounts of the console."""

    bound = "managers"


class ProjectFieldsSerializer(serializers.Serializer):
    """What may be set. Only the types are checked here; values are checked by the service, for all its callers."""

    code = serializers.CharField(max_length=64)
    name = serializers.CharField(max_length=200)
    size = serializers.FloatField()
    grade = serializers.FloatField()
    urgency = serializers.FloatField()
    urgency_by = serializers.ChoiceField(choices=UrgencyBy.choices, default=UrgencyBy.HAND.value)
    deadline = serializers.DateField(allow_null=True, default=None)
    slurm_account = serializers.CharField(max_length=64, allow_blank=True, default="")
    members = MembersField(default=list)
    managers = ManagersField(default=list)
    tasks = TaskSerializer(many=True, default=list)


class NewProjectSerializer(ProjectFieldsSerializer):
    """A new project and why there is one."""

    reason = ReasonSerializerField()


class ProjectChangeSerializer(ProjectFieldsSerializer):
    """A whole project. `version` is the one that you have read: a newer one is not overwritten."""

    version = VersionField()
    reason = ReasonSerializerField()


class ProjectKeysSerializer(serializers.Serializer):
    """Some keys of a project."""

    code = serializers.CharField(max_length=64, required=False)
    name = serializers.CharField(max_length=200, required=False)
    size = serializers.FloatField(required=False)
    grade = serializers.FloatField(required=False)
    urgency = serializers.FloatField(required=False)
    urgency_by = serializers.ChoiceField(choices=UrgencyBy.choices, required=False)
    deadline = serializers.DateField(allow_null=True, required=False)
    slurm_account = serializers.CharField(max_length=64, allow_blank=True, required=False)
    members = MembersField(required=False)
    managers = ManagersField(required=False)
    tasks = TaskSerializer(many=True, required=False)


class ProjectPatchSerializer(ProjectKeysSerializer):
    """The keys that are to change; a list given replaces the whole list."""

    version = VersionField()
    reason = ReasonSerializerField()


class ProjectDeletionSerializer(serializers.Serializer):
    """The query parameters of a deletion: it has no body."""

    version = VersionField()
    reason = ReasonSerializerField()


def settings_from(values: dict[str, Any]) -> dict[str, Any]:
    """What was sent, as the services take it; keys that were not sent stay out."""
    settings = {key: values[key] for key in SETTABLE if key in values}
    settings |= {key: tuple(values[key]) for key in ("members", "managers") if key in values}
    if "tasks" in values:
        settings["tasks"] = tuple(
            TaskData(**{**task, "level": task["level"] or ""}) for task in values["tasks"]
        )
    return settings
