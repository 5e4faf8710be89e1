"""Requests made from the OpenAPI document, right and wrong ones: every answer is as the document has it.

`closed` lets the answers have no key that is not described. Each request is undone before the next.
"""

import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.urls import resolve
from hypothesis import HealthCheck, Phase, given, settings

from console.settings import base
from tests import factories
from tests.api.conftest import House
from tests.api.test_access import TABLE, address
from tests.api.test_schema import closed, document, template

__all__ = ["document"]
EXAMPLES = int(os.environ.get("GIVEWAY_WALK_EXAMPLES", "5"))
"""Per operation; more for a longer walk by hand."""
DOORS = {("/api/v1/token/", "post"), ("/api/v1/account/password/", "put")}
"""Where passwords are looked at: walked with the hashing of a real installation, and further."""
MOST_S = 2.0
"""Of a processor, for one request: time on a clock would be about the machine."""


def known_arguments(house: House) -> dict[tuple[str, str], dict[str, Any]]:
    """By path and method of the document: arguments of an address that leads to something of the house."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, arguments, method, _ in TABLE:
        if name.startswith(("api-docs", "api-schema", "api-no-such-address")):
            continue
        matched = resolve(urlsplit(address(house, name, arguments, method)).path).kwargs
        named = {"id" if key == "pk" else key: value for key, value in matched.items()}
        found.setdefault((template(name), method), named)
    return found


@pytest.fixture
def the_connection_stays() -> Iterator[None]:
    """A request closes a connection that is in a transaction, here the test's; Django's own client prevents it, too."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def conf(settings: Any) -> Any:
    """Django's settings: `settings` is hypothesis' own here."""
    return settings


def walk(examples: int) -> settings:
    """So many requests, the same ones each time."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.usefixtures("the_connection_stays")
@pytest.mark.parametrize(
    ("role", "examples", "wrong_ones"), [("ada", EXAMPLES, True), ("vera", EXAMPLES // 2, False)]
)
def test_the_api_does_what_its_document_says(
    house: House,
    document: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    conf: Any,
    role: str,
    examples: int,
    wrong_ones: bool,
) -> None:
    import schemathesis  # here, so that only the process that runs this test loads it
    from schemathesis import checks
    from schemathesis.generation.feedback import NO_FEEDBACK

    conf.PASSWORD_HASHERS = base.PASSWORD_HASHERS
    monkeypatch.setattr(
        "rest_framework.throttling.ScopedRateThrottle.THROTTLE_RATES",
        {"token": None, "checkpoint": None, "measurement": None},
    )
    schema = schemathesis.openapi.from_dict(closed(document))
    schema.app = WSGIHandler()
    token = factories.make_token(house.people[role])
    held_against = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    arguments = known_arguments(house)
    assert set(arguments) >= DOORS
    slowest: dict[str, float] = {}
    statuses: set[tuple[str, int]] = set()
    for path, method in arguments:
        operation = schema[path][method]
        # Without `feedback` it would look for constants in the source of Django: ten seconds for nothing.
        made: dict[str, Any] = {
            "path_parameters": arguments[path, method],
            "feedback": NO_FEEDBACK,
        }
        cases = operation.as_strategy(**made)
        if wrong_ones:
            wrong = schemathesis.GenerationMode.NEGATIVE
            cases |= operation.as_strategy(wrong, **made)
            cases |= operation.as_strategy(wrong, feedback=NO_FEEDBACK)  # and about what is not there

        @walk(6 * examples if (path, method) in DOORS else examples)
        @given(case=cases)
        def send(case: schemathesis.Case) -> None:
            begin = time.process_time()
            with transaction.atomic():
                # As it is: schemathesis does not unpack what a WSGI application compresses.
                response = case.call(
                    headers={"Authorization": f"Token {token}", "Accept-Encoding": "identity"}
                )
                transaction.set_rollback(True)
            taken = time.process_time() - begin
            slowest[case.operation.label] = max(taken, slowest.get(case.operation.label, 0))
            statuses.add((case.operation.label, response.status_code))
            case.validate_response(response, checks=held_against)

        send()
    refused = {label for label, status in statuses if status == 401}
    assert not refused, "the token was not sent"
    assert {label for label, taken in slowest.items() if taken > MOST_S} == set()
    answered = {label for label, status in statuses if status < 300}
    assert len(answered) > 20, "many requests must get past the door"


def test_every_status_of_the_access_table_is_described(document: dict[str, Any]) -> None:
    for name, _, method, wanted in TABLE:
        if name.startswith(("api-docs", "api-schema", "api-no-such-address")):
            continue
        described = document["paths"][template(name)][method]["responses"]
        assert {str(status) for status in wanted} <= set(described), (name, method)
