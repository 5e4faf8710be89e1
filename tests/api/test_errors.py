"""Whatever goes wrong, the answer has one shape and says what to do."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.api import jobs
from console.api.handler import flatten
from tests.api.conftest import House

PROJECTS = "/api/v1/projects/"


def error_of(response: Any) -> dict[str, Any]:
    """The error, after a look at its shape."""
    assert response["Content-Type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message", "fields"}
    assert isinstance(body["error"]["message"], str) and body["error"]["message"]
    return dict(body["error"])


@pytest.mark.parametrize(
    ("detail", "wanted"),
    [
        ({"name": ["empty"]}, [("name", "empty")]),
        ({"levels": [{}, {"name": ["a", "b"]}]}, [("levels[1].name", "a"), ("levels[1].name", "b")]),
        ({"members": {2: ["too long"]}}, [("members[2]", "too long")]),
        ({"policy": {"non_field_errors": ["odd"]}}, [("policy", "odd")]),
        ({"non_field_errors": ["odd"]}, [("", "odd")]),
        (["odd"], [("", "odd")]),
        ({"policy": {"levels[1].name": ["empty"]}}, [("policy.levels[1].name", "empty")]),
    ],
)
def test_faults_are_named_by_their_json_path(detail: Any, wanted: list[tuple[str, str]]) -> None:
    assert list(flatten(detail)) == wanted


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"{", "application/json", 400, "parse_error"),
        (b"[" * 200_000, "application/json", 400, "parse_error"),
        (b'{"size": NaN}', "application/json", 400, "invalid"),
        (b"\xff\xfe", "application/json", 400, "parse_error"),
        (b'{"size": ' + b"9" * 5000 + b"}", "application/json", 400, "invalid"),
        (b"a,b", "text/csv", 415, "unsupported_media_type"),
        (b"{}" + b" " * (10 * 1024 * 1024), "application/json", 413, "too_large"),
        (b'"text"', "application/json", 400, "invalid"),
        (b"[]", "application/json", 400, "invalid"),
        (b"", "application/json", 400, "invalid"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    house: House, ada: APIClient, body: bytes, content_type: str, status: int, code: str
) -> None:
    response: Any = ada.generic("POST", PROJECTS, body, content_type=content_type)  # type: ignore[arg-type]
    assert (response.status_code, error_of(response)["code"]) == (status, code)


def test_the_first_fault_stands_in_the_message_and_all_in_the_fields(house: House, ada: APIClient) -> None:
    error = error_of(ada.post(PROJECTS, {"code": "c", "name": "C", "size": "large", "reason": "r"}))
    assert set(error["fields"]) == {"size", "grade", "urgency"}
    assert error["message"] == "size: A valid number is required. (and 2 more)"


def test_a_method_that_is_not_there_says_so(house: House, ada: APIClient) -> None:
    response = ada.delete("/api/v1/jobs/")
    assert (response.status_code, error_of(response)["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize("path", ["", "jobs", "jobs/1/2/", "nodes/a%00b/", "nope/", "plans/x/", "plans/-1/"])
def test_an_address_that_is_not_there_is_answered_in_json(house: House, ada: APIClient, path: str) -> None:
    response = ada.get(f"/api/v1/{path}")
    assert (response.status_code, error_of(response)["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["plans/99999999999999999999999/", "audit/99999999999999999999999/"])
def test_a_number_beyond_every_row_is_not_there(house: House, ada: APIClient, path: str) -> None:
    assert ada.get(f"/api/v1/{path}").status_code == 404


def test_a_wrong_token_is_401_with_the_way_in(house: House) -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION="Token wrong")
    response = client.get("/api/v1/jobs/")
    assert (response.status_code, error_of(response)["code"]) == (401, "authentication_failed")
    assert response["WWW-Authenticate"] == "Token"


def test_a_defect_of_ours_is_500_names_the_request_and_is_logged(
    house: House,
    as_person: Callable[[str], APIClient],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(jobs.Jobs, "get_object", broken)
    client = as_person("vera")
    client.raise_request_exception = False
    response = client.get("/api/v1/jobs/101/")
    error = error_of(response)
    assert (response.status_code, error["code"]) == (500, "server_error")
    assert response["X-Request-ID"] in error["message"] and "secret" not in error["message"]
    assert "secret detail" in caplog.text


def test_a_defect_of_ours_is_not_hidden_from_tests(
    house: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("seen")

    monkeypatch.setattr(jobs.Jobs, "get_object", broken)
    with pytest.raises(RuntimeError, match="seen"):
        ada.get("/api/v1/jobs/101/")
