"""Fields that several resources use."""

from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

AMOUNTS = {
    "type": "object",
    "additionalProperties": {"type": "integer"},
    "example": {"cpu": 8, "gpu": 4, "mem": 64000},
}
"""Resource to amount (`mem` in MB)."""
AMOUNTS_BY_NODE = {"type": "object", "additionalProperties": AMOUNTS, "example": {"n1": {"cpu": 4}}}
"""Node to resource to amount."""
OPEN_OBJECT = {"type": "object", "additionalProperties": {}}
"""An object whose keys are described elsewhere."""


@extend_schema_field(AMOUNTS)
class AmountsField(serializers.JSONField):
    """Amounts of resources."""


@extend_schema_field(AMOUNTS_BY_NODE)
class AmountsByNodeField(serializers.JSONField):
    """Amounts of resources on each node."""


@extend_schema_field(OPEN_OBJECT)
class ObjectField(serializers.DictField):
    """A JSON object of any content."""


@extend_schema_field({"description": "Any JSON value; null when there is nothing."})
class AnyJsonField(serializers.JSONField):
    """A state before or after, in the terms of the priority file where it is about what that holds."""


class EpochField(serializers.DateTimeField):
    """Epoch seconds of the mirror as a moment; 0 and NULL mean "not yet"."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        """ISO 8601, UTC."""
        return super().to_representation(datetime.fromtimestamp(value, UTC)) if value else None
