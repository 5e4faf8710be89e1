"""A walk through the OpenAPI document: every operation, as every role, with what the document allows and much else.

Whatever is sent, no answer is a defect (5xx), none has a status or a body that the document does not tell of, and
nobody gets further than the sign-in without having signed in. schemathesis would ask the same; hypothesis and the
document's own schemas are enough for it.
"""

import json
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.core.cache import cache
from django.db import transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from rest_framework.test import APIClient

from tests.api.conftest import METHODS, ROLES, House
from tests.api.test_schema import closed

EXAMPLES = int(os.environ.get("GIVEWAY_WALK_EXAMPLES", "10"))
"""Per operation; more for a longer walk by hand."""
DOCUMENT: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
OPERATIONS = [
    (path, method) for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item
]
KNOWN = {
    "code": ["alpha", "beta"],
    "name": ["x", "y", "n1"],
    "job_id": ["101", "88", "102"],
    "number": ["1", "2"],
    "partition": ["x", "y"],
}
TEXT = st.text(max_size=20) | st.sampled_from(
    ["", "\0", "'; --", "<b>", "=1+1", "../..", "9" * 400, "\u202e", "\x1b[2J", "nan", "-1", "a" * 5000]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def values(schema: Any) -> st.SearchStrategy[Any]:
    """Values of a schema, as a program that has read the document would send them."""
    if not isinstance(schema, dict):
        return ANYTHING
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return st.deferred(lambda: values(DOCUMENT["components"]["schemas"][name]))
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return st.one_of(*(values(each) for each in schema[several]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of(*(values({**schema, "type": each}) for each in kind))
    return KINDS.get(kind, lambda schema: ANYTHING)(schema)


def _numbers(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.integers(schema.get("minimum"), schema.get("maximum")) | st.sampled_from([1, 2, 3])


def _objects(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    properties, needed = schema.get("properties", {}), set(schema.get("required", ()))
    if not properties:
        return st.dictionaries(TEXT, values(schema.get("additionalProperties")), max_size=3)
    required = {name: values(each) for name, each in properties.items() if name in needed}
    optional = {name: values(each) for name, each in properties.items() if name not in needed}
    return st.fixed_dictionaries(required, optional=optional)


KINDS: dict[Any, Callable[[dict[str, Any]], st.SearchStrategy[Any]]] = {
    "string": lambda schema: (
        st.sampled_from(["2026-01-01T00:00:00Z", "2026-02-30", "x", "alpha", "P0", "ann"]) | TEXT
    ),
    "integer": _numbers,
    "number": lambda schema: st.floats(0, 1e6) | _numbers({}),
    "boolean": lambda schema: st.booleans(),
    "null": lambda schema: st.none(),
    "array": lambda schema: st.lists(values(schema.get("items")), max_size=3),
    "object": _objects,
}


def requests(operation: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """What may be sent to an operation: mostly sensible, sometimes not."""
    places: dict[str, Any] = {"path": {}, "query": {}}
    for parameter in operation.get("parameters", []):
        if parameter["in"] in places:
            places[parameter["in"]][parameter["name"]] = values(parameter["schema"]) | TEXT
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return st.fixed_dictionaries(
        {
            "role": st.sampled_from(ROLES),
            "path": st.fixed_dictionaries(
                {name: _known(name, made) for name, made in places["path"].items()}
            ),
            "query": st.fixed_dictionaries({}, optional=places["query"])
            | st.dictionaries(TEXT, TEXT, max_size=1),
            "body": values(content.get("schema")) | ANYTHING if content else st.none(),
            "headers": st.fixed_dictionaries(
                {},
                optional={
                    "If-Match": st.sampled_from(["*", '"x"', "x"]),
                    "If-None-Match": st.sampled_from(["*", '"x"']),
                    "Idempotency-Key": st.sampled_from(["k", ""]),
                },
            ),
        }
    )


def _known(name: str, made: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    if name in KNOWN:
        return st.sampled_from(KNOWN[name]) | made
    return st.sampled_from(["here"]) | made


def address(house: House, path: str, arguments: dict[str, Any]) -> str:
    for name, value in arguments.items():
        here = house.entries["x"].sequence if name == "sequence" else house.plan.pk
        text = (
            str(here if value == "here" else value).replace("\0", "0").encode(errors="replace").decode()
            or "0"
        )
        path = path.replace(f"{{{name}}}", quote(text, safe=""))
    return path


def check(response: Any, operation: dict[str, Any], role: str) -> None:
    """The answer is one that the document tells of."""
    answers, told = operation["responses"], response.content if not response.streaming else b""
    assert response.status_code < 500, told
    if role == "anonymous" and {} not in operation.get("security", [{}]):
        assert response.status_code == 401, told
    assert str(response.status_code) in answers, (response.status_code, told)
    content = answers[str(response.status_code)].get("content", {})
    if response.streaming or "application/json" not in content or response.status_code == 304:
        return
    schema = {"$defs": DOCUMENT["components"]["schemas"], **content["application/json"].get("schema", {})}
    faults = [
        f"{each.json_path}: {each.message}"
        for each in Draft202012Validator(closed(schema)).iter_errors(response.json())
    ]
    assert not faults, faults


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda value: value.removeprefix("/api/v1/"))
def test_no_answer_surprises(
    house: House, as_person: Callable[[str], APIClient], path: str, method: str
) -> None:
    operation = DOCUMENT["paths"][path][method]
    people = {role: as_person(role) for role in ROLES}

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )  # fmt: skip
    @given(sent=requests(operation))
    def walk(sent: dict[str, Any]) -> None:
        cache.clear()
        client = people[sent["role"]]
        client.raise_request_exception = False
        query = "&".join(
            f"{quote(str(name).encode(errors='replace'))}={quote(str(value).encode(errors='replace'))}"
            for name, value in sent["query"].items()
        )
        where = address(house, path, sent["path"])
        with transaction.atomic():
            response = client.generic(
                method.upper(), f"{where}?{query}", _body(sent["body"]),
                content_type="application/json", headers=sent["headers"],
            )  # fmt: skip
            transaction.set_rollback(True)
        check(response, operation, sent["role"])

    walk()


def _body(value: Any) -> str:
    return "" if value is None else json.dumps(value)
