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
from console.api.changes import ReasonSerializerField, changing
from console.api.errors import ConflictError
from console.api.plans import PlanSerializer
from console.api.strict import valid
from console.api.work import WorkSerializer, work_data
from console.core.translate import resay
from console.steering import selectors
from console.steering.models import Plan
from console.steering.operations.approving import OutOfDateError, approve, reject
from console.steering.operations.differences import since_opened
from console.steering.operations.requests import request_of
from console.steering.operations.up_to_date import why_not_now
from console.steering.ways import VictimWay, count_of

APPROVE, REJECT = "approve", "reject"


class QuestionSerializer(serializers.Serializer):
    """What a person is asked. `seen` goes back with the answer: it stands for what was read."""

    asked = serializers.BooleanField(help_text="Whether the plan waits for somebody's decision.")
    seen = serializers.CharField()
    plans = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="The plans that are decided together: several for the tasks of one array.",
    )
    version = serializers.IntegerField(help_text="Of the first of these plans; it grows when it is renewed.")
    since_opened = serializers.ListField(
        child=serializers.CharField(), help_text="What has changed since the request was opened."
    )
    not_now = serializers.CharField(
        help_text="Why nothing can be approved at the moment although the request stands; else empty."
    )
    consequence = serializers.CharField(help_text="What approving it does, in one sentence.")
    stops = serializers.IntegerField(help_text="Jobs that approving it stops.")
    shrinks = serializers.IntegerField(
        help_text="Victims that give up a part and go on, among them workers of elastic jobs; no stops."
    )
    work_lost = WorkSerializer()
    changes = serializers.ListField(
        child=serializers.CharField(), help_text="Why approving it would be refused; empty when it would not."
    )


class DecisionSerializer(serializers.Serializer):
    """The answer. `seen` is the mark of what was read."""

    decision = serializers.ChoiceField(choices=[APPROVE, REJECT])
    seen = serializers.CharField(max_length=64)
    reason = ReasonSerializerField()
    instead = serializers.CharField(
        max_length=16,
        required=False,
        help_text="With `approve`: the `instead` of the alternative that is to be carried out.",
    )


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
        asked = request_of(self._plan())
        opened = since_opened(asked)
        return Response(
            {
                "asked": asked.lead.awaits_decision,
                "seen": asked.mark,
                "plans": [plan.pk for plan in asked.plans],
                "version": asked.lead.version,
                "since_opened": opened.sentences if opened else [],
                "not_now": "" if asked.possible else resay(asked.lead.not_now),
                "consequence": selectors.consequence(asked),
                "stops": count_of(asked.victims, VictimWay.STOP),
                "shrinks": count_of(asked.victims, VictimWay.WORKER, VictimWay.FEWER_NODES, VictimWay.PART),
                "work_lost": work_data(selectors.lost_by(*asked.shown)),
                "changes": why_not_now(asked),
            }
        )

    @extend_schema(
        request=DecisionSerializer, responses={200: PlanSerializer}, operation_id="plans_decision_create"
    )
    def post(self, request: Request, pk: int) -> Response:
        """Approve or reject the plan, and with it the others that it is asked about with.

        What is true now is carried out if it costs no more than what was read: not more jobs, none of a higher level,
        no more work. Else it is refused (409) with the difference; read again, and answer with the new `seen`.
        """
        plan = self._plan()
        require_write(request, Permission.PLAN_DECIDE, plan)
        sent = DecisionSerializer(data=request.data)
        valid(sent, self.serializer_class)
        values: dict[str, Any] = sent.validated_data
        answer: dict[str, Any] = {
            "actor": self.person.username,
            "plan": plan,
            "reason": values["reason"],
            "seen": values["seen"],
            "request_id": self.request_id,
        }
        try:
            with changing():
                if values["decision"] == REJECT:
                    done = reject(**answer)
                else:
                    done = approve(**answer, instead=values.get("instead", ""))
        except OutOfDateError as error:
            raise ConflictError(str(error)) from error
        return Response(PlanSerializer(done, context=self.get_serializer_context()).data)
