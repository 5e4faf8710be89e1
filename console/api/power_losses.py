"""What was lost to waiting for the slowest processor."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.api.base import ApiList
from console.api.power import PowerOfPartition
from console.power.losses import visible_losses
from console.power.models import RunLoss


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

    queryset = RunLoss.objects.all()
    serializer_class = ProjectLossSerializer

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """By project, the most first: a manager's own projects, all for who reads all of them."""
        page = self.paginate_queryset(visible_losses(self.person, self.readable(self.kwargs["name"])))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)
