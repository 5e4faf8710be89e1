"""Work that is lost, or would be, as the API tells it."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.steering.selectors import hours, work_words
from scheduler.model.resource_kinds import COUNTED


class WorkSerializer(serializers.Serializer):
    """What stopping jobs destroys if nothing was saved: amounts times the time that they had run."""

    gpu_hours = serializers.FloatField()
    npu_hours = serializers.FloatField()
    cpu_hours = serializers.FloatField()
    words = serializers.CharField(help_text="The same for people: `1.4 GPU-hours and 12 CPU-hours`.")


def work_data(work: Mapping[str, float]) -> dict[str, Any]:
    """The work for `WorkSerializer`."""
    found = {f"{name}_hours": hours(work, name) for name in COUNTED}
    return {**found, "words": work_words(work)}
