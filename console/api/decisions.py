"""A person's decision on a plan: what is asked, and the answer."""

from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.changes import ReasonField, changing
from console.api.errors import ConflictError
from console.api.plans import PlanSerializer
from console.api.strict import valid
from console.api.work import WorkSerializer, work_data
from console.steering import selectors
from console.steering.models import Plan
from console.steering.people.approving import (
    OutOfDateError,
    approve,
    awaits_decision,
    mark_of,
    reject,
    what_changed,
)

APPROVE, REJECT = "approve", "reject"


class QuestionSerializer(serializers.Serializer):
    """What a person is asked. `seen` goes back with the answer: it stands for exactly these victims, rules and room."""

    asked = serializers.BooleanField(help_text="Whether the plan waits for somebody's decision.")
    seen = serializers.CharField()
    consequence = serializers.CharField(help_text="What approving it does, in one sentence.")
    work_lost = WorkSerializer()
    changes = serializers.ListField(
        child=serializers.CharField(), help_text="Why approving it would be refused; empty when it would not."
    )


class DecisionSerializer(serializers.Serializer):
    """The answer. `seen` is the mark of the plan that was looked at."""

    decision = serializers.ChoiceField(choices=[APPROVE, REJECT])
    seen = serializers.CharField(max_length=64)
    reason = ReasonField()


class PlanDecision(ApiView):
    """One plan's decision."""

    permission = Permission.PLAN_VIEW
    queryset = Plan.objects.all()
    serializer_class = QuestionSerializer
    further_errors: ClassVar = {"POST": {409}}

    def _plan(self) -> Plan:
        rows = Plan.objects.filter(cluster=self.cluster).select_related("cluster", "cycle")
        plan = rows.filter(pk=self.kwargs["pk"]).first()
        if plan is None:
            raise Http404
        return plan

    @extend_schema(operation_id="plans_decision_retrieve")
    def get(self, request: Request, pk: int) -> Response:
        """What is asked about the plan, and whether it is still up to date."""
        plan = self._plan()
        return Response(
            {
                "asked": awaits_decision(plan),
                "seen": mark_of(plan),
                "consequence": selectors.consequence(plan),
                "work_lost": work_data(selectors.lost_by(plan)),
                "changes": what_changed(plan),
            }
        )

    @extend_schema(
        request=DecisionSerializer, responses={200: PlanSerializer}, operation_id="plans_decision_create"
    )
    def post(self, request: Request, pk: int) -> Response:
        """Approve or reject the plan. One that is out of date is refused (409) with what changed."""
        plan = self._plan()
        require_write(request, Permission.PLAN_DECIDE, plan)
        sent = DecisionSerializer(data=request.data)
        valid(sent, self.serializer_class)
        values: dict[str, Any] = sent.validated_data
        decide = approve if values["decision"] == APPROVE else reject
        try:
            with changing():
                done = decide(
                    actor=self.person.username,
                    plan=plan,
                    reason=values["reason"],
                    seen=values["seen"],
                    request_id=self.request_id,
                )
        except OutOfDateError as error:
            raise ConflictError(str(error)) from error
        return Response(PlanSerializer(done, context=self.get_serializer_context()).data)
