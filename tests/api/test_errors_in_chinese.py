"""Every fault that an address finds in what is sent is said in the language that was asked for."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from tests.api.conftest import House
from tests.api.test_access import BODIES, TABLE, address
from tests.api.test_schema import document, template

__all__ = ["document"]
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SPOILT: list[Any] = [
    None,
    True,
    "",
    "  ",
    "x" * 5000,
    "\0",
    "a b/c\u202e😀",
    -1,
    0,
    10**12,
    10**400,
    1.5,
    "2026-13-45",
    "1999-01-01",
    [],
    ["", None, "x" * 300, -1],
    [{}],
    [{"name": "", "pattern": "[", "level": -1, "days": 0, "nonsense": 1}],
    {},
    {"nonsense": 1, "name": [], "levels": "x"},
]
"""What a person's mistake or a program's may send in a field."""
WHOLE: list[Any] = [None, [], "text", 7, {}, {"nonsense": 1}, {"rason": "for the test"}]
"""The same in place of a body."""


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without references at its top."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for inner in schema.get("allOf", []):
        schema = {**resolved(document, inner), **schema}
    return schema


def fields_of(document: dict[str, Any], operation: dict[str, Any]) -> list[str]:
    """The fields that a body may have."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return sorted(resolved(document, content.get("schema", {})).get("properties", {}))


def bodies(good: dict[str, Any], fields: list[str]) -> Iterator[Any]:
    """Wrong as a whole; with every field wrong in one way; with one field wrong, and the others as they should be."""
    yield from WHOLE
    for number, wrong in enumerate(SPOILT):
        yield dict.fromkeys(fields, wrong)
        if good:
            # Each field in each way would be thousands.
            yield from ({**good, field: wrong} for field in fields[number % 7 :: 7])


def queries(operation: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Filters, each with what it cannot be."""
    for each in operation.get("parameters", []):
        if each["in"] == "query":
            for wrong in ("nonsense", "\0"):
                yield {each["name"]: wrong}
    yield {"nonsense": "1"}


def said(answer: Any) -> Iterator[str]:
    """Whatever an answer says of faults."""
    if answer.status_code < 400 or not answer["Content-Type"].startswith("application/json"):
        return
    error = answer.json()["error"]
    yield error["message"]
    for messages in error["fields"].values():
        yield from messages


def refused(client: APIClient, method: str, path: str, query: dict[str, str], body: Any) -> Any:
    """The answer; what it may have done is undone."""
    with transaction.atomic():
        to = f"{path}{'&' if '?' in path else '?'}{urlencode(query)}" if query else path
        answer = client.generic(
            method.upper(),
            to,
            "" if method == "get" else json.dumps(body),
            content_type="application/json",
            HTTP_ACCEPT_LANGUAGE="zh-hans",
        )
        transaction.set_rollback(True)
    return answer


def test_every_fault_is_said_in_chinese(
    house: House, ada: APIClient, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "rest_framework.throttling.ScopedRateThrottle.THROTTLE_RATES",
        {"token": None, "checkpoint": None, "measurement": None},
    )
    english: dict[str, str] = {}
    heard: list[str] = []
    for name, arguments, method, _ in TABLE:
        if name in {"api-docs", "api-schema", "api-no-such-address"}:
            continue
        operation = document["paths"][template(name)][method]
        path = address(house, name, arguments, method)
        good = BODIES.get((name, method), {})
        sent: list[tuple[dict[str, str], Any]] = [(query, None) for query in queries(operation)]
        if method != "get" and (fields := fields_of(document, operation)):
            sent += [({}, body) for body in bodies(good, fields)]
        for query, body in sent:
            for text in said(refused(ada, method, path, query, body)):
                heard.append(text)
                if not CHINESE.search(text):
                    english[text] = f"{method} {name} {query or str(body)[:200]}"
    assert len(heard) > 1000
    assert not english
