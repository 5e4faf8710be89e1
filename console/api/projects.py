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
from console.api.changes import changing
from console.api.openapi import WRITING
from console.api.project_fields import (
    NewProjectSerializer,
    ProjectChangeSerializer,
    ProjectDeletionSerializer,
    ProjectPatchSerializer,
    ProjectSerializer,
    settings_from,
)
from console.api.strict import valid
from console.core.concurrent_changes import MissedChanges
from console.projects.changing import change_as
from console.projects.models import Project
from console.projects.selectors import visible_projects, with_rules
from console.projects.services import (
    ProjectData,
    changes_of_project,
    create_project,
    delete_project,
    project_data,
)


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

    def changes_since(self, version: int) -> MissedChanges | None:
        """What the audit log has of the changes after this version."""
        return changes_of_project(self.get_object(), version)

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
