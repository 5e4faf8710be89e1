"""What was or could be a defect of ours, sent by name; tests/api/test_conformance.py makes up the rest."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from tests.api.conftest import House
from tests.api.test_access import ALPHA, BODIES, FILE, IMPORTS, NEW_PROJECT, SETS_POLICY, address
from tests.api.test_schema import template

few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
texts = st.text(max_size=12) | st.sampled_from(
    ["", "\0", "\ud800", "'; --", "9" * 40, "P0", "x", "alpha", "../..", "%"]
)
SPOILT: list[Any] = [
    {"tasks": [{"pattern": "[", "importance": 1e15, "level": 5}]},
    {"policy": {"levels": [{"name": "\0"}], "mode": []}},
    {"config": {**FILE, "projects": [{}], "partitions": [None]}},
    {"reason": "\0", "code": "\ud800", "username": "\0"},
    {"version": 10**40, "based_on": -1, "size": float("inf"), "urgency": float("nan")},
]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return generated


@pytest.mark.parametrize(
    ("name", "arguments", "method", "inside"),
    [
        ("api-projects-list", {}, "post", NEW_PROJECT),
        ("api-projects-detail", {"code": "alpha"}, "put", ALPHA),
        ("api-projects-detail", {"code": "alpha"}, "patch", BODIES["api-projects-detail", "patch"]),
        ("api-policy", {"name": "x"}, "put", SETS_POLICY),
        ("api-policy", {"name": "x"}, "patch", SETS_POLICY),
        ("api-config", {}, "post", IMPORTS),
        ("api-plans-decision", {"pk": "plan"}, "post", BODIES["api-plans-decision", "post"]),
        ("api-pause", {}, "put", BODIES["api-pause", "put"]),
        ("api-token", {}, "post", {"username": "vera", "password": "wrong"}),
    ],
)
def test_any_body_is_answered_as_described(
    house: House,
    ada: APIClient,
    document: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, str],
    method: str,
    inside: dict[str, Any],
) -> None:
    monkeypatch.setattr(
        "rest_framework.throttling.ScopedRateThrottle.THROTTLE_RATES", {"token": None, "measurement": None}
    )
    described = document["paths"][template(name)][method]["responses"]
    path = address(house, name, arguments, method)

    bodies: list[Any] = [{**inside, **change} for change in SPOILT] + [[], None, "\ud800", 10**400]
    for body in bodies:
        response: Any = ada.generic(method.upper(), path, json.dumps(body), content_type="application/json")
        assert str(response.status_code) in described, (body, response.status_code, response.content)


@pytest.mark.parametrize(
    "name",
    [
        "api-jobs-list",
        "api-nodes-list",
        "api-plans-list",
        "api-projects-list",
        "api-audit-list",
        "api-config",
    ],
)
def test_any_filter_is_answered_as_described(
    house: House, ada: APIClient, document: dict[str, Any], name: str
) -> None:
    operation = document["paths"][template(name)]["get"]
    parameters = sorted(each["name"] for each in operation["parameters"] if each["in"] == "query")
    for parameter in parameters:
        # No text at all, a half of a pair that no encoding has, a number that no column holds.
        for value in ("\0", "\ud800".encode("utf-8", "surrogatepass"), "9" * 40):
            response = ada.get(address(house, name, {}, "get"), {parameter: value})
            assert str(response.status_code) in operation["responses"], (parameter, value, response.content)


@pytest.mark.parametrize(
    "path", ["jobs/{}/", "nodes/{}/", "projects/{}/", "partitions/{}/", "plans/{}/", "audit/{}/", "{}"]
)
def test_any_address_is_answered(house: House, as_person: Callable[[str], APIClient], path: str) -> None:
    client = as_person("ada")

    @few
    @given(name=texts)
    def send(name: str) -> None:
        quoted = quote(name.encode("utf-8", "surrogatepass"), safe="")
        response = client.get("/api/v1/" + path.format(quoted))
        assert response.status_code in {200, 404, 405}
        assert response["Content-Type"] == "application/json"

    send()
