"""Projects: the size, grade and urgency that priorities come from, their people and their task patterns."""

from dataclasses import replace
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList
from console.api.changed import project_changes
from console.api.changes import ReasonField, VersionField, changing
from console.api.fields import BoundedNamesField, refuse_long_list
from console.api.openapi import WRITING
from console.api.strict import valid
from console.projects.changing import change_as
from console.projects.models import MemberRole, Project, UrgencyBy
from console.projects.selectors import people, visible_projects, with_rules
from console.projects.services import (
    SETTABLE,
    ProjectData,
    TaskData,
    create_project,
    delete_project,
    project_data,
)


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

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """No level is null, as in the priority file."""
        shown = super().to_representation(instance)
        return shown | {"level": shown["level"] or None}

    class Meta:
        list_serializer_class = TaskListSerializer


class TurnSerializer(serializers.Serializer):
    """From this day on the urgency is this."""

    day = serializers.DateField()
    urgency = serializers.FloatField()


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

    reason = ReasonField()


class ProjectChangeSerializer(ProjectFieldsSerializer):
    """A whole project. `version` is the one that you have read: a newer one is not overwritten."""

    version = VersionField()
    reason = ReasonField()


class ProjectPatchSerializer(serializers.Serializer):
    """The keys that are to change; a list given replaces the whole list."""

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
    version = VersionField()
    reason = ReasonField()


class ProjectDeletionSerializer(serializers.Serializer):
    """The query parameters of a deletion: it has no body."""

    version = VersionField()
    reason = ReasonField()


def settings_from(values: dict[str, Any]) -> dict[str, Any]:
    """What was sent, as the services take it; keys that were not sent stay out."""
    settings = {key: values[key] for key in SETTABLE if key in values}
    settings |= {key: tuple(values[key]) for key in ("members", "managers") if key in values}
    if "tasks" in values:
        settings["tasks"] = tuple(
            TaskData(t["pattern"], t["importance"], t["level"] or "") for t in values["tasks"]
        )
    return settings


class ProjectFilter(FilterSet):
    """By account and by people."""

    code = django_filters.CharFilter()
    slurm_account = django_filters.CharFilter()
    member = django_filters.CharFilter(method="of_person", label="A user of the cluster.")
    manager = django_filters.CharFilter(method="of_person", label="An account of the console.")
    ordering = django_filters.OrderingFilter(
        fields=(
            ("code", "code"),
            ("size", "size"),
            ("grade", "grade"),
            ("urgency", "urgency"),
            ("updated_at", "updated_at"),
        )
    )

    def of_person(self, projects: QuerySet[Project], name: str, value: str) -> QuerySet[Project]:
        """Projects that name this person in this role."""
        return projects.filter(memberships__username=value, memberships__role=name)


class Projects:
    """What list and detail share."""

    queryset = Project.objects.all()
    serializer_class = ProjectSerializer
    lookup_field = "code"
    checks_first = True
    person: Any
    cluster: Any
    request: Any

    def get_queryset(self) -> QuerySet[Project]:
        """The projects that this account may see."""
        mine = visible_projects(self.person).filter(cluster=self.cluster)
        if self.request.method in WRITING:
            # Of one project, names are read as names: thousands of people as objects take longer than the change.
            mine = mine.prefetch_related(None)
        return mine.order_by("code")

    def paginate_queryset(self, queryset: Any) -> list[Project]:
        """A page whose projects share the rules: they are read once."""
        page: Any = super().paginate_queryset(queryset)
        return with_rules(page)


class ProjectList(Projects, ApiList):
    """Projects by code."""

    filterset_class = ProjectFilter

    permission = Permission.PROJECT_VIEW

    @extend_schema(request=NewProjectSerializer, responses={201: ProjectSerializer})
    def post(self, request: Request) -> Response:
        """Create a project."""
        require_write(request, Permission.PROJECT_CREATE)
        sent = NewProjectSerializer(data=request.data)
        valid(sent, self.serializer_class)
        with changing():
            project = create_project(
                actor=self.person.username,
                cluster=self.cluster,
                data=ProjectData(**settings_from(sent.validated_data)),
                reason=sent.validated_data["reason"],
                request_id=self.request_id,
            )
        return Response(self.get_serializer(project).data, status=status.HTTP_201_CREATED)


class ProjectDetail(Projects, ApiDetail):
    """One project."""

    further_errors: ClassVar = {"PUT": {409}, "PATCH": {409}, "DELETE": {409}}
    version_key = "version"

    def changes_since(self, version: int) -> list[str]:
        """What the audit log has of the changes after this version."""
        return project_changes(self.get_object(), version)

    def known_parameters(self, request: Request) -> frozenset[str]:
        """A deletion says its version and reason in the address."""
        return frozenset({"version", "reason"}) if request.method == "DELETE" else frozenset()

    @extend_schema(request=ProjectChangeSerializer)
    def put(self, request: Request, code: str) -> Response:
        """Set the whole of a project."""
        return self._change(ProjectChangeSerializer)

    @extend_schema(request=ProjectPatchSerializer)
    def patch(self, request: Request, code: str) -> Response:
        """Change some of a project."""
        return self._change(ProjectPatchSerializer)

    @extend_schema(
        parameters=[
            OpenApiParameter("version", int, required=True, description="The version that you have read."),
            OpenApiParameter("reason", str, required=True, description="Why; it stands in the audit log."),
        ],
        responses={204: None},
    )
    def delete(self, request: Request, code: str) -> Response:
        """Delete a project."""
        project = self.get_object()
        require_write(self.request, Permission.PROJECT_DELETE, project)
        sent = ProjectDeletionSerializer(data=request.query_params)
        valid(sent, self.serializer_class)
        with changing():
            delete_project(
                actor=self.person.username, project=project, request_id=self.request_id, **sent.validated_data
            )
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _change(self, form: type[serializers.Serializer]) -> Response:
        """Lay what was sent over what is there; a change in between shows in the version.

        An urgency above a manager's limit is not set: it comes back as `waiting_request`.
        """
        project = self.get_object()
        require_write(self.request, Permission.PROJECT_CHANGE, project)
        sent = form(data=self.request.data)
        valid(sent, self.serializer_class)
        with changing():
            changed = change_as(
                person=self.person,
                project=project,
                data=replace(project_data(project), **settings_from(sent.validated_data)),
                reason=sent.validated_data["reason"],
                version=sent.validated_data["version"],
                request_id=self.request_id,
            )
        return Response(self.get_serializer(changed.project).data)
