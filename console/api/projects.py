"""Projects as the API reads and writes them."""

from dataclasses import replace
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api import fields
from console.api.base import ApiView, ApiViewSet, changing
from console.api.charts import days_asked
from console.api.openapi import WRITING
from console.core.concurrent_changes import MissedChanges
from console.projects import models, rulebook, selectors, services
from console.projects.changing import change_as, change_rules, decide_request, rules_row, withdraw_request
from console.projects.proposals import accept, propose, proposed_data, take_back, turn_down
from console.projects.services import By
from console.reports.levels import MemberLevel, PartitionStanding, PatternLevel, project_levels
from console.reports.project_work import DAYS, MOST_DAYS, ProjectWaits, project_work
from scheduler.priority.deadline import Schedule, Turn, UrgencyStep


class TaskListSerializer(serializers.ListSerializer):
    """Patterns, once they are not too many."""

    def to_internal_value(self, data: Any) -> Any:
        """The length is looked at before the items."""
        fields.refuse_long_list(data, "patterns")
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


class TurnSerializer(fields.DataclassSerializer):
    """From this day on the urgency is this."""

    dataclass = Turn


class AskedSerializer(serializers.Serializer):
    """An urgency that waits for an administrator's approval (see `project-requests/`)."""

    id = serializers.IntegerField()
    urgency = serializers.FloatField()
    urgency_by = serializers.ChoiceField(choices=models.UrgencyBy.choices)
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
    urgency_by = serializers.ChoiceField(choices=models.UrgencyBy.choices)
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

    def get_members(self, project: models.Project) -> list[str]:
        """Users of the cluster."""
        return selectors.people(project, models.MemberRole.MEMBER)

    def get_managers(self, project: models.Project) -> list[str]:
        """Accounts of the console."""
        return selectors.people(project, models.MemberRole.MANAGER)


class MembersField(fields.BoundedNamesField):
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
    urgency_by = serializers.ChoiceField(
        choices=models.UrgencyBy.choices, default=models.UrgencyBy.HAND.value
    )
    deadline = serializers.DateField(allow_null=True, default=None)
    slurm_account = serializers.CharField(max_length=64, allow_blank=True, default="")
    members = MembersField(default=list)
    managers = ManagersField(default=list)
    tasks = TaskSerializer(many=True, default=list)


class NewProjectSerializer(ProjectFieldsSerializer):
    """A new project and why there is one."""

    reason = fields.ReasonSerializerField()


class ProjectChangeSerializer(ProjectFieldsSerializer):
    """A whole project. `version` is the one that you have read: a newer one is not overwritten."""

    version = fields.VersionField()
    reason = fields.ReasonSerializerField()


class ProjectKeysSerializer(ProjectFieldsSerializer):
    """Some keys of a project."""

    def get_fields(self) -> dict[str, Any]:
        """Each may be left out, and nothing stands for it then."""
        found = super().get_fields()
        for name in found.keys() - {"version", "reason"}:
            found[name].required, found[name].default = False, serializers.empty
        return found


class ProjectPatchSerializer(ProjectKeysSerializer):
    """The keys that are to change; a list given replaces the whole list."""

    version = fields.VersionField()
    reason = fields.ReasonSerializerField()


class ProjectDeletionSerializer(serializers.Serializer):
    """The query parameters of a deletion: it has no body."""

    version = fields.VersionField()
    reason = fields.ReasonSerializerField()


def settings_from(values: dict[str, Any]) -> dict[str, Any]:
    """What was sent, as the services take it; keys that were not sent stay out."""
    settings = {key: values[key] for key in services.SETTABLE if key in values}
    settings |= {key: tuple(values[key]) for key in ("members", "managers") if key in values}
    if "tasks" in values:
        settings["tasks"] = tuple(
            services.TaskData(**{**task, "level": task["level"] or ""}) for task in values["tasks"]
        )
    return settings


# --- Projects: the size, grade and urgency that priorities come from, their people and their task patterns.


class ProjectFilter(FilterSet):
    """By account and by people."""

    member = django_filters.CharFilter(method="of_person", label="A user of the cluster.")
    manager = django_filters.CharFilter(method="of_person", label="An account of the console.")
    ordering = django_filters.OrderingFilter(fields=["code", "size", "grade", "urgency", "updated_at"])

    class Meta:
        model = models.Project
        fields: ClassVar = [
            "code", "slurm_account", "member", "manager", "ordering",
        ]  # fmt: skip

    def of_person(
        self, projects: QuerySet[models.Project], name: str, value: str
    ) -> QuerySet[models.Project]:
        """Projects that name this person in this role."""
        return projects.filter(memberships__username=value, memberships__role=name)


class Projects(ApiViewSet):
    """Projects by code."""

    one = "One project."
    permission = Permission.PROJECT_VIEW
    queryset = models.Project.objects.all()
    serializer_class = ProjectSerializer
    filterset_class = ProjectFilter
    lookup_field = "code"
    lookup_value_converter = "name"
    checks_first = True
    ending = frozenset({"version", "reason"})
    version_key = "version"

    def get_queryset(self) -> QuerySet[models.Project]:
        """The projects that this account may see."""
        mine = selectors.visible_projects(self.person).filter(cluster=self.cluster)
        if self.request.method in WRITING:
            # Of one project, names are read as names: thousands of people as objects take longer than the change.
            mine = mine.prefetch_related(None)
        return mine.order_by("code")

    def paginate_queryset(self, queryset: Any) -> list[models.Project]:
        """A page whose projects share the rules: they are read once."""
        page: Any = super().paginate_queryset(queryset)
        return selectors.with_rules(page)

    @extend_schema(request=NewProjectSerializer, responses={201: ProjectSerializer})
    def create(self, request: Request) -> Response:
        """Create a project."""
        require_write(request, Permission.PROJECT_CREATE)
        sent = self.sent(NewProjectSerializer)
        with changing():
            project = services.create_project(
                cluster=self.cluster,
                data=services.ProjectData(**settings_from(sent)),
                reason=sent["reason"],
                **self.by,
            )
        return Response(self.get_serializer(project).data, status=status.HTTP_201_CREATED)

    def changes_since(self, version: int) -> MissedChanges | None:
        """What the audit log has of the changes after this version."""
        return services.changes_of_project(self.get_object(), version)

    @extend_schema(request=ProjectChangeSerializer)
    def update(self, request: Request, code: str) -> Response:
        """Set the whole of a project."""
        return self._change(ProjectChangeSerializer)

    @extend_schema(request=ProjectPatchSerializer)
    def partial_update(self, request: Request, code: str) -> Response:
        """Change some of a project."""
        return self._change(ProjectPatchSerializer)

    @extend_schema(parameters=fields.VERSION_AND_REASON, responses={204: None})
    def destroy(self, request: Request, code: str) -> Response:
        """Delete a project."""
        project = self.get_object()
        require_write(self.request, Permission.PROJECT_DELETE, project)
        sent = self.sent(ProjectDeletionSerializer, query=True)
        with changing():
            services.delete_project(project=project, **self.by, **sent)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _change(self, form: type[serializers.Serializer]) -> Response:
        """Lay what was sent over what is there; a change in between shows in the version.

        An urgency above a manager's limit is not set: it comes back as `waiting_request`.
        """
        project = self.get_object()
        require_write(self.request, Permission.PROJECT_CHANGE, project)
        sent = self.sent(form)
        with changing():
            changed = change_as(
                person=self.person,
                project=project,
                data=replace(services.project_data(project), **settings_from(sent)),
                reason=sent["reason"],
                version=sent["version"],
                request_id=self.request_id,
            )
        return Response(self.get_serializer(changed.project).data)


# --- The rules for projects, and the urgencies that managers ask for: what the administrators set and decide.

RULE_DAYS: dict[str, Any] = {"min_value": 0, "max_value": 10**6}


class StepSerializer(serializers.Serializer):
    """From so many days before the deadline on, the urgency is at least this."""

    days_left = serializers.IntegerField(**RULE_DAYS)
    urgency = serializers.FloatField()


class RulesSerializer(serializers.Serializer):
    """The schedule of urgency, and what managers may do by themselves. A limit that is null does not bind."""

    steps = StepSerializer(many=True)
    hold_days = serializers.IntegerField(
        **RULE_DAYS, help_text="Days after the deadline for which the last step's urgency stays."
    )
    urgency_limit = serializers.FloatField(
        allow_null=True, help_text="A manager's urgency above it waits for an approval."
    )
    size_grade = serializers.ChoiceField(
        choices=[each.value for each in rulebook.SizeGrade],
        help_text="Managers set size and grade freely, within the bounds below, or not at all.",
    )
    size_min = serializers.FloatField(allow_null=True)
    size_max = serializers.FloatField(allow_null=True)
    grade_min = serializers.FloatField(allow_null=True)
    grade_max = serializers.FloatField(allow_null=True)
    importance_max = serializers.FloatField(
        allow_null=True, help_text="Of a task pattern that a manager sets."
    )
    managers_set_levels = serializers.BooleanField(
        help_text="Managers may give task patterns a level of their own."
    )
    managers_set_managers = serializers.BooleanField()
    managers_set_account = serializers.BooleanField()


class RulesInForceSerializer(RulesSerializer):
    """The rules in force. Their earlier revisions are in the audit log (`action=project_rules.changed`)."""

    version = serializers.IntegerField()


class RulesChangeSerializer(RulesSerializer):
    """All rules. `version` is the one that you have read: a newer one is not overwritten."""

    version = fields.VersionField()
    reason = fields.ReasonSerializerField()


def rules_from(sent: dict[str, Any]) -> rulebook.Rules:
    """What was sent, as the service takes it."""
    steps = tuple(UrgencyStep(step["days_left"], step["urgency"]) for step in sent["steps"])
    limits = {key: sent[key] for key in (*rulebook.NUMBERS, *rulebook.FLAGS)}
    return rulebook.Rules(
        Schedule(steps, sent["hold_days"]),
        rulebook.ManagerLimits(size_grade=rulebook.SizeGrade(sent["size_grade"]), **limits),
    )


class RulesView(ApiView):
    """The rules for all projects of the installation."""

    permission = Permission.PROJECT_VIEW
    serializer_class = RulesInForceSerializer

    def get(self, request: Request) -> Response:
        """The rules in force."""
        return self._answer(rules_row())

    @extend_schema(request=RulesChangeSerializer)
    def put(self, request: Request) -> Response:
        """Set all rules. They count from the next cycle on."""
        require_write(request, Permission.PROJECT_RULES)
        values = self.sent(RulesChangeSerializer)
        with changing():
            row = change_rules(
                rules=rules_from(values), reason=values["reason"], version=values["version"], **self.by
            )
        return self._answer(row)

    def _answer(self, row: models.ProjectRules) -> Response:
        return Response(
            {**rulebook.encode_rules(rulebook.decode_rules(row.document)), "version": row.version}
        )


class RequestSerializer(fields.RowSerializer):
    """An urgency that a manager asked for, and what became of it."""

    project = serializers.CharField(source="project.code")
    urgency_by = serializers.ChoiceField(choices=models.UrgencyBy.choices)
    state = serializers.ChoiceField(choices=models.RequestState.choices)

    class Meta:
        model = models.UrgencyRequest
        fields: ClassVar = [
            "id", "project", "urgency", "urgency_by", "deadline", "state", "asked_by", "asked_at", "reason",
            "decided_by", "decided_at", "decision_reason",
        ]  # fmt: skip


class RequestFilter(FilterSet):
    """By state and by project."""

    state = django_filters.ChoiceFilter(choices=models.RequestState.choices)
    project = django_filters.CharFilter(field_name="project__code")


ACCEPT, APPROVE, SHORTEN, REJECT, WITHDRAW = "accept", "approve", "shorten", "reject", "withdraw"


class RequestDecisionSerializer(serializers.Serializer):
    """An administrator approves, shortens or rejects; whoever may change the project withdraws."""

    decision = serializers.ChoiceField(choices=[APPROVE, SHORTEN, REJECT, WITHDRAW])
    until = serializers.DateField(
        required=False,
        help_text="Only with `shorten`: approved with this deadline, earlier than the one asked for.",
    )
    reason = fields.ReasonSerializerField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A day goes with `shorten`, and with nothing else."""
        if (attrs["decision"] == SHORTEN) != ("until" in attrs):
            raise serializers.ValidationError({"until": _("Goes with shorten, and only with it.")})
        return attrs


class Requests(ApiViewSet):
    """Requests, the newest first."""

    one = "One request."
    permission = Permission.PROJECT_VIEW
    queryset = models.UrgencyRequest.objects.all()
    serializer_class = RequestSerializer
    filterset_class = RequestFilter

    def get_queryset(self) -> QuerySet[models.UrgencyRequest]:
        """The requests of the projects that this account may see, the newest first."""
        return selectors.visible_requests(self.person).filter(project__cluster=self.cluster).order_by("-id")

    @extend_schema(request=RequestDecisionSerializer, responses={200: RequestSerializer})
    @action(detail=True, methods=["post"])
    def decision(self, request: Request, pk: int) -> Response:
        """Approve, shorten, reject or withdraw. One that does not wait any more is a conflict (409)."""
        asked = self.get_object()
        # Who may do nothing here is told so before what is wrong with the body.
        if not self.person.has_perm(Permission.REQUEST_DECIDE):
            require_write(request, Permission.PROJECT_CHANGE, asked.project)
        sent = self.sent(RequestDecisionSerializer)
        told = {"request": asked, "reason": sent["reason"], **self.by}
        with changing():
            if sent["decision"] == WITHDRAW:
                require_write(request, Permission.PROJECT_CHANGE, asked.project)
                done = withdraw_request(**told)
            else:
                require_write(request, Permission.REQUEST_DECIDE)
                approve = sent["decision"] != REJECT
                done = decide_request(approve=approve, until=sent.get("until"), **told)
        return Response(RequestSerializer(done).data)


# --- Projects that managers propose, and what became of them.


class ProposedProjectSerializer(ProjectFieldsSerializer):
    """A project as the priority file has it."""


class ProposalSerializer(fields.RowSerializer):
    """A project that a manager proposes, and what became of it."""

    project = ProposedProjectSerializer(source="document", help_text="What is proposed.")
    became = ProposedProjectSerializer(allow_null=True, help_text="What it was accepted as.")
    state = serializers.ChoiceField(choices=models.RequestState.choices)

    class Meta:
        model = models.ProjectProposal
        fields: ClassVar = [
            "id", "code", "project", "share", "became", "state", "asked_by", "asked_at", "reason", "decided_by",
            "decided_at", "decision_reason",
        ]  # fmt: skip


class NewProposalSerializer(ProjectFieldsSerializer):
    """The project that one would like to have, and why."""

    share = serializers.CharField(
        max_length=300,
        allow_blank=True,
        default="",
        help_text="Of which partitions it needs how much, in words.",
    )
    reason = fields.ReasonSerializerField()


class ProposalChangeSerializer(ProjectKeysSerializer):
    """The keys that are to be other than proposed; a list given replaces the whole list."""


class ProposalDecisionSerializer(serializers.Serializer):
    """An administrator accepts, perhaps changed, or rejects; whoever proposed it withdraws."""

    decision = serializers.ChoiceField(choices=[ACCEPT, REJECT, WITHDRAW])
    changes = ProposalChangeSerializer(required=False, help_text="Only with `accept`.")
    reason = fields.ReasonSerializerField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Changes go with `accept`, and with nothing else."""
        if attrs["decision"] != ACCEPT and "changes" in attrs:
            raise serializers.ValidationError({"changes": _("Go with accept, and only with it.")})
        return attrs


class ProposalFilter(FilterSet):
    """By state, code and who proposed it."""

    state = django_filters.ChoiceFilter(choices=models.RequestState.choices)

    class Meta:
        model = models.ProjectProposal
        fields: ClassVar = [
            "state", "code", "asked_by",
        ]  # fmt: skip


class Proposals(ApiViewSet):
    """Proposals, the newest first."""

    one = "One proposal."
    permission = Permission.PROJECT_VIEW
    queryset = models.ProjectProposal.objects.all()
    serializer_class = ProposalSerializer
    filterset_class = ProposalFilter

    def get_queryset(self) -> QuerySet[models.ProjectProposal]:
        """The own proposals, or all for who sees all projects, the newest first."""
        return selectors.visible_proposals(self.person).filter(cluster=self.cluster).order_by("-id")

    @extend_schema(request=NewProposalSerializer, responses={201: ProposalSerializer})
    def create(self, request: Request) -> Response:
        """Propose a project, for an administrator to accept or reject."""
        require_write(request, Permission.PROJECT_PROPOSE)
        values = self.sent(NewProposalSerializer)
        with changing():
            made = propose(
                person=self.person,
                cluster=self.cluster,
                data=services.ProjectData(**settings_from(values)),
                share=values["share"],
                by=By(self.person.username, values["reason"], self.request_id),
            )
        return Response(self.get_serializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ProposalDecisionSerializer, responses={200: ProposalSerializer})
    @action(detail=True, methods=["post"])
    def decision(self, request: Request, pk: int) -> Response:
        """Accept, perhaps changed, reject or withdraw. One that does not wait any more is a conflict (409)."""
        found = self.get_object()
        # Who may do nothing here is told so before what is wrong with the body.
        if found.asked_by != self.person.username:
            require_write(request, Permission.REQUEST_DECIDE)
        sent = self.sent(ProposalDecisionSerializer)
        by = By(self.person.username, sent["reason"], self.request_id)
        with changing():
            if sent["decision"] == WITHDRAW:
                take_back(proposal=found, by=by)
            else:
                require_write(request, Permission.REQUEST_DECIDE)
                if sent["decision"] == REJECT:
                    turn_down(proposal=found, by=by)
                else:
                    require_write(request, Permission.PROJECT_CREATE)
                    changes = settings_from(sent.get("changes", {}))
                    accept(proposal=found, data=replace(proposed_data(found), **changes), by=by)
        found.refresh_from_db()
        return Response(ProposalSerializer(found).data)


# --- Where a project's people and job names stand, and what became of its jobs.


class MemberLevelSerializer(fields.DataclassSerializer):
    """A member's level, 0 the highest, null unconfigured; where it came from, and the jobs that are there."""

    dataclass = MemberLevel


class PatternLevelSerializer(fields.DataclassSerializer):
    """The task level of a job whose name fits a pattern; `sample` is the name that was asked about."""

    dataclass = PatternLevel


class StandingSerializer(fields.DataclassSerializer):
    """The levels in one partition."""

    dataclass = PartitionStanding
    members = MemberLevelSerializer(many=True)
    patterns = PatternLevelSerializer(many=True)


class StandingsSerializer(serializers.Serializer):
    """The levels in each partition."""

    partitions = StandingSerializer(many=True)


class WaitsSerializer(fields.DataclassSerializer):
    """How long jobs waited, from submission on."""

    dataclass = ProjectWaits


class StoppedSerializer(serializers.Serializer):
    """Runs that were stopped, the work lost with them, and what checkpoints kept."""

    runs = serializers.IntegerField()
    work_lost = fields.WorkSerializer(source="lost")
    work_kept = fields.WorkSerializer(source="kept")


class ProjectWorkSerializer(serializers.Serializer):
    """What a project ran, waited, lost and gained. `helped`: jobs that started because others were stopped."""

    since = serializers.DateTimeField()
    ran = fields.WorkSerializer()
    ran_jobs = serializers.IntegerField()
    started = WaitsSerializer()
    waiting = WaitsSerializer()
    stopped = StoppedSerializer()
    helped = serializers.IntegerField()
    others_stopped = StoppedSerializer(source="others")


class OfProject(ApiView):
    """What hangs on a project: 404 for who may not see that."""

    permission = Permission.PROJECT_VIEW

    def project(self, code: str) -> models.Project:
        """The project of the address, if this account may see it."""
        return get_object_or_404(
            selectors.visible_projects(self.person).filter(cluster=self.cluster), code=code
        )


class ProjectLevels(OfProject):
    """A project's levels."""

    serializer_class = StandingsSerializer

    def get(self, request: Request, code: str) -> Response:
        """The levels of its members and task patterns in each partition, as the next cycle will find them."""
        found = {"partitions": project_levels(self.project(code))}
        return Response(StandingsSerializer(found).data)


class ProjectWorkView(OfProject):
    """A project's work."""

    serializer_class = ProjectWorkSerializer
    parameters: ClassVar = frozenset({"days"})

    @extend_schema(
        parameters=[
            OpenApiParameter("days", OpenApiTypes.INT, description=f"How far back, 1 to {MOST_DAYS}.")
        ]
    )
    def get(self, request: Request, code: str) -> Response:
        """What it ran, waited, lost by being stopped and gained in the last days."""
        found = project_work(self.project(code), days_asked(request, DAYS, MOST_DAYS))
        return Response(ProjectWorkSerializer(found).data)
