"""Processors that stand out: their incidents, and draining, putting back and leaving."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiList
from console.api.changes import ReasonSerializerField, changing
from console.api.errors import ConflictError
from console.api.power import PowerOfPartition
from console.api.strict import valid
from console.partitions.models import Partition
from console.power import deciding
from console.power.incidents import incidents_of
from console.power.models import DrainState, PowerIncident


class PowerIncidentSerializer(serializers.ModelSerializer):
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
        read_only_fields = fields

    def get_drain(self, row: PowerIncident) -> str | None:
        """Of its node, whatever that was drained for."""
        found = deciding.open_drain(row)
        return DrainState(found.state).value if found else None


class PowerIncidentReasonSerializer(serializers.Serializer):
    """Why."""

    reason = ReasonSerializerField()


class PowerIncidentList(PowerOfPartition, ApiList):
    """Processors of a partition that stand out."""

    queryset = PowerIncident.objects.all()
    serializer_class = PowerIncidentSerializer

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """All incidents, the latest first."""
        page = self.paginate_queryset(incidents_of(self.readable(self.kwargs["name"])))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class PowerIncidentAct(PowerOfPartition):
    """Something that is done about one."""

    queryset = PowerIncident.objects.all()
    serializer_class = PowerIncidentSerializer
    further_errors: ClassVar = {"POST": {409}}
    act: ClassVar[Callable[..., Any]]

    def done(self, request: Request, name: str, pk: int) -> Response:
        """Do it, with the reason that was sent."""
        partition = self.readable(name)
        found = self._found(partition, pk)
        require_write(request, Permission.NODE_DRAIN, partition)
        sent = PowerIncidentReasonSerializer(data=request.data)
        valid(sent, PowerIncidentReasonSerializer)
        if not deciding.may_act_on(request.user, found):
            raise ConflictError(_("The node is also in partitions that others look after."))
        with changing():
            type(self).act(
                found, actor=self.person.username, reason=sent.validated_data["reason"], context=self.context
            )
        return Response(PowerIncidentSerializer(self._found(partition, pk)).data)

    def _found(self, partition: Partition, pk: int) -> PowerIncident:
        found: PowerIncident | None = incidents_of(partition).select_related("cluster").filter(pk=pk).first()
        if found is None:
            raise Http404
        return found


class PowerIncidentDrain(PowerIncidentAct):
    """Draining."""

    act = staticmethod(deciding.drain)

    @extend_schema(request=PowerIncidentReasonSerializer, responses={200: PowerIncidentSerializer})
    def post(self, request: Request, name: str, pk: int) -> Response:
        """Have its node drained: `drain` is `drained` when that was seen. Asked for already, it stays as it was."""
        return self.done(request, name, pk)


class PowerIncidentPutBack(PowerIncidentAct):
    """Putting back."""

    act = staticmethod(deciding.put_back)

    @extend_schema(request=PowerIncidentReasonSerializer, responses={200: PowerIncidentSerializer})
    def post(self, request: Request, name: str, pk: int) -> Response:
        """Have its node put back, if Giveway has drained it."""
        return self.done(request, name, pk)


class PowerIncidentLeave(PowerIncidentAct):
    """Leaving."""

    act = staticmethod(deciding.leave)

    @extend_schema(request=PowerIncidentReasonSerializer, responses={200: PowerIncidentSerializer})
    def post(self, request: Request, name: str, pk: int) -> Response:
        """Leave it as it is, until it gets clearly worse."""
        return self.done(request, name, pk)
