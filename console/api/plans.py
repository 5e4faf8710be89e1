"""Plans: who was stopped for whom, why, and what came of it."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api import fields
from console.api.base import ApiView, ApiViewSet, changing
from console.core.translate import resay
from console.partitions.models import Partition
from console.steering import models, pausing, selectors
from console.steering.approvals import approve, reject, shown_input, since_opened, why_not_now
from console.steering.requests import ApprovalRequest, close_incident, mark_of_alternative, request_of
from console.steering.selectors import lost_by
from console.steering.sentences import VictimWay, count_of
from scheduler.model.actions import STOPPING
from scheduler.model.plan import PassedOver
from scheduler.model.policy import Enforcement


class VictimSerializer(serializers.Serializer):
    """A job that gives way, as it was when the plan was made. Only `job` and `how` are always there."""

    job = serializers.CharField()
    how = serializers.CharField(help_text="`requeue`, `cancel`, `nodes` or `swap`.")
    nodes = fields.NamesField(required=False, help_text="The nodes that it gives up and goes on.")
    gets = fields.NamesField(required=False, help_text="The nodes that it gets instead (`swap`).")
    worker_of = serializers.CharField(
        required=False,
        help_text="The elastic job that gives it up as a worker, by its array or group, and goes on: no stop.",
    )
    name = serializers.CharField(required=False)
    user = serializers.CharField(required=False)
    started_at = fields.EpochField(
        source="start", required=False, help_text="With `restarts` it names the run."
    )
    restarts = serializers.IntegerField(required=False)
    user_level = serializers.CharField(required=False)
    task_level = serializers.CharField(required=False)
    resources = serializers.CharField(required=False)
    amounts = fields.AmountsSerializerField(required=False, help_text="What it held, as numbers.")
    ran_s = serializers.IntegerField(required=False, help_text="How long it had run, in seconds.")


class PassedOverSerializer(fields.DataclassSerializer):
    """A running job that was looked at and left alone, and why (docs/reasons.md)."""

    dataclass = PassedOver
    reason = serializers.CharField()


class AlternativeSerializer(serializers.Serializer):
    """What else could be done, where a person is asked; not worked out for the others."""

    kind = serializers.CharField(help_text="`wait`, `other_order` (of victims) or `spare` (these victims).")
    possible = serializers.BooleanField(help_text="Whether the job would get room.")
    victims = VictimSerializer(many=True)
    nodes = fields.NamesField()
    explain = fields.SaidField()
    order = serializers.CharField(required=False)
    starts_at = fields.EpochField(required=False, help_text="When Slurm expected it to start by itself.")
    placement = fields.AmountsByNodeField(required=False, help_text="The room that it would make.")
    instead = serializers.SerializerMethodField(
        help_text="Goes with a decision to approve this instead; empty when it cannot be."
    )

    @extend_schema_field(serializers.CharField())
    def get_instead(self, alternative: dict[str, Any]) -> str:
        """The mark of the alternative."""
        choosable = alternative["possible"] and alternative["victims"] and alternative.get("placement")
        return mark_of_alternative(alternative) if choosable else ""


class VersionSerializer(fields.RowSerializer):
    """What a plan that somebody is asked about asked for at a time: the first is what it was opened with."""

    victims = VictimSerializer(many=True, read_only=True)
    placement = fields.AmountsByNodeField(read_only=True)
    ended = fields.NamesField(help_text="Jobs of the version before it that had ended by then.")

    class Meta:
        model = models.PlanVersion
        fields: ClassVar = ["number", "at", "victims", "ended", "placement", "explain", "policy_revision"]


class ActionSerializer(fields.RowSerializer):
    """One change to one run of a job, and what came of it."""

    run_started_at = fields.EpochField(source="run_start")

    class Meta:
        model = models.PlannedAction
        fields: ClassVar = [
            "kind", "state", "order", "job_id", "run_started_at", "run_restarts", "job_name", "user", "value",
            "not_before", "attempts", "issued_at", "verified_at", "outcome", "detail",
        ]  # fmt: skip


class PlanCheckpointSerializer(fields.RowSerializer):
    """A job that was asked to save its state before it is stopped, and what it answered."""

    class Meta:
        model = models.Checkpoint
        fields: ClassVar = ["job_id", "asked_at", "acknowledged_at", "via", "saved", "resumed_at"]


class FateSerializer(fields.RowSerializer):
    """What became of a run that was sent a signal or a stop. `open`: not known yet; the plan is not over then."""

    run_started_at = fields.EpochField(source="run_start")

    class Meta:
        model = models.Victim
        fields: ClassVar = ["job_id", "run_started_at", "run_restarts", "user", "fate", "words", "sent_at"]


class PlanTaskSerializer(serializers.Serializer):
    """A task of an array that gets room together with others. `seen`: `started`, `elsewhere` (on a node on which no
    room was made) or `gone`; empty while it waits."""

    job = serializers.CharField()
    restarts = serializers.IntegerField()
    node = serializers.CharField()
    seen = serializers.CharField(allow_blank=True)


class PlanSerializer(fields.RowSerializer):
    """A plan from the decision to the proof that its beneficiary runs: `job_id`, or several `tasks` of an array, of
    which that is the first."""

    cycle = serializers.IntegerField(source="cycle.number", read_only=True)
    placement = fields.AmountsByNodeField(read_only=True, help_text="The room that is set aside.")
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
        model = models.Plan
        fields: ClassVar = [
            "id", "partition", "kind", "state", "enforcement", "mode", "job_id", "job_restarts", "job_name",
            "user", "reason", "explain", "placement", "tasks", "victims", "passed_over", "alternatives",
            "version", "versions", "since_opened", "not_now", "work_lost", "actions", "checkpoints", "fates",
            "cycle", "policy_revision", "created_at", "deadline", "started_at", "ended_at", "outcome",
            "undo_reason", "decided_by", "decided_at", "decision_reason", "decided_version", "chosen",
        ]  # fmt: skip

    @extend_schema_field(fields.NamesField())
    def get_since_opened(self, plan: models.Plan) -> list[str]:
        """What has changed of what it asks for since it was opened, in sentences."""
        changed = since_opened(ApprovalRequest((plan,)))
        return changed.sentences if changed else []

    @extend_schema_field(fields.WorkSerializer)
    def get_work_lost(self, plan: models.Plan) -> dict[str, Any]:
        """What its victims had done, when it was made or, while somebody is asked, until now."""
        return fields.work_data(lost_by(plan))


class PlanFilter(FilterSet):
    """By what the plan is about and how far it is."""

    partition = django_filters.CharFilter()
    state = django_filters.MultipleChoiceFilter(
        choices=models.PlanState.choices, label="Several may be given: state=proposed&state=executing."
    )
    kind = django_filters.ChoiceFilter(choices=models.PlanKind.choices)
    enforcement = django_filters.ChoiceFilter(choices=[(e.value, e.value) for e in Enforcement])
    job_id = django_filters.CharFilter(label="The beneficiary.")
    stopped = django_filters.CharFilter(method="stops", label="A job that the plan was carried out on.")
    user = django_filters.CharFilter(label="The beneficiary's user.")
    cycle = django_filters.NumberFilter(field_name="cycle__number")
    since = fields.MomentFilter(field_name="created_at", lookup_expr="gte")
    until = fields.MomentFilter(field_name="created_at", lookup_expr="lt")
    ordering = django_filters.OrderingFilter(fields=["id", "ended_at", "partition", "job_id"])

    def stops(self, plans: QuerySet[models.Plan], name: str, value: str) -> QuerySet[models.Plan]:
        """Plans with a stopping action on the job; what was only proposed has stopped nobody."""
        actions = models.PlannedAction.objects.filter(job_id=value, kind__in=STOPPING)
        return plans.filter(pk__in=actions.values("plan_id"))


# --- A person's decision on a plan: what is asked, and the answer.

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
    since_opened = fields.NamesField(help_text="What has changed since the request was opened.")
    not_now = serializers.CharField(
        help_text="Why nothing can be approved at the moment although the request stands; else empty."
    )
    consequence = serializers.CharField(help_text="What approving it does, in one sentence.")
    stops = serializers.IntegerField(help_text="Jobs that approving it stops.")
    shrinks = serializers.IntegerField(
        help_text="Victims that give up a part and go on, among them workers of elastic jobs; no stops."
    )
    work_lost = fields.WorkSerializer()
    changes = fields.NamesField(help_text="Why approving it would be refused; empty when it would not.")


class DecisionSerializer(serializers.Serializer):
    """The answer. `seen` is the mark of what was read."""

    decision = serializers.ChoiceField(choices=[APPROVE, REJECT])
    seen = serializers.CharField(max_length=64)
    reason = fields.ReasonSerializerField()
    instead = serializers.CharField(
        max_length=16,
        required=False,
        help_text="With `approve`: the `instead` of the alternative that is to be carried out.",
    )


class Plans(ApiViewSet):
    """Plans, the latest first."""

    one = "One plan."
    permission = Permission.PLAN_VIEW
    queryset = models.Plan.objects.all()
    serializer_class = PlanSerializer
    filterset_class = PlanFilter

    def get_queryset(self) -> QuerySet[models.Plan]:
        """The plans of this cluster with what is shown of them; the snapshots stay where they are."""
        plans = models.Plan.objects.filter(cluster=self.cluster).select_related("cycle")
        return plans.prefetch_related("actions", "checkpoints", "fates", "versions").order_by("-id")

    def _plan(self, *beside: str) -> models.Plan:
        rows = models.Plan.objects.filter(cluster=self.cluster).select_related("cluster", *beside)
        return get_object_or_404(rows, pk=self.kwargs["pk"])

    @extend_schema(responses=OpenApiTypes.OBJECT)
    @action(detail=True)
    def snapshot(self, request: Request, pk: int) -> Response:
        """The decision's input as contract A has it: `python -m scheduler plan` decides it again.

        Who may not see the policy gets it without the policy's values; `hidden` names what was left out.
        """
        plan = self._plan("stored_snapshot")
        if plan.stored_snapshot is None:
            raise Http404
        return Response(shown_input(self.person, plan))

    @extend_schema(responses=QuestionSerializer)
    @action(detail=True)
    def decision(self, request: Request, pk: int) -> Response:
        """What is asked about the plan, and whether it is still up to date."""
        asked = request_of(self._plan("cycle"))
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
                "work_lost": fields.work_data(selectors.lost_by(*asked.shown)),
                "changes": why_not_now(asked),
            }
        )

    @extend_schema(request=DecisionSerializer, responses={200: PlanSerializer})
    @decision.mapping.post
    def decide(self, request: Request, pk: int) -> Response:
        """Approve or reject the plan, and with it the others that it is asked about with.

        What is true now is carried out if it costs no more than what was read: not more jobs, none of a higher level,
        no more work. Else it is refused (409) with the difference; read again, and answer with the new `seen`.
        """
        plan = self._plan("cycle")
        require_write(request, Permission.PLAN_DECIDE, plan)
        sent = self.sent(DecisionSerializer, QuestionSerializer)
        answer: dict[str, Any] = {"plan": plan, "reason": sent["reason"], "seen": sent["seen"], **self.by}
        with changing():
            if sent["decision"] == REJECT:
                done = reject(**answer)
            else:
                done = approve(**answer, instead=sent.get("instead", ""))
        return Response(PlanSerializer(done, context=self.get_serializer_context()).data)


# --- Incidents: jobs that were stopped and did not come back; and closing one.


class IncidentSerializer(fields.RowSerializer):
    """A job that was stopped by `plan` for `beneficiary` and did not come back. Open while `closed_at` is null."""

    run_started_at = fields.EpochField(source="victim.run_start")
    run_restarts = serializers.IntegerField(source="victim.run_restarts", read_only=True)

    class Meta:
        model = models.Incident
        fields: ClassVar = [
            "id", "partition", "kind", "job_id", "job_name", "user", "run_started_at", "run_restarts", "plan",
            "beneficiary", "words", "opened_at", "counts", "closed_at", "closed_by", "close_reason",
        ]  # fmt: skip


class CloseSerializer(fields.ReasonSerializer):
    """Why it need not be shown any more."""


class IncidentFilter(FilterSet):
    """By where, whose, and whether it is open."""

    user = django_filters.CharFilter(label="The job's user.")
    kind = django_filters.ChoiceFilter(choices=models.IncidentKind.choices)
    open = django_filters.BooleanFilter(field_name="closed_at", lookup_expr="isnull")
    since = fields.MomentFilter(field_name="opened_at", lookup_expr="gte")
    until = fields.MomentFilter(field_name="opened_at", lookup_expr="lt")

    class Meta:
        model = models.Incident
        fields: ClassVar = [
            "partition", "job_id", "user", "plan", "kind", "open", "since", "until",
        ]  # fmt: skip


class Incidents(ApiViewSet):
    """Incidents, the latest first."""

    one = "One incident."
    permission = Permission.PLAN_VIEW
    queryset = models.Incident.objects.all()
    serializer_class = IncidentSerializer
    filterset_class = IncidentFilter

    def get_queryset(self) -> QuerySet[models.Incident]:
        """The incidents of this cluster."""
        rows = models.Incident.objects.filter(cluster=self.cluster)
        return rows.select_related("victim", "cluster").order_by("-id")

    @extend_schema(request=CloseSerializer, responses={200: IncidentSerializer})
    @action(detail=True, methods=["post"])
    def close(self, request: Request, pk: int) -> Response:
        """Say why it need not be shown any more. Closed already, it stays as it was closed first."""
        incident = self.get_object()
        require_write(request, Permission.INCIDENT_CLOSE, incident)
        sent = self.sent(CloseSerializer)
        with changing():
            close_incident(incident=incident, **sent, **self.by)
        return Response(self.get_serializer(self.get_object()).data)


# --- The switch: pause a partition or everything, see what is paused, resume.


class PauseSerializer(serializers.Serializer):
    """Who paused what, since when and why."""

    partition = serializers.CharField(help_text="Empty: everything.")
    by = serializers.CharField()
    since = serializers.DateTimeField()
    reason = fields.SaidField()


class PausedSerializer(serializers.Serializer):
    """While `paused`, nobody is stopped. `pauses` are why: the partition's own, and that of everything."""

    paused = serializers.BooleanField()
    pauses = PauseSerializer(many=True)


class EverythingSerializer(PausedSerializer):
    """`paused` and `pauses` are about everything; `partitions` are those that are paused for themselves."""

    partitions = PauseSerializer(many=True)


class PauseReasonSerializer(serializers.Serializer):
    """Why, if somebody wants to say it."""

    reason = fields.ReasonSerializerField(required=False, allow_blank=True, default="")


class Switch(ApiView):
    """What both switches share."""

    permission = Permission.PARTITION_VIEW

    def _set(self, partition: Partition | None) -> None:
        told = self._by(partition)
        pausing.pause(**told, **self.sent(PauseReasonSerializer))

    def _lift(self, partition: Partition | None) -> Response:
        pausing.resume(**self._by(partition))
        return Response(status=204)

    def _by(self, partition: Partition | None) -> dict[str, Any]:
        """For who may pull the switch."""
        wanted = Permission.PAUSE_PARTITION if partition else Permission.PAUSE_ALL
        require_write(self.request, wanted, partition)
        return {"cluster": self.cluster, "partition": partition, **self.by}

    def _pauses(self) -> dict[str, models.Pause]:
        return {pause.partition: pause for pause in pausing.pauses_shown(self.cluster.name)}


class PauseAll(Switch):
    """The switch of the whole installation."""

    serializer_class = EverythingSerializer

    def get(self, request: Request) -> Response:
        """What is paused."""
        return self._answer()

    @extend_schema(operation_id="pause_set", request=PauseReasonSerializer)
    def put(self, request: Request) -> Response:
        """Stop nobody anywhere from the next cycle on. What is paused already stays as it was paused first."""
        self._set(None)
        return self._answer()

    @extend_schema(operation_id="pause_lift")
    def delete(self, request: Request) -> Response:
        """Lift the pause of everything; partitions that are paused for themselves stay so."""
        return self._lift(None)

    def _answer(self) -> Response:
        pauses = self._pauses()
        whole = pauses.pop(pausing.EVERYWHERE, None)
        pages = {"paused": whole is not None, "pauses": [whole] if whole else []}
        return Response(EverythingSerializer({**pages, "partitions": list(pauses.values())}).data)


class PartitionPause(Switch):
    """The switch of one partition."""

    serializer_class = PausedSerializer

    def get(self, request: Request, name: str) -> Response:
        """Whether anybody may be stopped in the partition."""
        return self._answer(self.partition_shown())

    @extend_schema(operation_id="partitions_pause_set", request=PauseReasonSerializer)
    def put(self, request: Request, name: str) -> Response:
        """Stop nobody in the partition from the next cycle on. What is paused already stays as it was paused first."""
        partition = self.partition_shown()
        self._set(partition)
        return self._answer(partition)

    @extend_schema(operation_id="partitions_pause_lift")
    def delete(self, request: Request, name: str) -> Response:
        """Lift the partition's own pause; that of everything stays."""
        return self._lift(self.partition_shown())

    def _answer(self, partition: Partition) -> Response:
        pauses = self._pauses()
        found = [pauses[name] for name in (pausing.EVERYWHERE, partition.name) if name in pauses]
        return Response(PausedSerializer({"paused": bool(found), "pauses": found}).data)
