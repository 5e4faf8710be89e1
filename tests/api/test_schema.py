"""The OpenAPI document: complete, valid, and true of what the API really answers."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from rest_framework.test import APIClient

from console.api import urls
from tests.api.conftest import METHODS, House, offered_methods
from tests.api.test_access import BODIES, TABLE, address

OWN_DESCRIPTION = {"api-docs", "api-schema", "api-no-such-address"}
FILES = {"api-insights-file", "api-audit-export"}
"""Answer with a file, not with JSON; tests/audit/test_exporting.py and tests/insights have what is in it."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return generated


def test_the_document_is_made_without_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", validate=True, fail_on_warn=True)
    assert capsys.readouterr().out.startswith("openapi: 3.1.0")


def test_every_address_is_described(document: dict[str, Any]) -> None:
    described = {
        (path, method) for path, item in document["paths"].items() for method in METHODS if method in item
    }
    offered = {
        (template(str(pattern.name)), method)
        for pattern in urls.urlpatterns
        if pattern.name not in OWN_DESCRIPTION
        for method in offered_methods(pattern)
    }
    assert described == offered


def template(name: str) -> str:
    """The path of an address as the document writes it."""
    pattern = next(p for p in urls.urlpatterns if p.name == name)
    path = str(pattern.pattern)
    for argument, converter in pattern.pattern.converters.items():
        kind = {"NameConverter": "name", "IntConverter": "int"}[type(converter).__name__]
        path = path.replace(f"<{kind}:{argument}>", "{id}" if argument == "pk" else f"{{{argument}}}")
    return f"/api/v1/{path}"


def test_every_operation_says_how_it_refuses(document: dict[str, Any]) -> None:
    error = {"$ref": "#/components/schemas/Error"}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            assert item[method]["summary"], (path, method)
            answers = item[method]["responses"]
            assert {"400", "401", "403"} <= set(answers) or path == "/api/v1/token/", (path, method)
            assert ("404" in answers) or "{" not in path, (path, method)
            for status, answer in answers.items():
                if int(status) >= 400:
                    assert answer["content"]["application/json"]["schema"] == error, (path, method, status)
    writes = document["paths"]["/api/v1/projects/{code}/"]
    assert all("409" in writes[method]["responses"] for method in ("put", "patch", "delete"))


def test_a_token_is_the_way_in(document: dict[str, Any]) -> None:
    assert {"tokenAuth", "cookieAuth"} <= set(document["components"]["securitySchemes"])
    assert document["paths"]["/api/v1/jobs/"]["get"]["security"] == [{"tokenAuth": []}, {"cookieAuth": []}]
    assert document["paths"]["/api/v1/token/"]["post"].get("security", []) in ([], [{}])


@pytest.mark.parametrize("role", ["pam", "ada"])
def test_every_answer_is_as_described(
    house: House, as_person: Callable[[str], APIClient], document: dict[str, Any], role: str
) -> None:
    """Each row of the access table, most with a body that is carried out: with no key that is not described."""
    strict = {"components": document["components"]}
    for name, arguments, method, _ in TABLE:
        if name in OWN_DESCRIPTION | FILES or method == "delete":
            continue
        body = BODIES.get((name, method))
        response = getattr(as_person(role), method)(address(house, name, arguments, method), body)
        answers = document["paths"][template(name)][method]["responses"]
        described = answers[str(response.status_code)]["content"]["application/json"]["schema"]
        schema = closed({**strict, **described})
        faults = [
            f"{fault.json_path}: {fault.message}"
            for fault in Draft202012Validator(schema).iter_errors(response.json())
        ]
        assert not faults, (name, method, faults)


def closed(schema: Any) -> Any:
    """A schema in which objects have the properties that are described and no others."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if "properties" in result and result.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


def test_the_conformance_check_itself_can_fail(document: dict[str, Any]) -> None:
    schema = closed({"components": document["components"], "$ref": "#/components/schemas/Node"})

    def faults(node: dict[str, Any]) -> Iterator[Any]:
        return Draft202012Validator(schema).iter_errors(node)

    node: dict[str, Any] = {
        "name": "n1",
        "up": True,
        "state": "IDLE",
        "state_reason": "",
        "total": {"cpu": 8},
        "used": {},
        "features": [],
        "partitions": ["x"],
        "unit": "",
        "own_units": {},
    }
    assert not list(faults(node))
    assert list(faults({**node, "surprise": 1}))
    assert list(faults({**node, "total": {"cpu": "many"}}))
    assert list(faults({key: value for key, value in node.items() if key != "up"}))


def test_the_document_is_served_to_signed_in_people(house: House, ada: APIClient) -> None:
    assert ada.get("/api/v1/schema/").json()["info"]["title"] == "Giveway API"
    assert ada.get("/api/v1/schema/?format=yaml").content.startswith(b"openapi: 3.1.0")
