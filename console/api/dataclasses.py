"""Serializers of dataclasses: the fields are the dataclass's own, by their types, so that none is typed twice."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

from rest_framework import serializers

from console.api.fields import AnyJsonField

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
