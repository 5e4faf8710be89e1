"""The `giveway` command where something around it is wrong: one line that says what, and never a traceback."""

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

SAID = "The LDAP directory does not answer."


class _Hindered(http.server.BaseHTTPRequestHandler):
    """A console that is there, and cannot answer just now; it says why. All else is an empty list."""

    def do_GET(self) -> None:
        hindered = "/plans/" in self.path
        body = {"error": {"code": "unavailable", "message": SAID, "fields": {}}} if hindered else self.empty()
        self.send_response(503 if hindered else 200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    @staticmethod
    def empty() -> dict[str, object]:
        return {"count": 0, "next": None, "previous": None, "results": []}

    def log_message(self, *args: object) -> None:
        """Quietly."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hindered)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def ran(
    command: Path, url: str, words: str, after: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """The command in a shell, with what a shell puts behind it."""
    given = {"PATH": os.environ["PATH"], "HOME": str(command.parent), "LANG": "C.UTF-8", "no_proxy": "*"}
    return subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -I "{command}" {words} {after}'],
        env=given | {"GIVEWAY_URL": url, "GIVEWAY_TOKEN": "t0ken"} | more,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_a_console_that_says_why_it_cannot_is_quoted(command: Path, url: str) -> None:
    """It was "the console is not there now" while the console said what it waited for."""
    done = ran(command, url, "plans")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"giveway: {SAID}\n")


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://host:port", "http://host:99999", "https://host:0"]
)
def test_an_address_that_cannot_be_taken_apart(command: Path, address: str) -> None:
    done = ran(command, address, "plans")
    assert done.returncode == 2
    assert (
        done.stderr
        == f"giveway: '{address}' is no address of a console; for example https://giveway.example.org\n"
    )


def test_a_disk_without_room_for_the_answer(command: Path, url: str) -> None:
    done = ran(command, url, "jobs --user bob --json", "> /dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("giveway: the answer cannot be written: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("after", [">&-", "2>&-", ">&- 2>&-"])
def test_a_shell_that_has_closed_what_is_written_to(command: Path, url: str, after: str) -> None:
    assert ran(command, url, "jobs --user bob", after).returncode == 0
    assert "Traceback" not in ran(command, url, "plans", after).stderr
