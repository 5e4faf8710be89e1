"""An installation as somebody has set it up, with its folder, its settings and its server."""

import http.client
import json
import re
import socket
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.processes import clean_environment, manage, process, wait_until
from tests.plugins.migrated import copy_migrated_sqlite
from tests.plugins.server_process import free_port

ANSWER_S = 180
SECRET = "k8s-" + "x7Qz-" * 12
PASSWORD = "a long enough password"
FORM = "application/x-www-form-urlencoded"
PEOPLE = f"""
from console.accounts.services import AccountData, create_account
for name, role in (("root", "administrator"), ("vera", "viewer")):
    create_account(actor="system", username=name, data=AccountData(role=role), password="{PASSWORD}", reason="Test.")
"""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def data(self) -> Any:
        """The JSON in it."""
        return json.loads(self.text)


class _Unix(http.client.HTTPConnection):
    """By a socket's path, as a proxy comes."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=ANSWER_S)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass
class Client:
    """A client with its cookies, at the port or at the socket."""

    port: int
    unix: Path | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: str | bytes = "", kind: str = FORM, **headers: str) -> Answer:
        """One request on a connection of its own."""
        new = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        connection = _Unix(self.unix) if self.unix else new
        sent = {"Host": "localhost", "Content-Type": kind, **self.headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return Answer(answer.status, dict(answer.headers.items()), text)

    def send(self, path: str, sent: Any, method: str = "POST", **headers: str) -> Answer:
        """JSON, to the API."""
        return self.ask(method, path, json.dumps(sent), "application/json", **headers)

    def fill_in(self, page: str, **fields: str) -> Answer:
        """A form of a page, sent to the page itself."""
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.ask("GET", page).text)
        assert found, "the page has a form"
        body = urllib.parse.urlencode({"csrfmiddlewaretoken": found[1], **fields})
        return self.ask("POST", page, body, Referer=f"https://localhost{page}")

    def sign_in(self, name: str, password: str = PASSWORD) -> Answer:
        """By the page."""
        return self.fill_in("/sign-in/", username=name, password=password)


@dataclass
class Installation:
    """Its folder, its environment, and where its server listens."""

    home: Path
    env: dict[str, str]
    port: int
    unix: Path

    def client(self, *, by_proxy: bool = False, **headers: str) -> Client:
        """Somebody at the port, or who comes by the proxy at the socket."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Client(self.port, self.unix if by_proxy else None, named)

    def run(self, code: str) -> str:
        """What a piece of Python says inside the console."""
        done = manage("shell", "-v0", "-c", code, env=self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def served(self, log: Path) -> Iterator[None]:
        """gunicorn as in an embedded installation, at the port and at the socket, until the block ends."""
        gunicorn = ("-m", "gunicorn", "console.wsgi", "--config=python:console.launch.web", "--umask=0o077")
        binds = (f"--bind=127.0.0.1:{self.port}", f"--bind=unix:{self.unix}")
        with process(*gunicorn, *binds, env=self.env, log=log) as web:
            wait_until(lambda: web.poll() is not None or self._answers(), "the console answers", 60, log)
            assert web.poll() is None, log.read_text()
            yield

    def _answers(self) -> bool:
        try:
            return self.client().ask("GET", "/livez").status == 200
        except OSError:
            return False


def installation(folder: Path, **settings: str) -> Installation:
    """A new one, with two people in it. `settings`: environment variables."""
    home = folder / "home"
    copy_migrated_sqlite(home / "giveway.sqlite3")
    given = {
        "GIVEWAY_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "console.settings.local",
        "LOG_LEVEL": "ERROR",
        **settings,
    }
    made = Installation(home, clean_environment(**given), free_port(), folder / "web.sock")
    made.run(PEOPLE)
    return made


def production(folder: Path, **settings: str) -> Installation:
    """The same under the settings of a real installation."""
    return installation(
        folder,
        DJANGO_SETTINGS_MODULE="console.settings.production",
        SECRET_KEY=SECRET,
        ALLOWED_HOSTS="localhost",
        DATABASE_URL=f"sqlite:///{folder / 'home' / 'giveway.sqlite3'}",
        **settings,
    )
