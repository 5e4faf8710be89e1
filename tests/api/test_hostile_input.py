"""Whatever is sent, the API answers as its document says: never with a defect of its own."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from tests.api.conftest import House
from tests.api.test_access import ALPHA, BODIES, FILE, IMPORTS, NEW_PROJECT, SETS_POLICY, address
from tests.api.test_schema import template

few = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
texts = st.text(max_size=12) | st.sampled_from(
    ["", "\0", "\ud800", "'; --", "9" * 40, "P0", "x", "alpha", "../..", "%"]
)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return generated


def spoilt(body: dict[str, Any]) -> st.SearchStrategy[Any]:
    """The body with some of its values, or all of it, replaced by anything."""
    return (
        st.dictionaries(st.sampled_from(sorted(body)), values, max_size=3).map(
            lambda change: {**body, **change}
        )
        | values
    )


@pytest.mark.parametrize(
    ("name", "arguments", "method", "inside"),
    [
        ("api-projects", {}, "post", NEW_PROJECT),
        ("api-project", {"code": "alpha"}, "put", ALPHA),
        ("api-project", {"code": "alpha"}, "patch", BODIES["api-project", "patch"]),
        ("api-policy", {"name": "x"}, "put", SETS_POLICY),
        ("api-policy", {"name": "x"}, "patch", SETS_POLICY),
        ("api-config", {}, "post", IMPORTS),
        ("api-plan-decision", {"pk": "plan"}, "post", BODIES["api-plan-decision", "post"]),
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
    monkeypatch.setattr("rest_framework.throttling.ScopedRateThrottle.THROTTLE_RATES", {"token": None})
    described = document["paths"][template(name)][method]["responses"]
    path = address(house, name, arguments, method)

    @few
    @given(body=spoilt(inside))
    @example(body={**inside, "tasks": [{"pattern": "[", "importance": 1e15, "level": 5}]})
    @example(body={**inside, "policy": {"levels": [{"name": "\0"}], "mode": []}})
    @example(body={**inside, "config": {**FILE, "projects": [{}], "partitions": [None]}})
    def send(body: Any) -> None:
        response: Any = ada.generic(method.upper(), path, json.dumps(body), content_type="application/json")
        assert str(response.status_code) in described, (response.status_code, response.content)

    send()


@pytest.mark.parametrize(
    "name", ["api-jobs", "api-nodes", "api-plans", "api-projects", "api-audit", "api-config"]
)
def test_any_filter_is_answered_as_described(
    house: House, ada: APIClient, document: dict[str, Any], name: str
) -> None:
    operation = document["paths"][template(name)]["get"]
    parameters = sorted(each["name"] for each in operation["parameters"] if each["in"] == "query")
    arguments = {"job_id": "102"} if name == "api-job" else {}

    @few
    @example(query={parameters[0]: "\0"})
    @example(query={parameters[-1]: "\ud800"})
    @given(query=st.dictionaries(st.sampled_from(parameters), texts, min_size=1, max_size=3))
    def send(query: dict[str, str]) -> None:
        encoded = {key: value.encode("utf-8", "surrogatepass") for key, value in query.items()}
        response = ada.get(address(house, name, arguments, "get"), encoded)
        assert str(response.status_code) in operation["responses"], (response.status_code, response.content)

    send()


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
