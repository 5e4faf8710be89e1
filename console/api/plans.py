"""Plans: who was stopped for whom, why, and what came of it."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.http import Http404
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.dataclasses import DataclassSerializer
from console.api.fields import AmountsByNodeField, AmountsSerializerField, EpochField, MomentFilter, SaidField
from console.api.work import WorkSerializer, work_data
from console.steering.approvals import shown_input, since_opened
from console.steering.models import Checkpoint, Plan, PlanKind, PlannedAction, PlanState, PlanVersion, Victim
from console.steering.requests import ApprovalRequest, mark_of_alternative
from console.steering.selectors import lost_by
from scheduler.model.actions import STOPPING
from scheduler.model.plan import PassedOver
from scheduler.model.policy import Enforcement


class VictimSerializer(serializers.Serializer):
    """A job that gives way, as it was when the plan was made. Only `job` and `how` are always there."""

    job = serializers.CharField()
    how = serializers.CharField(help_text="`requeue`, `cancel`, `nodes` or `swap`.")
    nodes = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="The nodes that it gives up and goes on."
    )
    gets = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="The nodes that it gets instead (`swap`)."
    )
    worker_of = serializers.CharField(
        required=False,
        help_text="The elastic job that gives it up as a worker, by its array or group, and goes on: no stop.",
    )
    name = serializers.CharField(required=False)
    user = serializers.CharField(required=False)
    started_at = EpochField(source="start", required=False, help_text="With `restarts` it names the run.")
    restarts = serializers.IntegerField(required=False)
    user_level = serializers.CharField(required=False)
    task_level = serializers.CharField(required=False)
    resources = serializers.CharField(required=False)
    amounts = AmountsSerializerField(required=False, help_text="What it held, as numbers.")
    ran_s = serializers.IntegerField(required=False, help_text="How long it had run, in seconds.")


class PassedOverSerializer(DataclassSerializer):
    """A running job that was looked at and left alone, and why (docs/reasons.md)."""

    dataclass = PassedOver
    reason = serializers.CharField()


class AlternativeSerializer(serializers.Serializer):
    """What else could be done, where a person is asked; not worked out for the others."""

    kind = serializers.CharField(help_text="`wait`, `other_order` (of victims) or `spare` (these victims).")
    possible = serializers.BooleanField(help_text="Whether the job would get room.")
    victims = VictimSerializer(many=True)
    nodes = serializers.ListField(child=serializers.CharField())
    explain = SaidField()
    order = serializers.CharField(required=False)
    starts_at = EpochField(required=False, help_text="When Slurm expected it to start by itself.")
    placement = AmountsByNodeField(required=False, help_text="The room that it would make.")
    instead = serializers.SerializerMethodField(
        help_text="Goes with a decision to approve this instead; empty when it cannot be."
    )

    @extend_schema_field(serializers.CharField())
    def get_instead(self, alternative: dict[str, Any]) -> str:
        """The mark of the alternative."""
        choosable = alternative["possible"] and alternative["victims"] and alternative.get("placement")
        return mark_of_alternative(alternative) if choosable else ""


class VersionSerializer(serializers.ModelSerializer):
    """What a plan that somebody is asked about asked for at a time: the first is what it was opened with."""

    victims = VictimSerializer(many=True, read_only=True)
    placement = AmountsByNodeField(read_only=True)
    ended = serializers.ListField(
        child=serializers.CharField(), help_text="Jobs of the version before it that had ended by then."
    )

    class Meta:
        model = PlanVersion
        fields: ClassVar = ["number", "at", "victims", "ended", "placement", "explain", "policy_revision"]
        read_only_fields = fields


class ActionSerializer(serializers.ModelSerializer):
    """One change to one run of a job, and what came of it."""

    run_started_at = EpochField(source="run_start")

    class Meta:
        model = PlannedAction
        fields: ClassVar = [
            "kind",
            "state",
            "order",
            "job_id",
            "run_started_at",
            "run_restarts",
            "job_name",
            "user",
            "value",
            "not_before",
            "attempts",
            "issued_at",
            "verified_at",
            "outcome",
            "detail",
        ]
        read_only_fields = fields


class PlanCheckpointSerializer(serializers.ModelSerializer):
    """A job that was asked to save its state before it is stopped, and what it answered."""

    class Meta:
        model = Checkpoint
        fields: ClassVar = ["job_id", "asked_at", "acknowledged_at", "via", "saved", "resumed_at"]
        read_only_fields = fields


class FateSerializer(serializers.ModelSerializer):
    """What became of a run that was sent a signal or a stop. `open`: not known yet; the plan is not over then."""

    run_started_at = EpochField(source="run_start")

    class Meta:
        model = Victim
        fields: ClassVar = ["job_id", "run_started_at", "run_restarts", "user", "fate", "words", "sent_at"]
        read_only_fields = fields


class PlanTaskSerializer(serializers.Serializer):
    """A task of an array that gets room together with others. `seen`: `started`, `elsewhere` (on a node on which no
    room was made) or `gone`; empty while it waits."""

    job = serializers.CharField()
    restarts = serializers.IntegerField()
    node = serializers.CharField()
    seen = serializers.CharField(allow_blank=True)


class PlanSerializer(serializers.ModelSerializer):
    """A plan from the decision to the proof that its beneficiary runs: `job_id`, or several `tasks` of an array, of
    which that is the first."""

    cycle = serializers.IntegerField(source="cycle.number", read_only=True)
    placement = AmountsByNodeField(read_only=True, help_text="The room that is set aside.")
    tasks = PlanTaskSerializer(many=True, read_only=True)
    victims = VictimSerializer(many=True, read_only=True)
    passed_over = PassedOverSerializer(many=True, read_only=True)
    alternatives = AlternativeSerializer(many=True, read_only=True)
    versions = VersionSerializer(many=True, read_only=True)
    since_opened = serializers.SerializerMethodField()
    work_lost = serializers.SerializerMethodField()
    actions = ActionSerializer(many=True, read_only=True)
    checkpoints = PlanCheckpointSerializer(many=True, read_only=True)
    fates = FateSerializer(many=True, read_only=True)

    class Meta:
        model = Plan
        fields: ClassVar = [
            "id",
            "partition",
            "kind",
            "state",
            "enforcement",
            "mode",
            "job_id",
            "job_restarts",
            "job_name",
            "user",
            "reason",
            "explain",
            "placement",
            "tasks",
            "victims",
            "passed_over",
            "alternatives",
            "version",
            "versions",
            "since_opened",
            "not_now",
            "work_lost",
            "actions",
            "checkpoints",
            "fates",
            "cycle",
            "policy_revision",
            "created_at",
            "deadline",
            "started_at",
            "ended_at",
            "outcome",
            "undo_reason",
            "decided_by",
            "decided_at",
            "decision_reason",
            "decided_version",
            "chosen",
        ]
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_since_opened(self, plan: Plan) -> list[str]:
        """What has changed of what it asks for since it was opened, in sentences."""
        changed = since_opened(ApprovalRequest((plan,)))
        return changed.sentences if changed else []

    @extend_schema_field(WorkSerializer)
    def get_work_lost(self, plan: Plan) -> dict[str, Any]:
        """What its victims had done, when it was made or, while somebody is asked, until now."""
        return work_data(lost_by(plan))


class PlanFilter(FilterSet):
    """By what the plan is about and how far it is."""

    partition = django_filters.CharFilter()
    state = django_filters.MultipleChoiceFilter(
        choices=PlanState.choices, label="Several may be given: state=proposed&state=executing."
    )
    kind = django_filters.ChoiceFilter(choices=PlanKind.choices)
    enforcement = django_filters.ChoiceFilter(choices=[(e.value, e.value) for e in Enforcement])
    job_id = django_filters.CharFilter(label="The beneficiary.")
    stopped = django_filters.CharFilter(method="stops", label="A job that the plan was carried out on.")
    user = django_filters.CharFilter(label="The beneficiary's user.")
    cycle = django_filters.NumberFilter(field_name="cycle__number")
    since = MomentFilter(field_name="created_at", lookup_expr="gte")
    until = MomentFilter(field_name="created_at", lookup_expr="lt")
    ordering = django_filters.OrderingFilter(
        fields=(("id", "id"), ("ended_at", "ended_at"), ("partition", "partition"), ("job_id", "job_id"))
    )

    def stops(self, plans: QuerySet[Plan], name: str, value: str) -> QuerySet[Plan]:
        """Plans with a stopping action on the job; what was only proposed has stopped nobody."""
        actions = PlannedAction.objects.filter(job_id=value, kind__in=STOPPING)
        return plans.filter(pk__in=actions.values("plan_id"))


class Plans:
    """What list and detail share."""

    permission = Permission.PLAN_VIEW
    queryset = Plan.objects.all()
    serializer_class = PlanSerializer
    cluster: Any

    def get_queryset(self) -> QuerySet[Plan]:
        """The plans of this cluster with what is shown of them; the snapshots stay where they are."""
        plans = Plan.objects.filter(cluster=self.cluster).select_related("cycle")
        return plans.prefetch_related("actions", "checkpoints", "fates", "versions").order_by("-id")


class PlanList(Plans, ApiList):
    """Plans, the latest first."""

    filterset_class = PlanFilter


class PlanDetail(Plans, ApiDetail):
    """One plan."""


class PlanSnapshot(ApiView):
    """What a plan was decided on."""

    permission = Permission.PLAN_VIEW
    queryset = Plan.objects.all()

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="plans_snapshot_retrieve")
    def get(self, request: Request, pk: int) -> Response:
        """The decision's input as contract A has it: `python -m scheduler plan` decides it again.

        Who may not see the policy gets it without the policy's values; `hidden` names what was left out.
        """
        plan = Plan.objects.filter(cluster=self.cluster, pk=pk).select_related("stored_snapshot").first()
        if plan is None or plan.stored_snapshot is None:
            raise Http404
        return Response(shown_input(self.person, plan))
