"""What tests need from the database: that it can be emptied, and one that several processes share.

Tests that run in a transaction (`django_db`) are rolled back, which no trigger of the audit log minds. Those that
commit (`transactional_db`, `live_server`) empty all tables afterwards; for that the triggers are taken away and put
back.
"""

import os
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache, caches
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.test import TransactionTestCase
from django.utils import translation
from pytest_django.live_server_helper import LiveServer

from console.audit.anchors import FILE
from console.cluster.memory import forget_memory
from console.core.ttl_cache import clear_answers
from tests.plugins import answering
from tests.plugins.forking import Forked, forker
from tests.plugins.migrated import copy_migrated_sqlite, create_migrated_database
from tests.plugins.servers import PostgresServer


@dataclass
class SharedDatabase:
    """A migrated database for real processes, SQLite and PostgreSQL in turn; they have the test's own home folder.

    `settings`: of the processes that are started from now on, where they differ from those of the tests.
    """

    url: str
    home: Path
    settings: dict[str, Any] = field(default_factory=dict)
    running: list[Forked] = field(default_factory=list)
    _count: int = 0

    def manage(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run `manage.py` to its end."""
        return self._run({"arguments": arguments}, given)

    def python(self, code: str, *arguments: str) -> str:
        """Run code with Django set up; what it printed."""
        done = self._run({"code": code, "arguments": arguments}, None)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, code: str, *arguments: str) -> Forked:
        """Start code with Django set up; it waits until `go` before it runs, so that several begin together."""
        gate = self._file("in")
        os.mkfifo(gate)
        process = self._fork({"code": code, "arguments": arguments}, gate)
        self.running.append(process)
        return process

    def go(self) -> list[str]:
        """Let what was started run to its end; what each printed."""
        for process in self.running:
            process.go()
        ended = [process.wait() for process in self.running]
        printed = [process.stdout.read_text() for process in self.running]
        errors = [process.stderr.read_text() for process in self.running]
        self.running = []
        assert ended == [0] * len(ended), errors
        return printed

    def _run(self, what: dict[str, Any], given: str | None) -> subprocess.CompletedProcess[str]:
        stdin = self._file("in")
        stdin.write_text(given or "")
        process = self._fork(what, stdin)
        status = process.wait()
        return subprocess.CompletedProcess([], status, process.stdout.read_text(), process.stderr.read_text())

    def _fork(self, what: dict[str, Any], stdin: Path) -> Forked:
        server, _, name = self.url.rpartition("/")
        sqlite = self.url.startswith("sqlite")
        parent = forker("sqlite:///" if sqlite else f"{server}/postgres")
        files = {"stdin": stdin, "stdout": self._file("out"), "stderr": self._file("err")}
        said = {key: str(path) for key, path in files.items()}
        database = self.url.removeprefix("sqlite:///") if sqlite else name
        about = {"home": str(self.home), "database": database, "settings": self.settings}
        return Forked(parent, parent.ask(**what, **said, **about)["pid"], **files)

    def _file(self, kind: str) -> Path:
        self._count += 1
        folder = self.home / "processes"
        folder.mkdir(exist_ok=True)
        return folder / f"{self._count}.{kind}"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """The tests' own database begins as a copy of the migrated one, where it is a file: migrating takes each process of
    a run ten seconds. Django then makes what is lacking of it, which is nothing.
    """
    if _is_a_file():
        own = connections[DEFAULT_DB_ALIAS].settings_dict["TEST"]
        copy_migrated_sqlite(Path(own["NAME"]))
        own["MIGRATE"] = False


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """A file that was copied just now is not made anew."""
    return _is_a_file()


def _is_a_file() -> bool:
    return connections[DEFAULT_DB_ALIAS].vendor == "sqlite"


@pytest.fixture(autouse=True)
def no_old_anchors() -> None:
    """A test that is rolled back takes its rows of the audit log with it, not the anchors that it wrote of them."""
    (Path(settings.HOME) / FILE).unlink(missing_ok=True)


@pytest.fixture
def migrated_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """DATABASE_URL of a new database with all tables, dropped afterwards."""
    name = f"test_{secrets.token_hex(6)}"
    yield create_migrated_database(postgres_server, name)
    postgres_server.drop_database(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharedDatabase]:
    """Each test runs twice: on an SQLite file and on a real PostgreSQL."""
    if request.param == "postgres":
        url = request.getfixturevalue("migrated_postgres_url")
    else:
        url = f"sqlite:///{tmp_path / 'giveway.sqlite3'}"
        copy_migrated_sqlite(tmp_path / "giveway.sqlite3")
    shared = SharedDatabase(url, tmp_path)
    yield shared
    for process in shared.running:
        process.kill()
        process.wait()


@pytest.fixture(autouse=True)
def the_usual_language() -> Iterator[None]:
    """A request leaves its language behind in its thread; whatever a test says outside a request is English."""
    yield
    translation.activate(settings.LANGUAGE_CODE)


@pytest.fixture(autouse=True)
def nothing_is_cached() -> None:
    """Tries at passwords are counted in the cache, which outlives a test; so do sums that are remembered."""
    cache.clear()
    caches["allowances"].clear()
    clear_answers()
    forget_memory()


@pytest.fixture(scope="session")
def live_server(live_server: LiveServer) -> LiveServer:
    """pytest-django's, whose last connections may end after it.

    A browser keeps connections open without asking anything. When they end, their threads close the connection to the
    database; that it is shared, pytest-django takes back before.
    """
    for connection in (live_server.thread.connections_override or {}).values():
        connection.inc_thread_sharing()
    answering.watch(live_server.thread.port)
    return live_server


@pytest.fixture(scope="session", autouse=True)
def database_can_be_emptied() -> Iterator[None]:
    """Around the emptying only: while a test runs, the log is as guarded as in production."""
    from console.audit import triggers

    # Django's own names, not in its type information.
    empty = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]

    def unguarded(case: TransactionTestCase) -> None:
        answering.wait()
        used = [connections[alias] for alias in case._databases_names(include_mirrors=False)]  # type: ignore[attr-defined]
        for connection in used:
            triggers.remove(connection)
        try:
            empty(case)
        finally:
            for connection in used:
                triggers.install(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", unguarded)
        yield


@pytest.fixture(autouse=True)
def _a_tests_own_transaction_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the log are refused outside a transaction, also where the test itself runs inside of one: what is
    forgotten there would fail only where nobody tests."""

    def in_transaction() -> bool:
        blocks = transaction.get_connection().atomic_blocks
        return any(not block._from_testcase for block in blocks)

    monkeypatch.setattr("console.audit.services.in_transaction", in_transaction)
