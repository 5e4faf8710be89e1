"""Fields that several resources use."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import django_filters
from django.core.exceptions import ValidationError as DjangoValidationError
from django_filters.fields import IsoDateTimeField
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.core.fields import WithinTime
from console.core.limits import beyond, refuse_beyond
from console.core.sentence_field import SentenceField
from console.core.translate import resay

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


class _MomentField(WithinTime, IsoDateTimeField):
    """ISO 8601, within the years that there are."""


class MomentFilter(django_filters.IsoDateTimeFilter):
    """Before or after a moment."""

    field_class = _MomentField


@extend_schema_field(AMOUNTS)
class AmountsSerializerField(serializers.JSONField):
    """Amounts of resources."""


@extend_schema_field(AMOUNTS_BY_NODE)
class AmountsByNodeField(serializers.JSONField):
    """Amounts of resources on each node."""


@extend_schema_field(OPEN_OBJECT)
class ObjectField(serializers.DictField):
    """A JSON object of any content. `bounds`: its keys that hold lists, and how long these may be."""

    bounds: Mapping[str, str] = {}

    def to_internal_value(self, data: Any) -> Any:
        """The lengths first: what is too long is not read."""
        try:
            refuse_beyond(data, self.bounds)
        except DjangoValidationError as error:
            raise serializers.ValidationError(error.message_dict) from None
        return super().to_internal_value(data)


class BoundedListField(serializers.ListField):
    """A list whose length is looked at before its items. `bound`: its name among the limits."""

    bound = ""

    def to_internal_value(self, data: Any) -> Any:
        """The items of a list that is not too long."""
        refuse_long_list(data, self.bound)
        return super().to_internal_value(data)


class BoundedNamesField(BoundedListField):
    """A list of names. Thousands of them are not held against a field each where nothing can be wrong with them."""

    longest = 150
    child = serializers.CharField(max_length=longest)

    def run_child_validation(self, data: Any) -> Any:
        """The names, and what is wrong with those that are none."""
        if all(type(name) is str and self._is_plain(name) for name in data):
            return data
        return super().run_child_validation(data)

    def _is_plain(self, name: str) -> bool:
        return 0 < len(name) <= self.longest and name.isprintable() and name[0] != " " != name[-1]


def refuse_long_list(data: Any, bound: str) -> None:
    """Raises DRF's `ValidationError` for a list that is longer than its bound."""
    if isinstance(data, list) and (said := beyond(bound, len(data))):
        raise serializers.ValidationError(said)


@extend_schema_field({"description": "Any JSON value; null when there is nothing."})
class AnyJsonField(serializers.JSONField):
    """A state before or after, in the terms of the priority file where it is about what that holds."""


class SaidField(serializers.CharField):
    """A kept sentence, said in the language that the request asks for; without one in English."""

    def to_representation(self, value: Any) -> str:
        """What a person or Slurm has said stays as it is."""
        return str(resay(value))


# Columns of sentences, in whichever serializer of a model.
serializers.ModelSerializer.serializer_field_mapping[SentenceField] = SaidField


class EpochField(serializers.DateTimeField):
    """Epoch seconds of the mirror as a moment; 0 and NULL mean "not yet"."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        """ISO 8601, UTC."""
        return super().to_representation(datetime.fromtimestamp(value, UTC)) if value else None
