"""No secret in a log line: by its name, by its form, by its value."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from pytest_django import Settings

from console.core import redaction
from console.core.redaction import HIDDEN, hide
from console.settings import logs

# As `signing.dumps` makes them; made anew it would differ between the processes that share the tests.
SIGNED = "eyJqb2IiOiIxMDEiLCJ1c2VyIjoiYW5uIn0:1xUuJK:7poVmvgvG-agY5aaKN_CP1vGWYBXZQ7H-_-VWlyAhAY"


@pytest.fixture
def secrets(settings: Settings) -> Iterator[dict[str, str]]:
    values = {
        "SECRET_KEY": 'key-"with"-quotes-and-ümlaut',
        "REDIS_URL": "redis://:broker%21pass@127.0.0.1:6379/0",
        "GIVEWAY_WEBHOOK_SECRET": "hook-signs-with-this",
        "GIVEWAY_WEBHOOK_URL": "https://hooks:inside-address@example.org/x",
        "EMAIL_HOST_PASSWORD": "mail-box-opens",
    }
    for name, value in values.items():
        setattr(settings, name, value)
    redaction.forget()
    yield values
    redaction.forget()


@pytest.mark.parametrize(
    "value",
    [
        'key-"with"-quotes-and-ümlaut',
        "broker%21pass",
        "broker!pass",
        "hook-signs-with-this",
        "inside-address",
        "mail-box-opens",
    ],
)
def test_a_value_of_the_settings_is_hidden_wherever_it_turns_up(secrets: dict[str, str], value: str) -> None:
    for text in (
        f"found {value} in a message",
        json.dumps({"x": value}),
        json.dumps({"x": value}, ensure_ascii=False),
        repr(value),
    ):
        assert HIDDEN in hide(text)
        assert value not in hide(text)
        assert value not in json.dumps(hide(text), ensure_ascii=False)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://giveway:pw1@db/giveway failed", "pw1"),
        ("redis://:pw2@127.0.0.1:6379/0", "pw2"),
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("{'Authorization': 'Token abcdef'}", "abcdef"),
        ("sent Token 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
        (
            "key 0123456789abcdef0123456789abcdef01234567 of the API",
            "0123456789abcdef0123456789abcdef01234567",
        ),
        ("POST /x?token=sesame&page=2", "sesame"),
        ("connect(host='db', password='pw3', user='x')", "pw3"),
        ('{"password": "pw4", "user": "x"}', "pw4"),
        (json.dumps({"event": json.dumps({"checkpoint_token": "pw5"})}), "pw5"),
        ("PGPASSWORD=pw6 psql", "pw6"),
        ("GIVEWAY_METRICS_TOKEN=pw7", "pw7"),
        ("Set-Cookie: sessionid=pw8; Path=/", "pw8"),
        ("csrfmiddlewaretoken=pw9&username=x", "pw9"),
        ("api_key=pw10", "pw10"),
        (f"the job said {SIGNED} to us", SIGNED),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, secret: str) -> None:
    assert secret not in hide(text)
    assert HIDDEN in hide(text)


@pytest.mark.parametrize(
    "text",
    [
        "plan 12 for 101 (ann): 101 needs 6 cpu; stopping 88 gives them",
        "GET /api/v1/tokens/ 200",
        "The token is missing.",
        "http://127.0.0.1:8000/readyz did not answer",
        "snapshot 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "request_id=0123456789abcdef0123456789abcdef",
        "Token authentication is on",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert hide(text) == text


@pytest.fixture(params=[True, False], ids=["json", "words"])
def written(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What the real set-up writes; pytest's own handlers are put back."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    logs.configure_logging(json=request.param, level="DEBUG")
    out = io.StringIO()
    (handler,) = (h for h in root.handlers if h not in before)
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(out)
    yield out
    root.handlers[:] = before
    root.setLevel(level)
    logs.configure_logging(json=False, level="INFO")
    root.handlers[:] = before


def test_a_field_is_hidden_by_its_name_at_any_depth(written: io.StringIO) -> None:
    structlog.get_logger("x").info(
        "signed in", password="p1", user="ann", headers={"Cookie": "p2", "Host": "h", "n": [{"token": "p3"}]}
    )
    line = written.getvalue()
    assert "ann" in line and "signed in" in line
    assert not [secret for secret in ("p1", "p2", "p3") if secret in line]


def test_a_traceback_is_written_without_the_secret_in_it(
    written: io.StringIO, secrets: dict[str, str]
) -> None:
    def connect() -> None:
        raise ConnectionError("no answer from redis://:broker%21pass@127.0.0.1:6379/0, hook-signs-with-this")

    try:
        connect()
    except ConnectionError:
        structlog.get_logger("ours").exception("it broke")
        logging.getLogger("theirs").exception("it broke")
    text = written.getvalue()
    assert text.count("ConnectionError") >= 2 and text.count("Traceback") == 2
    assert "broker%21pass" not in text and "hook-signs-with-this" not in text


def test_json_is_one_object_a_line(written: io.StringIO, request: pytest.FixtureRequest) -> None:
    hostile = 'name"}\n{"event": "forged"'
    structlog.get_logger("x").info("job", name=hostile)
    logging.getLogger("y").warning("no %s", "args")
    lines = written.getvalue().splitlines()
    assert len(lines) == 2
    if "json" in request.node.name.split("[")[1]:
        first, second = map(json.loads, lines)
        assert (first["event"], first["name"], first["level"], first["logger"]) == (
            "job",
            hostile,
            "info",
            "x",
        )
        assert second["event"] == "no args" and second["timestamp"].endswith("Z")
