"""The rules for projects, and the urgencies that managers ask for: what the administrators set and decide."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.changes import ReasonSerializerField, VersionField, changing
from console.api.errors import ConflictError
from console.api.strict import valid
from console.projects.changing import (
    AlreadyDecidedError,
    change_rules,
    decide_request,
    rules_row,
    withdraw_request,
)
from console.projects.models import Project, ProjectRules, RequestState, UrgencyBy, UrgencyRequest
from console.projects.rulebook import (
    FLAGS,
    NUMBERS,
    ManagerLimits,
    Rules,
    SizeGrade,
    decode_rules,
    encode_rules,
)
from console.projects.selectors import visible_requests
from scheduler.priority.deadline import Schedule, UrgencyStep

DAYS: dict[str, Any] = {"min_value": 0, "max_value": 10**6}


class StepSerializer(serializers.Serializer):
    """From so many days before the deadline on, the urgency is at least this."""

    days_left = serializers.IntegerField(**DAYS)
    urgency = serializers.FloatField()


class RulesSerializer(serializers.Serializer):
    """The schedule of urgency, and what managers may do by themselves. A limit that is null does not bind."""

    steps = StepSerializer(many=True)
    hold_days = serializers.IntegerField(
        **DAYS, help_text="Days after the deadline for which the last step's urgency stays."
    )
    urgency_limit = serializers.FloatField(
        allow_null=True, help_text="A manager's urgency above it waits for an approval."
    )
    size_grade = serializers.ChoiceField(
        choices=[each.value for each in SizeGrade],
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

    version = VersionField()
    reason = ReasonSerializerField()


def rules_from(sent: dict[str, Any]) -> Rules:
    """What was sent, as the service takes it."""
    steps = tuple(UrgencyStep(step["days_left"], step["urgency"]) for step in sent["steps"])
    limits = {key: sent[key] for key in (*NUMBERS, *FLAGS)}
    return Rules(
        Schedule(steps, sent["hold_days"]), ManagerLimits(size_grade=SizeGrade(sent["size_grade"]), **limits)
    )


class RulesView(ApiView):
    """The rules for all projects of the installation."""

    permission = Permission.PROJECT_VIEW
    queryset = ProjectRules.objects.all()
    serializer_class = RulesInForceSerializer
    further_errors: ClassVar = {"PUT": {409}}

    @extend_schema(operation_id="project_rules_retrieve")
    def get(self, request: Request) -> Response:
        """The rules in force."""
        return self._answer(rules_row())

    @extend_schema(request=RulesChangeSerializer, operation_id="project_rules_update")
    def put(self, request: Request) -> Response:
        """Set all rules. They count from the next cycle on."""
        require_write(request, Permission.PROJECT_RULES)
        sent = RulesChangeSerializer(data=request.data)
        valid(sent, self.serializer_class)
        values: dict[str, Any] = sent.validated_data
        with changing():
            row = change_rules(
                actor=self.person.username,
                rules=rules_from(values),
                reason=values["reason"],
                version=values["version"],
                request_id=self.request_id,
            )
        return self._answer(row)

    def _answer(self, row: ProjectRules) -> Response:
        return Response({**encode_rules(decode_rules(row.document)), "version": row.version})


class RequestSerializer(serializers.ModelSerializer):
    """An urgency that a manager asked for, and what became of it."""

    project = serializers.CharField(source="project.code")
    urgency_by = serializers.ChoiceField(choices=UrgencyBy.choices)
    state = serializers.ChoiceField(choices=RequestState.choices)

    class Meta:
        model = UrgencyRequest
        fields: ClassVar = [
            "id", "project", "urgency", "urgency_by", "deadline", "state", "asked_by", "asked_at", "reason",
            "decided_by", "decided_at", "decision_reason",
        ]  # fmt: skip
        read_only_fields = fields


class RequestFilter(FilterSet):
    """By state and by project."""

    state = django_filters.ChoiceFilter(choices=RequestState.choices)
    project = django_filters.CharFilter(field_name="project__code")


class Requests:
    """What list, detail and decision share."""

    permission = Permission.PROJECT_VIEW
    queryset = UrgencyRequest.objects.all()
    serializer_class: Any = RequestSerializer
    person: Any
    cluster: Any

    def get_queryset(self) -> QuerySet[UrgencyRequest]:
        """The requests of the projects that this account may see, the newest first."""
        return visible_requests(self.person).filter(project__cluster=self.cluster).order_by("-id")


class RequestList(Requests, ApiList):
    """Requests, the newest first."""

    filterset_class = RequestFilter


class RequestDetail(Requests, ApiDetail):
    """One request."""


APPROVE, SHORTEN, REJECT, WITHDRAW = "approve", "shorten", "reject", "withdraw"


class RequestDecisionSerializer(serializers.Serializer):
    """An administrator approves, shortens or rejects; whoever may change the project withdraws."""

    decision = serializers.ChoiceField(choices=[APPROVE, SHORTEN, REJECT, WITHDRAW])
    until = serializers.DateField(
        required=False,
        help_text="Only with `shorten`: approved with this deadline, earlier than the one asked for.",
    )
    reason = ReasonSerializerField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A day goes with `shorten`, and with nothing else."""
        if (attrs["decision"] == SHORTEN) != ("until" in attrs):
            raise serializers.ValidationError({"until": _("Goes with shorten, and only with it.")})
        return attrs


class RequestDecision(Requests, ApiView):
    """The decision on a request."""

    further_errors: ClassVar = {"POST": {409}}

    @extend_schema(request=RequestDecisionSerializer, responses={200: RequestSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Approve, shorten, reject or withdraw. One that does not wait any more is a conflict (409)."""
        asked = self.get_object()
        sent = RequestDecisionSerializer(data=request.data)
        # Who may do nothing here is told so before what is wrong with the body.
        self._may_touch(asked.project)
        valid(sent, self.serializer_class)
        decision = sent.validated_data["decision"]
        told = {
            "actor": self.person.username,
            "request": asked,
            "reason": sent.validated_data["reason"],
            "request_id": self.request_id,
        }
        try:
            with changing():
                if decision == WITHDRAW:
                    require_write(request, Permission.PROJECT_CHANGE, asked.project)
                    done = withdraw_request(**told)
                else:
                    require_write(request, Permission.REQUEST_DECIDE)
                    until = sent.validated_data.get("until")
                    done = decide_request(approve=decision in (APPROVE, SHORTEN), until=until, **told)
        except AlreadyDecidedError as error:
            raise ConflictError(str(error)) from error
        return Response(RequestSerializer(done).data)

    def _may_touch(self, project: Project) -> None:
        if not self.person.has_perm(Permission.REQUEST_DECIDE):
            require_write(self.request, Permission.PROJECT_CHANGE, project)
