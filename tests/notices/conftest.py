"""A mail server and a webhook's receiver on loopback: real sockets, and what they heard."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pytest_django import Settings

from tests.steering import conftest as steering

sim = steering.sim
"""The simulated cluster of the steering's tests."""
SECRET = "between you and me"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@dataclass
class MailSink:
    """What an SMTP server was given: (recipient, message). `refuses`: recipients that it does not know."""

    port: int = 0
    mails: list[tuple[str, EmailMessage]] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    connections: int = 0
    drops_after: int | None = None
    """After so many e-mails it says nothing more and closes."""

    def to(self, recipient: str) -> list[EmailMessage]:
        return [mail for address, mail in self.mails if address == recipient]


class _Smtp(socketserver.StreamRequestHandler):
    timeout = 20

    def handle(self) -> None:
        sink: MailSink = self.server.sink  # type: ignore[attr-defined]
        sink.connections += 1
        recipients: list[str] = []
        self._say("220 sink")
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "RCPT":
                address = line.partition("<")[2].partition(">")[0]
                if address in sink.refuses:
                    self._say("550 nobody of that name")
                    continue
                recipients.append(address)
            elif verb == "DATA":
                self._say("354 go on")
                body = self._body()
                if sink.drops_after is not None and len(sink.mails) >= sink.drops_after:
                    return
                message: Any = message_from_bytes(body, policy=policy.default)
                sink.mails += [(address, message) for address in recipients]
                recipients = []
            elif verb == "QUIT":
                self._say("221 bye")
                return
            self._say("250 sink")

    def _body(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in {b".\r\n", b""}:
            lines.append(line)
        return b"".join(lines)

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@dataclass
class Receiver:
    """What a webhook's receiver was sent: (headers, body). `answers`: the status of each coming request, then 200."""

    url: str = ""
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    holds: threading.Event | None = None
    """When set, the receiver answers only after this event."""
    begun: threading.Event = field(default_factory=threading.Event)

    @property
    def notices(self) -> list[dict[str, Any]]:
        return [notice for _, body in self.posts for notice in json.loads(body)]


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        receiver: Receiver = self.server.receiver  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver.posts.append((dict(self.headers), body))
        receiver.begun.set()
        if receiver.holds is not None:
            receiver.holds.wait(300)
        status = receiver.answers.pop(0) if receiver.answers else 200
        self.send_response(status)
        if status in {301, 302, 307}:
            self.send_header("Location", f"{receiver.url}elsewhere")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Quietly."""


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def mail_sink() -> Iterator[MailSink]:
    """An SMTP server that keeps what it is given."""
    sink = MailSink()
    server = _Server(("127.0.0.1", 0), _Smtp)
    server.sink = sink  # type: ignore[attr-defined]
    sink.port = server.server_address[1]
    with _serving(server):
        yield sink


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """An HTTP server that keeps what it is posted."""
    found = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hook)
    server.receiver = found  # type: ignore[attr-defined]
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook/"
    with _serving(server):
        yield found


@pytest.fixture
def by_mail(settings: Settings, mail_sink: MailSink) -> MailSink:
    """E-mails are switched on and go to the sink."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", mail_sink.port
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.GIVEWAY_EMAIL = True
    settings.GIVEWAY_EMAIL_FROM = "Giveway <giveway@hpc.example>"
    settings.GIVEWAY_EMAIL_DOMAIN = "hpc.example"
    return mail_sink


@pytest.fixture
def by_hook(settings: Settings, receiver: Receiver) -> Receiver:
    """The webhook is switched on and goes to the receiver."""
    settings.GIVEWAY_WEBHOOK_URL = receiver.url
    settings.GIVEWAY_WEBHOOK_SECRET = SECRET
    return receiver
