"""The library: typed records, refusals as exceptions, and a change that is sent again is done once."""

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import giveway_client
from console.audit.models import AuditEntry
from giveway_client import (
    ChangedError,
    ForbiddenError,
    Giveway,
    InvalidError,
    NotFoundError,
    UnreachableError,
)
from tests import factories
from tests.api.conftest import House
from tests.client.conftest import PACKAGE


@pytest.fixture
def console(house: House, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Giveway:
    """The live console, asked as its administrator."""
    monkeypatch.setenv("no_proxy", "*")
    return Giveway(live_server.url, factories.make_token(house.people["ada"], "library"))


@pytest.mark.django_db(transaction=True)
def test_records(house: House, console: Giveway) -> None:
    (job,) = console.jobs(job_id="101")
    assert (job.user_level.name, job.user_level.rank, job.place, job.started_at) == ("P0", 0, 1, None)
    assert job.submitted_at == datetime.fromisoformat(job.raw["submitted_at"])
    assert job.submitted_at.tzinfo is not None
    assert console.job("102", partition="y").partition == "y"
    plan = console.plan(house.plan.pk)
    assert (plan.job_id, plan.victims[0].job, plan.victims[0].user) == ("101", "88", "bob")
    assert [each.name for each in console.partitions()] == ["x", "y"]
    assert [each.code for each in console.projects(member="ann")] == ["alpha"]
    assert console.account()["username"] == "ada"


@pytest.mark.django_db(transaction=True)
def test_more_than_one_page(house: House, console: Giveway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giveway_client.client, "PAGE", 2)
    assert len(list(console.jobs())) == 4
    assert len(list(console.jobs(most=3))) == 3
    assert list(console.jobs(user="nobody")) == []


@pytest.mark.django_db(transaction=True)
def test_refusals(house: House, console: Giveway, live_server: Any) -> None:
    with pytest.raises(NotFoundError) as missing:
        console.project("nothing")
    assert (missing.value.status, missing.value.code) == (404, "not_found")
    with pytest.raises(InvalidError) as invalid:
        console.change_project("alpha", size=-1, reason="x")
    assert set(invalid.value.fields) == {"size"}
    with pytest.raises(ChangedError):
        console.change_project("alpha", urgency=4, version=7, reason="x")
    vera = Giveway(live_server.url, factories.make_token(house.people["vera"], "library"))
    with pytest.raises(ForbiddenError):
        vera.pause(reason="x")


@pytest.mark.django_db(transaction=True)
def test_a_change_whose_answer_got_lost_is_done_once(
    house: House, console: Giveway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The console did it, and the answer broke off on its way."""
    from giveway_client import transport

    lost: list[bytes] = []
    decode = transport.Transport._decode

    def lose(self: Any, body: bytes) -> Any:
        if b'"version":2' in body and not lost:
            lost.append(body)
            raise ConnectionResetError("gone")
        return decode(self, body)

    monkeypatch.setattr(transport.Transport, "_decode", lose)
    monkeypatch.setattr(transport, "FIRST_PAUSE_S", 0)
    changed = console.change_project("alpha", urgency=4, version=1, reason="x")
    assert lost and (changed.urgency, changed.version) == (4, 2)
    assert AuditEntry.objects.filter(action="project.changed").count() == 1


class _Flaky(http.server.BaseHTTPRequestHandler):
    """Fails twice, then answers; notes the keys."""

    keys: list[str | None] = []
    failing = 2

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(self.headers.get("Idempotency-Key"))
        fails = len(self.keys) <= self.failing
        self.send_response(503 if fails else 200)
        self.end_headers()
        self.wfile.write(b"<html>" if fails else json.dumps({"paused": False, "pauses": []}).encode())

    def log_message(self, *args: object) -> None:
        """Quietly."""


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(giveway_client.transport, "FIRST_PAUSE_S", 0)
    monkeypatch.setenv("no_proxy", "*")
    _Flaky.keys.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Flaky)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_the_same_key_for_each_try_and_a_new_one_for_each_change(flaky: str) -> None:
    console = Giveway(flaky, "t0ken")
    assert console.pause() == []
    first, *others = _Flaky.keys
    assert first and others == [first, first]
    console.pause()
    assert _Flaky.keys[-1] not in {None, first}


def test_it_gives_up(flaky: str) -> None:
    with pytest.raises(UnreachableError, match="answered 503"):
        Giveway(flaky, "t0ken", tries=2).pause()
    assert len(_Flaky.keys) == 2


def test_it_tells_type_checkers_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert set(giveway_client.__all__) <= set(vars(giveway_client))


def test_moments_of_another_python() -> None:
    from giveway_client.records import moment

    assert moment("2026-11-21T10:00:00Z") == datetime(2026, 11, 21, 10, tzinfo=UTC)
    assert moment(None) is None


def test_the_built_command_is_a_library_too(command: Path) -> None:
    """As docs/giveway-command.md says."""
    code = f"import sys; sys.path.insert(0, {str(command)!r}); import giveway_client; print(giveway_client.__file__)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith(f"{command}/"), done.stderr
