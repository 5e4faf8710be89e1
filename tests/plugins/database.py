"""What tests need from the database: that it can be emptied, and one that several processes share.

Tests that run in a transaction (`django_db`) are rolled back, which no trigger of the audit log minds. Those that
commit (`transactional_db`, `live_server`) empty all tables afterwards; for that the triggers are taken away and put
back.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.db import connections
from django.test import TransactionTestCase

from tests.plugins.migrated import copy_migrated_sqlite, create_migrated_database
from tests.plugins.servers import PostgresServer

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60


@dataclass
class SharedDatabase:
    """A migrated database for real processes, SQLite and PostgreSQL in turn; they have the test's own home folder."""

    url: str
    home: Path
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "DATABASE_URL": self.url,
            "GIVEWAY_HOME": str(self.home),
            "DJANGO_SETTINGS_MODULE": "console.settings.test",
        }

    def manage(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run `manage.py` to its end."""
        return self._run(["manage.py", *arguments], given)

    def python(self, code: str, *arguments: str) -> str:
        """Run code with Django set up; what it printed."""
        done = self._run(["-c", f"import django; django.setup()\n{code}", *arguments], None)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        """Start code with Django set up; it waits for a line (`go`) before it runs, so that several begin together."""
        process = subprocess.Popen(
            [sys.executable, "-c", f"import django; django.setup()\nprint(); input()\n{code}", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def go(self) -> list[str]:
        """Let what was started run to its end; what each printed."""
        for process in self.running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return self.ends()

    def ends(self) -> list[str]:
        """What each printed; all must end well."""
        printed = [process.communicate(timeout=TIMEOUT_S)[0] for process in self.running]
        assert [process.returncode for process in self.running] == [0] * len(self.running)
        self.running = []
        return printed

    def _run(self, arguments: list[str], given: str | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            input=given or "",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )


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
        process.communicate()


@pytest.fixture(scope="session", autouse=True)
def database_can_be_emptied() -> Iterator[None]:
    """Around the emptying only: while a test runs, the log is as guarded as in production."""
    from console.audit import triggers

    # Django's own names, not in its type information.
    empty = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]

    def unguarded(case: TransactionTestCase) -> None:
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
