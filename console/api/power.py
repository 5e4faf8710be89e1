"""Compute power: figures in force, figures that people know, and what a measurement tells by its token."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.authentication import AddressThrottle
from console.api.base import PAGES, ApiList, ApiView, changing
from console.api.errors import ConflictError
from console.api.fields import ReasonSerializer, ReasonSerializerField, RowSerializer
from console.audit.services import Context
from console.partitions.models import Partition
from console.power import deciding, services
from console.power.causes import NewDriver
from console.power.figures import NewReading
from console.power.incidents import incidents_of
from console.power.losses import visible_losses
from console.power.models import DrainState, Measurement, MeasuringRule, PowerIncident, Processor, Source
from console.power.overview import power_of
from console.power.selectors import nodes_of, processors_of
from console.power.tokens import BadMeasurementTokenError, read_token


class ProcessorSerializer(RowSerializer):
    """A processor's figure in force: the median of its last three readings, in seconds; less is faster."""

    class Meta:
        model = Processor
        fields: ClassVar = [
            "node", "resource", "device", "figure", "before", "readings", "source", "taken_at", "driver", "firmware",
        ]  # fmt: skip


class FigureSerializer(serializers.Serializer):
    """What somebody knows of one processor."""

    node = serializers.CharField(max_length=64)
    resource = serializers.CharField(max_length=64)
    device = serializers.IntegerField(min_value=0, max_value=10_000, default=0)
    seconds = serializers.FloatField(help_text="How long the benchmark takes on it.")


class FiguresSerializer(serializers.Serializer):
    """Figures to put in force, all or none of them."""

    figures = FigureSerializer(many=True, allow_empty=False)
    reason = serializers.CharField(max_length=1000)


class MeasurementResultSerializer(serializers.Serializer):
    """What a measurement tells of one processor: its `seconds`, or why it `failed`; or it `asks` whether to go on."""

    token = serializers.CharField(max_length=2000)
    device = serializers.IntegerField(min_value=0, max_value=10_000)
    seconds = serializers.FloatField(required=False, min_value=1e-9, max_value=1e9)
    failed = serializers.CharField(required=False, max_length=300)
    asks = serializers.BooleanField(required=False, help_text="True while the benchmark runs.")
    driver = serializers.CharField(required=False, max_length=60, allow_blank=True, default="")
    firmware = serializers.CharField(required=False, max_length=60, allow_blank=True, default="")


class GoOnSerializer(serializers.Serializer):
    """Whether the measurement is to go on: with its next processor, or with the one that it is at."""

    go_on = serializers.BooleanField()


class PowerOfPartition(ApiView):
    """Something about a partition's compute power: to be seen with it, and changed with its policy."""

    permission = Permission.PARTITION_VIEW

    def writable(self) -> Partition:
        """The partition, if this person may change it."""
        partition = self.partition_shown()
        require_write(self.request, Permission.POLICY_CHANGE, partition)
        return partition

    @property
    def by(self) -> dict[str, Any]:
        """Who changes something, and where it comes from."""
        return {"actor": self.person.username, "context": Context(request_id=self.request_id)}


class PowerView(PowerOfPartition, ApiList):
    """The compute power of a partition's processors."""

    serializer_class = ProcessorSerializer

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The figures in force, by node and device."""
        return self.paged(processors_of(self.partition_shown()))

    @extend_schema(request=FiguresSerializer, responses={200: ProcessorSerializer(many=True)})
    def post(self, request: Request, name: str) -> Response:
        """Put figures in force that are known from elsewhere. What was measured before does not count any more."""
        partition = self.writable()
        sent = self.sent(FiguresSerializer, FiguresSerializer)
        told = [NewReading(**row) for row in sent["figures"]]
        try:
            changed = services.set_figures(partition, told, Source.IMPORTED, reason=sent["reason"], **self.by)
        except DjangoValidationError as error:
            raise ValidationError({"figures": error.messages}) from error
        return Response(ProcessorSerializer(changed, many=True).data)


class MeasuringRuleSerializer(serializers.ModelSerializer):
    """How a partition's processors are measured."""

    class Meta:
        model = MeasuringRule
        fields: ClassVar = ["enabled", "resource", "at_most", "every_days", "limit_s"]


class ChangedRuleSerializer(serializers.Serializer):
    """A rule with the reason for it."""

    enabled = serializers.BooleanField()
    resource = serializers.CharField(max_length=64)
    at_most = serializers.IntegerField(min_value=1, max_value=1000)
    every_days = serializers.IntegerField(min_value=1, max_value=3650)
    limit_s = serializers.IntegerField(min_value=60, max_value=86_400)
    reason = serializers.CharField(max_length=1000)


class RuleView(PowerOfPartition):
    """How a partition is measured."""

    serializer_class = MeasuringRuleSerializer

    def get(self, request: Request, name: str) -> Response:
        """The rule in force."""
        return Response(MeasuringRuleSerializer(services.rule_of(self.partition_shown())).data)

    @extend_schema(request=ChangedRuleSerializer, responses={200: MeasuringRuleSerializer})
    def put(self, request: Request, name: str) -> Response:
        """Change it."""
        partition = self.writable()
        values = self.sent(ChangedRuleSerializer, ChangedRuleSerializer)
        reason = values.pop("reason")
        rule = services.change_rule(partition, values, reason=reason, **self.by)
        return Response(MeasuringRuleSerializer(rule).data)


class MeasurementSerializer(RowSerializer):
    """A measurement of one node, or the wish for one."""

    class Meta:
        model = Measurement
        fields: ClassVar = [
            "node", "resource", "devices", "state", "cause", "asked_by", "asked_at", "job_id", "submitted_at",
            "ended_at", "outcome",
        ]  # fmt: skip


class MeasureNowSerializer(serializers.Serializer):
    """Which nodes to measure; none: all of them."""

    nodes = serializers.ListField(child=serializers.CharField(max_length=64), required=False, default=list)


class MeasureNowView(PowerOfPartition, ApiList):
    """Measurements of a partition."""

    serializer_class = MeasurementSerializer

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Those that are wished for or under way, and the latest that are over."""
        shown = power_of(self.partition_shown())
        return self.paged([*shown.open, *shown.latest])

    @extend_schema(request=MeasureNowSerializer, responses={200: MeasurementSerializer(many=True)})
    def post(self, request: Request, name: str) -> Response:
        """Measure nodes as soon as they are idle."""
        partition = self.writable()
        sent = self.sent(MeasureNowSerializer, MeasureNowSerializer)
        wanted, known = sent["nodes"], {node.name: node for node in nodes_of(partition)}
        strange = [each for each in wanted if each not in known]
        if strange:
            said = _("%(node)s: the partition has no such node.")
            raise ValidationError({"nodes": [said % {"node": each} for each in strange]})
        chosen = [known[each] for each in wanted] or list(known.values())
        try:
            asked = services.ask_now(partition, chosen, **self.by)
        except DjangoValidationError as error:
            raise ConflictError(" ".join(error.messages)) from error
        return Response(MeasurementSerializer(asked, many=True).data)


class MeasurementThrottle(AddressThrottle):
    """By where it comes from: a measurement tells a few times within minutes."""


class MeasurementView(ApiView):
    """The results of measurements."""

    serializer_class = GoOnSerializer
    permission_classes: ClassVar[Any] = [AllowAny]
    throttle_classes: ClassVar[Any] = [MeasurementThrottle]
    throttle_scope = "measurement"

    @extend_schema(request=MeasurementResultSerializer, responses={200: GoOnSerializer})
    def post(self, request: Request) -> Response:
        """Tell what was measured, by the measurement's own token: each processor once. Or ask whether to go on."""
        data = self.sent(MeasurementResultSerializer, MeasurementResultSerializer)
        if sum(("seconds" in data, "failed" in data, data.get("asks", False))) != 1:
            raise ValidationError({"seconds": [_("Tell either seconds or why it failed, or ask.")]})
        with transaction.atomic():
            go_on = self._tell(data)
        return Response({"go_on": go_on})

    def _tell(self, data: dict[str, Any]) -> bool:
        try:
            key = read_token(data["token"])
        except BadMeasurementTokenError as error:
            raise ValidationError({"token": [str(error)]}) from error
        found = Measurement.objects.filter(pk=key, cluster=self.cluster).select_related("cluster").first()
        if found is None:
            raise services.AlreadyToldError(_("This measurement is not known any more."))
        if data.get("asks"):
            return services.goes_on(found)
        if "failed" in data:
            services.tell_failure(found, data["device"], data["failed"])
            return False
        return services.tell_result(
            found, data["device"], data["seconds"], driver=data["driver"], firmware=data["firmware"]
        )


# --- Drivers and firmware that somebody tells of: what has changed is measured anew.


class DriverSerializer(serializers.Serializer):
    """What a node's processors of a kind have now."""

    node = serializers.CharField(max_length=64)
    resource = serializers.CharField(max_length=64)
    driver = serializers.CharField(max_length=60, required=False, allow_blank=True, default="")
    firmware = serializers.CharField(max_length=60, required=False, allow_blank=True, default="")


class DriversSerializer(serializers.Serializer):
    """Drivers and firmware, as after an update of some nodes."""

    drivers = DriverSerializer(many=True, allow_empty=False)
    reason = ReasonSerializerField()


class DriversView(PowerOfPartition):
    """Drivers and firmware of a partition's nodes."""

    serializer_class = DriversSerializer

    @extend_schema(request=DriversSerializer, responses={200: MeasurementSerializer(many=True)})
    def post(self, request: Request, name: str) -> Response:
        """Tell them, as often as you like: nodes with another one than before are measured anew, and answered."""
        partition = self.writable()
        sent = self.sent(DriversSerializer, DriversSerializer)
        told = [NewDriver(**row) for row in sent["drivers"]]
        try:
            asked = services.tell_drivers(partition, told, reason=sent["reason"], **self.by)
        except DjangoValidationError as error:
            raise ValidationError({"drivers": error.messages}) from error
        return Response(MeasurementSerializer(asked, many=True).data)


# --- Processors that stand out: their incidents, and draining, putting back and leaving.


class PowerIncidentSerializer(RowSerializer):
    """A processor that is `share` above its `usual` figure. `drain`: where the drain of its node stands, null without
    one that is wished for or in force."""

    words = serializers.CharField(read_only=True, help_text="What stands out, in a sentence.")
    drain = serializers.SerializerMethodField(help_text="asked, drained or returning.")

    class Meta:
        model = PowerIncident
        fields: ClassVar = [
            "id", "node", "resource", "device", "kind", "state", "words", "figure", "figure_at", "usual", "share",
            "siblings", "opened_at", "times", "left_by", "left_reason", "closed_at", "close_reason", "drain",
        ]  # fmt: skip

    def get_drain(self, row: PowerIncident) -> str | None:
        """Of its node, whatever that was drained for."""
        found = deciding.open_drain(row)
        return DrainState(found.state).value if found else None


class PowerIncidentReasonSerializer(ReasonSerializer):
    """Why."""


class PowerIncidents(ViewSetMixin, PowerOfPartition):
    """Processors of a partition that stand out."""

    serializer_class = PowerIncidentSerializer

    def known_parameters(self, request: Request) -> frozenset[str]:
        """Pages."""
        return PAGES if self.action == "list" else frozenset()

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """All incidents, the latest first."""
        return self.paged(incidents_of(self.partition_shown()))

    @extend_schema(request=PowerIncidentReasonSerializer, responses={200: PowerIncidentSerializer})
    def drain(self, request: Request, name: str, pk: int) -> Response:
        """Have its node drained: `drain` is `drained` when that was seen. Asked for already, it stays as it was."""
        return self._done(deciding.drain, pk)

    @extend_schema(request=PowerIncidentReasonSerializer, responses={200: PowerIncidentSerializer})
    def put_back(self, request: Request, name: str, pk: int) -> Response:
        """Have its node put back, if Giveway has drained it."""
        return self._done(deciding.put_back, pk)

    @extend_schema(request=PowerIncidentReasonSerializer, responses={200: PowerIncidentSerializer})
    def leave(self, request: Request, name: str, pk: int) -> Response:
        """Leave it as it is, until it gets clearly worse."""
        return self._done(deciding.leave, pk)

    def _done(self, act: Callable[..., Any], pk: int) -> Response:
        """Do it, with the reason that was sent."""
        partition = self.partition_shown()
        rows = incidents_of(partition).select_related("cluster")
        found = get_object_or_404(rows, pk=pk)
        require_write(self.request, Permission.NODE_DRAIN, partition)
        sent = self.sent(PowerIncidentReasonSerializer, PowerIncidentReasonSerializer)
        if not deciding.may_act_on(self.request.user, found):
            raise ConflictError(_("The node is also in partitions that others look after."))
        with changing():
            act(found, **sent, **self.by)
        return Response(PowerIncidentSerializer(get_object_or_404(rows, pk=pk)).data)


# --- What was lost to waiting for the slowest processor.


class ProjectLossSerializer(serializers.Serializer):
    """What a project's runs on several measured processors held and lost over the last 30 days, in hours."""

    project = serializers.CharField(help_text="Empty for jobs of no project.")
    resource = serializers.CharField()
    runs = serializers.IntegerField()
    hours = serializers.FloatField(help_text="What their processors were held for, in all.")
    lost = serializers.FloatField(help_text="The part of it that they waited for the slowest one.")
    share = serializers.FloatField(help_text="The second of the first.")


class ProjectLossList(PowerOfPartition, ApiList):
    """Hours lost to waiting for the slowest processor."""

    serializer_class = ProjectLossSerializer

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """By project, the most first: a manager's own projects, all for who reads all of them."""
        return self.paged(visible_losses(self.person, self.partition_shown()))
