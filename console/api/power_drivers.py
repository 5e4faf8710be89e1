"""Drivers and firmware that somebody tells of: what has changed is measured anew."""

from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.api.changes import ReasonSerializerField
from console.api.power import MeasurementSerializer, PowerOfPartition
from console.api.strict import valid
from console.power.causes import NewDriver
from console.power.models import ToldDriver
from console.power.services import tell_drivers


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

    queryset = ToldDriver.objects.all()
    serializer_class = DriversSerializer

    @extend_schema(request=DriversSerializer, responses={200: MeasurementSerializer(many=True)})
    def post(self, request: Request, name: str) -> Response:
        """Tell them, as often as you like: nodes with another one than before are measured anew, and answered."""
        partition = self.writable(request, name)
        sent = DriversSerializer(data=request.data)
        valid(sent, DriversSerializer)
        told = [NewDriver(**row) for row in sent.validated_data["drivers"]]
        try:
            asked = tell_drivers(
                partition, told, actor=self.person.username, reason=sent.validated_data["reason"],
                context=self.context,
            )  # fmt: skip
        except DjangoValidationError as error:
            raise ValidationError({"drivers": error.messages}) from error
        return Response(MeasurementSerializer(asked, many=True).data)
