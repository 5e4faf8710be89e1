"""The switch: pause a partition or everything, see what is paused, resume."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.changes import ReasonSerializerField
from console.api.fields import SaidField
from console.api.strict import valid
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from console.steering import pausing
from console.steering.models import Pause


class PauseSerializer(serializers.Serializer):
    """Who paused what, since when and why."""

    partition = serializers.CharField(help_text="Empty: everything.")
    by = serializers.CharField()
    since = serializers.DateTimeField()
    reason = SaidField()


class PausedSerializer(serializers.Serializer):
    """While `paused`, nobody is stopped. `pauses` are why: the partition's own, and that of everything."""

    paused = serializers.BooleanField()
    pauses = PauseSerializer(many=True)


class EverythingSerializer(PausedSerializer):
    """`paused` and `pauses` are about everything; `partitions` are those that are paused for themselves."""

    partitions = PauseSerializer(many=True)


class PauseReasonSerializer(serializers.Serializer):
    """Why, if somebody wants to say it."""

    reason = ReasonSerializerField(required=False, allow_blank=True, default="")


class Switch(ApiView):
    """What both switches share."""

    permission = Permission.PARTITION_VIEW
    queryset = Pause.objects.all()

    def _pull(self, partition: Partition | None) -> None:
        require_write(
            self.request, Permission.PAUSE_PARTITION if partition else Permission.PAUSE_ALL, partition
        )

    def _set(self, partition: Partition | None) -> None:
        self._pull(partition)
        sent = PauseReasonSerializer(data=self.request.data)
        valid(sent, self.serializer_class)
        pausing.pause(**self._by(partition), reason=sent.validated_data["reason"])

    def _lift(self, partition: Partition | None) -> Response:
        self._pull(partition)
        pausing.resume(**self._by(partition))
        return Response(status=204)

    def _by(self, partition: Partition | None) -> dict[str, Any]:
        return {
            "actor": self.person.username,
            "cluster": self.cluster,
            "partition": partition,
            "request_id": self.request_id,
        }

    def _pauses(self) -> dict[str, Pause]:
        return {pause.partition: pause for pause in pausing.pauses_shown(self.cluster.name)}


class PauseAll(Switch):
    """The switch of the whole installation."""

    serializer_class = EverythingSerializer

    @extend_schema(operation_id="pause_retrieve")
    def get(self, request: Request) -> Response:
        """What is paused."""
        return self._answer()

    @extend_schema(request=PauseReasonSerializer, operation_id="pause_set")
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

    def _partition(self) -> Partition:
        rows = visible_partitions(self.person).filter(cluster=self.cluster)
        return get_object_or_404(rows, name=self.kwargs["name"])

    @extend_schema(operation_id="partitions_pause_retrieve")
    def get(self, request: Request, name: str) -> Response:
        """Whether anybody may be stopped in the partition."""
        return self._answer(self._partition())

    @extend_schema(request=PauseReasonSerializer, operation_id="partitions_pause_set")
    def put(self, request: Request, name: str) -> Response:
        """Stop nobody in the partition from the next cycle on. What is paused already stays as it was paused first."""
        partition = self._partition()
        self._set(partition)
        return self._answer(partition)

    @extend_schema(operation_id="partitions_pause_lift")
    def delete(self, request: Request, name: str) -> Response:
        """Lift the partition's own pause; that of everything stays."""
        return self._lift(self._partition())

    def _answer(self, partition: Partition) -> Response:
        pauses = self._pauses()
        found = [pauses[name] for name in (pausing.EVERYWHERE, partition.name) if name in pauses]
        return Response(PausedSerializer({"paused": bool(found), "pauses": found}).data)
