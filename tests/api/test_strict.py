"""Misspelt keys of a body are refused, everywhere; what was read may be sent back as it is."""

import re
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.api.conftest import House

pytestmark = pytest.mark.django_db

VALUES = {"name": "x", "code": "alpha", "job_id": "101", "number": "1", "sequence": "1"}


def writes(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Method and address of every write that takes a JSON body."""
    return [
        (method, path)
        for path, methods in schema["paths"].items()
        for method, about in methods.items()
        if method in {"post", "put", "patch", "delete"} and "requestBody" in about
    ]


def test_every_write_refuses_an_unknown_key(house: House, ada: APIClient) -> None:
    found = writes(ada.get("/api/v1/schema/", HTTP_ACCEPT="application/json").json())
    assert len(found) > 15
    refused, others = [], {}
    for method, path in found:
        address = re.sub(r"\{(\w+)\}", lambda name: VALUES.get(name[1], str(house.plan.pk)), path)
        answer = getattr(ada, method)(address, {"no_such_key": 1, "reason": "Test."})
        if answer.status_code == 400 and "no_such_key" in answer.json()["error"]["fields"]:
            refused.append(path)
        else:
            others[f"{method} {path}"] = answer.status_code
    assert others.pop("post /api/v1/tokens/", 403) == 403  # a token makes no tokens
    assert others.pop("post /api/v1/project-proposals/", 403) == 403  # who creates projects proposes none
    assert set(others.values()) <= {404}, others  # objects that this house does not have
    assert len(refused) > len(others)


@pytest.mark.parametrize(
    ("body", "path", "hint"),
    [
        ({"urgancy": 5}, "urgancy", "did you mean urgency?"),
        ({"tasks": [{"pattern": "a", "importence": 2}]}, "tasks[0].importence", "did you mean importance?"),
        ({"qqq": 1}, "qqq", "known are code, name"),
        ({"k" * 10_000: 1}, "k" * 60, "unknown key"),
    ],
)
def test_the_fault_names_the_key_and_the_one_that_was_meant(
    house: House, ada: APIClient, body: dict[str, Any], path: str, hint: str
) -> None:
    answer = ada.patch("/api/v1/projects/alpha/", {**body, "version": 1, "reason": "Test."})
    assert answer.status_code == 400
    fields = answer.json()["error"]["fields"]
    assert list(fields) == [path]
    assert hint in fields[path][0]


def test_what_was_read_can_be_sent_back_as_it_is(house: House, ada: APIClient) -> None:
    read = ada.get("/api/v1/projects/alpha/").json()
    assert ada.put("/api/v1/projects/alpha/", {**read, "reason": "Test."}).status_code == 200
    policy = ada.get("/api/v1/partitions/x/policy/").json()
    sent = {**policy, "based_on": policy["revision"], "reason": "Test."}
    assert ada.put("/api/v1/partitions/x/policy/", sent).status_code == 200
    rules = ada.get("/api/v1/project-rules/").json()
    assert ada.put("/api/v1/project-rules/", {**rules, "reason": "Test."}).status_code == 200


def test_a_truth_is_no_number(house: House, ada: APIClient) -> None:
    """`true` was taken for an urgency of 1."""
    body = {"urgency": True, "size": 2, "version": 1, "reason": "Test."}
    answer = ada.patch("/api/v1/projects/alpha/", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"] == {"urgency": ["must be a number, not true or false"]}
