"""Projects: the size, grade and urgency that priorities come from, their people and their task patterns."""

import inspect
from dataclasses import replace
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import FilterSet
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import EmailField

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList
from console.api.changes import changing
from console.api.errors import ErrorSerializer
from console.api.etags import Validated
from console.api.project_fields import (
    NewProjectSerializer,
    ProjectChangeSerializer,
    ProjectDeletionSerializer,
    ProjectPatchSerializer,
    ProjectSerializer,
    settings_from,
)
from console.api.strict import valid
from console.core.missed import MissedChanges
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

# --- What the OpenAPI document says of every operation. Apart from `schema`: DRF's settings name this module ---


WRITING = frozenset({"POST", "PUT", "PATCH"})


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=description)


IF_NONE_MATCH = _header("If-None-Match", "The `ETag` of an answer that you have: it is not sent again (304).")
IF_MATCH = _header("If-Match", "The `ETag` of what you have read: anything newer is left alone (412).")
IDEMPOTENCY_KEY = _header(
    "Idempotency-Key",
    "Any text of yours, new for each change: sent again with the same request it gets the first answer, for a day.",
)


class ApiSchema(AutoSchema):
    """Adds to every operation the errors that it can answer with, and a title."""

    def get_description(self) -> str:
        """The docstring of the method, or of the view when the method is one that all views share."""
        own = type(self.view).__dict__.get(self.method.lower())
        return inspect.getdoc(own or type(self.view)) or ""

    def get_summary(self) -> str:
        """The first sentence of the description."""
        return self.get_description().split("\n")[0].split(". ")[0].rstrip(".")

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for status in sorted(self._errors()):
            bodies.setdefault(str(status), self._get_response_for_code(ErrorSerializer, str(status)))
        if self._is_validated() and self.method == "GET":
            bodies["304"] = {"description": "You have it already."}
        return bodies

    def _insert_field_validators(self, field: Any, schema: dict[str, Any]) -> None:
        """An e-mail address that is only read may be empty, and "" has not the `format` of one."""
        super()._insert_field_validators(field, schema)
        if isinstance(field, EmailField) and field.read_only:
            schema.pop("format", None)

    def get_override_parameters(self) -> list[Any]:
        """The headers that all resources know."""
        if not self._is_validated():
            return []
        return [IF_NONE_MATCH] if self.method == "GET" else [IDEMPOTENCY_KEY, IF_MATCH]

    def _is_validated(self) -> bool:
        """A resource of ours, for people who are signed in."""
        return isinstance(self.view, Validated) and self.method not in getattr(self.view, "open_methods", ())

    def _errors(self) -> set[int]:
        """400 everywhere: an unknown query parameter is refused; and 503: the database may be away. The rest follows
        from what the view says."""
        errors = {400, 503} | set(getattr(self.view, "further_errors", {}).get(self.method, ()))
        if self.method not in getattr(self.view, "open_methods", ()):
            errors |= {401, 403}
        if "{" in self.path or getattr(self.view, "permission", None):
            errors.add(404)
        if self.method in WRITING:
            errors |= {413, 415}
        if self.method != "GET" and self._is_validated():
            errors |= {409, 412, 422, 429} | ({404} if hasattr(self.view, "get") else set())
        return errors


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
