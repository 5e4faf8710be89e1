"""Fields that several resources use."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import django_filters
from django.core.exceptions import ValidationError as DjangoValidationError
from django_filters.fields import IsoDateTimeField
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from console.core.fields import WithinTime
from console.core.limits import beyond, refuse_beyond
from console.core.sentence_field import SentenceField
from console.core.translate import resay
from console.history.answers import NamedLevel
from console.steering.selectors import hours, work_words
from scheduler.model.resource_kinds import COUNTED

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


class NamesField(serializers.ListField):
    """A list of names or sentences."""

    child = serializers.CharField()


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


class ReasonSerializerField(serializers.CharField):
    """Why: it stands in the audit log for good."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": 1000, "help_text": "Why; it stands in the audit log.", **kwargs})


class ReasonSerializer(serializers.Serializer):
    """Why."""

    reason = ReasonSerializerField()


class VersionField(serializers.IntegerField):
    """The version or revision that somebody has read, from 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"min_value": 1, "max_value": 2**31 - 1, **kwargs})


VERSION_AND_REASON = [
    OpenApiParameter("version", int, required=True, description="The version that you have read."),
    OpenApiParameter("reason", str, required=True, description="Why; it stands in the audit log."),
]
"""Of a deletion, which has no body."""


class RowSerializer(serializers.ModelSerializer):
    """A row as it is read: what is sent writes nothing of it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.Meta.read_only_fields = cls.Meta.fields


class EpochField(serializers.DateTimeField):
    """Epoch seconds of the mirror as a moment; 0 and NULL mean "not yet"."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        """ISO 8601, UTC."""
        return super().to_representation(datetime.fromtimestamp(value, UTC)) if value else None


# --- Serializers of dataclasses: the fields are the dataclass's own, by their types, so that none is typed twice.

PLAIN: dict[Any, type[serializers.Field]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
    date: serializers.DateField,
    Any: AnyJsonField,
}


class DataclassSerializer(serializers.Serializer):
    """The fields of `dataclass`, in its order; those that the class declares itself go before, and after these come
    what it has besides.

    `only`: the names of those that are shown (None: all). `must`: of those that must be sent (None: all).
    `told`: what the OpenAPI document says of some. A type without a field of its own, as a dataclass within, raises
    TypeError until it is declared.
    """

    dataclass: ClassVar[type]
    only: ClassVar[tuple[str, ...] | None] = None
    must: ClassVar[tuple[str, ...] | None] = None
    told: ClassVar[Mapping[str, str]] = {}

    def get_fields(self) -> dict[str, Any]:
        """Those of the dataclass, then the others that are declared."""
        declared = super().get_fields()
        built: dict[str, Any] = {}
        for name, hint in hints(self.dataclass):
            if name in declared:
                built[name] = declared.pop(name)
            elif self.only is None or name in self.only:
                options: dict[str, Any] = {"help_text": self.told[name]} if name in self.told else {}
                if self.must is not None and name not in self.must:
                    options["required"] = False
                built[name] = field_of(hint, **options)
        return built | declared


@lru_cache
def hints(dataclass: type) -> tuple[tuple[str, Any], ...]:
    """Names and types of a dataclass's fields."""
    types = get_type_hints(dataclass)
    return tuple((each.name, types[each.name]) for each in fields(dataclass))


def field_of(hint: Any, **options: Any) -> serializers.Field:
    """The field of a type: plain ones, enums by their values, lists, mappings, and any of these or None."""
    kind, within = get_origin(hint), get_args(hint)
    if kind in {Union, UnionType}:
        [only] = (each for each in within if each is not NoneType)
        return field_of(only, allow_null=True, **options)
    if kind in {tuple, list}:
        return serializers.ListField(child=field_of(within[0]), **options)
    if kind in {dict, Mapping}:
        return serializers.DictField(child=field_of(within[1]), **options)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return serializers.ChoiceField(choices=[each.value for each in hint], **options)
    if hint not in PLAIN:
        raise TypeError(f"{hint} has no field of its own: declare one")
    return PLAIN[hint](**options)


# --- Work that is lost, or would be, as the API tells it.


class WorkSerializer(serializers.Serializer):
    """What stopping jobs destroys if nothing was saved: amounts times the time that they had run."""

    gpu_hours = serializers.FloatField()
    npu_hours = serializers.FloatField()
    cpu_hours = serializers.FloatField()
    words = serializers.CharField(help_text="The same for people: `1.4 GPU-hours and 12 CPU-hours`.")

    def to_representation(self, instance: Mapping[str, float]) -> dict[str, Any]:
        """From a resource to the seconds of it."""
        return work_data(instance)


def work_data(work: Mapping[str, float]) -> dict[str, Any]:
    """As `WorkSerializer` describes it."""
    found = {f"{name}_hours": hours(work, name) for name in COUNTED}
    return {**found, "words": work_words(work)}


class RankedLevelSerializer(DataclassSerializer):
    """A level: its rank, 0 the highest, null when nothing is configured, and its name."""

    dataclass = NamedLevel


def moment_data(value: Any) -> Any:
    """A moment as all answers write it."""
    return serializers.DateTimeField().to_representation(value)
