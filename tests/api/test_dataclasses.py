"""Serializers of dataclasses: the fields follow the types, and what cannot follow is refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import ClassVar

import pytest
from rest_framework import serializers

from console.api.fields import DataclassSerializer


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner:
    name: str


@dataclass(frozen=True, slots=True)
class Outer:
    colour: Colour
    day: date | None
    names: tuple[str, ...]
    inner: Inner
    amounts: Mapping[str, int] = field(default_factory=dict)
    secret: str = ""


class InnerSerializer(DataclassSerializer):
    dataclass = Inner


class OuterSerializer(DataclassSerializer):
    dataclass = Outer
    only = ("colour", "day", "names", "amounts")
    must = ("colour",)
    told: ClassVar = {"day": "When."}
    inner = InnerSerializer()
    more = serializers.BooleanField(source="secret")


def test_the_fields_are_the_dataclass_s_by_their_types() -> None:
    fields = OuterSerializer().get_fields()
    assert list(fields) == ["colour", "day", "names", "inner", "amounts", "more"]
    assert (fields["day"].allow_null, fields["day"].required, fields["day"].help_text) == (
        True,
        False,
        "When.",
    )
    assert fields["colour"].required and list(fields["colour"].choices) == ["red"]
    found = Outer(Colour.RED, None, ("a",), Inner("b"), {"gpu": 2}, secret="x")
    assert OuterSerializer(found).data == {
        "colour": "red",
        "day": None,
        "names": ["a"],
        "inner": {"name": "b"},
        "amounts": {"gpu": 2},
        "more": True,
    }


def test_a_dataclass_within_has_to_be_declared() -> None:
    class Careless(DataclassSerializer):
        dataclass = Outer

    with pytest.raises(TypeError, match="declare one"):
        Careless().get_fields()
