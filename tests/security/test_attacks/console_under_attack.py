"""A console as a newcomer runs it: gunicorn with its threads over an SQLite file of its own; and people with tokens.

ada administers the console, dave the partition x, pam manages the project alpha, vera may look.
"""

import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.processes import clean_environment, manage, process, wait_until
from tests.plugins.migrated import copy_migrated_sqlite
from tests.plugins.server_process import free_port

ANSWER_S = 120
SEED = """
import json
from console.accounts.models import User
from console.accounts.services import AccountData, create_account
from console.accounts.tokens import TokenData, make_token
from console.cluster.connect import configured_cluster
from console.partitions.services import activate_policy, ensure_partition, set_admins
from console.projects.services import ProjectData, create_project
tokens = {}
for name, role in (("ada", "administrator"), ("dave", "viewer"), ("pam", "viewer"), ("vera", "viewer")):
    account = create_account(actor="system", username=name, data=AccountData(role=role), password="giveway-demo",
                             reason="Test.")
    tokens[name] = make_token(account, TokenData(name="test"), actor=name)[1]
cluster = configured_cluster()
x = ensure_partition(cluster=cluster, name="x")
levels = [{"name": "P0", "min_score": 60, "keyword": "p0", "keyword_users": ["ann"]}, {"name": "P1", "min_score": 1}]
policy = {"name": "x", "mode": "user_then_task", "levels": levels, "quotas": {"P0": 7}, "exempt_s": 11,
          "max_stops_per_hour": 13, "protected_users": ["root"]}
activate_policy(actor="ada", partition=x, document=policy, reason="Test.", based_on=x.revision.number)
set_admins(actor="ada", partition=x, usernames=["dave"], reason="Test.")
for code in ("alpha", "beta"):
    create_project(actor="ada", cluster=cluster, reason="Test.", data=ProjectData(
        code, code, 1, 1, 1, members=("ann",), managers=("pam",) if code == "alpha" else ()))
print(json.dumps(tokens))
"""


@dataclass(frozen=True)
class Answer:
    """What came back, and after how long."""

    status: int
    text: str
    seconds: float
    retry_after: str = ""

    @property
    def data(self) -> Any:
        """The JSON in it."""
        return json.loads(self.text)


@dataclass
class Console:
    """The running server."""

    home: Path
    env: dict[str, str]
    port: int
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        """Its SQLite file."""
        return self.home / "giveway.sqlite3"

    def ask(self, who: str, method: str, path: str, body: object = None, **said: str) -> Answer:
        """One request to the API by somebody ("": nobody)."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}" if path[:1] != "/" else self.url(path)
        sent = {"Content-Type": "application/json", **said}
        if who:
            sent["Authorization"] = f"Token {self.tokens[who]}"
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(url, data, sent, method=method)
        begin = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
                status, text, headers = answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            status, text, headers = error.code, error.read().decode(), error.headers
        return Answer(status, text, time.monotonic() - begin, headers.get("Retry-After", ""))

    def url(self, path: str) -> str:
        """A page's address."""
        return f"http://127.0.0.1:{self.port}{path}"

    def manage(self, *argv: str) -> tuple[int, str]:
        """A command's status and all that it said."""
        done = manage(*argv, env=self.env)
        return done.returncode, done.stdout + done.stderr

    def run(self, code: str) -> str:
        """What a piece of Python says inside the console."""
        status, said = self.manage("shell", "-v0", "-c", code)
        assert status == 0, said
        return said


@contextmanager
def running_console(home: Path, **settings: str) -> Iterator[Console]:
    """A console with its people, until the block ends."""
    home.mkdir(mode=0o700)
    database = home / "giveway.sqlite3"
    copy_migrated_sqlite(database)
    database.chmod(0o600)
    env = clean_environment(
        GIVEWAY_HOME=str(home),
        DATABASE_URL=f"sqlite:///{database}",
        DJANGO_SETTINGS_MODULE="console.settings.local",
        LOG_LEVEL="ERROR",
        PYTHONUNBUFFERED="1",
        **settings,
    )
    console = Console(home, env, free_port())
    console.tokens = json.loads(console.run(SEED).splitlines()[-1])
    log = home / "web.log"
    gunicorn = ("-m", "gunicorn", "console.wsgi", "--config=python:console.launch.web")
    with process(*gunicorn, f"--bind=127.0.0.1:{console.port}", env=env, log=log) as web:
        wait_until(lambda: web.poll() is not None or _answers(console), "the console answers", 60, log)
        assert web.poll() is None, log.read_text()
        yield console


def _answers(console: Console) -> bool:
    try:
        return console.ask("", "GET", "/livez").status == 200
    except OSError:
        return False


@dataclass
class Others:
    """What everybody else was answered meanwhile: reading and writing, in turns."""

    answers: list[Answer] = field(default_factory=list)

    @property
    def slowest(self) -> float:
        """The longest wait of all of them, in seconds."""
        return max(answer.seconds for answer in self.answers)

    @property
    def failed(self) -> list[Answer]:
        """Those that the server could not answer."""
        return [answer for answer in self.answers if answer.status >= 500]


@contextmanager
def others_at_work(console: Console) -> Iterator[Others]:
    """Ask and change things as other people while the block runs; one round at least."""
    others, over = Others(), threading.Event()

    def work() -> None:
        rounds = 0
        while rounds == 0 or not over.is_set():
            others.answers.append(console.ask("vera", "GET", "jobs/"))
            others.answers.append(console.ask("dave", "PUT", "partitions/x/pause/", {"reason": f"{rounds}"}))
            others.answers.append(console.ask("dave", "DELETE", "partitions/x/pause/"))
            rounds += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield others
    finally:
        over.set()
        thread.join()


def tracebacks(console: Console) -> str:
    """What the server wrote to its log of its own failing."""
    text = (console.home / "web.log").read_text(errors="replace")
    return text if "Traceback" in text else ""


def at_once(work: Callable[[], Answer], times: int) -> list[Answer]:
    """The same from several clients at a time."""
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda: answers.append(work())) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def as_root() -> bool:
    """Whether this test may read anybody's files anyway."""
    return os.geteuid() == 0
