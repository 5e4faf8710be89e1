"""Databases that are migrated already: one is migrated by the real command, the others are copies of it.

Migrating takes a process some seconds, and dozens of tests begin with it. The processes of pytest-xdist have one home
folder (console/settings/test.py): the first that needs a database migrates it, and the others find it there, an SQLite
file or what `pg_dump` wrote.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.plugins.server_process import found
from tests.plugins.servers import PostgresServer

ROOT = Path(__file__).parents[2]
TEMPLATE = "migrated"
PATIENCE_S = 500
"""Migrating takes seconds, and minutes where a machine is busy; the test itself may take ten."""


def copy_migrated_sqlite(target: Path) -> None:
    """Put a migrated, empty SQLite database at `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(_sqlite(), target)


def create_migrated_database(server: PostgresServer, name: str) -> str:
    """Make a migrated, empty database on the server; its DATABASE_URL."""
    return server.create_database(name, _postgres(server))


@cache
def _sqlite() -> Path:
    with _kept("migrated.sqlite3") as kept:
        if not kept.exists():
            made = kept.with_suffix(".made")
            _migrate(f"sqlite:///{made}")
            made.rename(kept)
        return kept


@cache
def _postgres(server: PostgresServer) -> str:
    url = server.create_database(TEMPLATE)
    with _kept("migrated.dump") as kept:
        if not kept.exists():
            _migrate(url)
            made = kept.with_suffix(".made")
            _client(server, "pg_dump", "--format=custom", f"--file={made}", TEMPLATE)
            made.rename(kept)
            return TEMPLATE
    _client(server, "pg_restore", "--exit-on-error", f"--dbname={TEMPLATE}", str(kept))
    return TEMPLATE


@contextmanager
def _kept(name: str) -> Iterator[Path]:
    """Where the processes of this run keep something that one of them makes while the others wait."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    home = os.environ.get("GIVEWAY_TESTS_HOME", os.environ["GIVEWAY_HOME"])  # that of the whole run
    path = Path(home) / f"{run}-{name}"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


def _client(server: PostgresServer, program: str, *arguments: str) -> None:
    command = [
        found(program, server.package),
        "--host=127.0.0.1",
        f"--port={server.port}",
        "--username=giveway",
    ]
    done = subprocess.run(
        [*command, *arguments],
        env={**os.environ, "PGPASSWORD": server.password},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    if done.returncode:
        raise RuntimeError(f"{program} failed:\n{done.stdout}{done.stderr}")


def _migrate(url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="giveway-migrated-") as home:
        _migrate_in(Path(home), url)


def _migrate_in(home: Path, url: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIVEWAY_", "PYTEST"))}
    settings = {
        "DATABASE_URL": url,
        "GIVEWAY_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "console.settings.test",
    }
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    done = subprocess.run(
        command, cwd=ROOT, env={**kept, **settings}, capture_output=True, text=True, timeout=PATIENCE_S
    )
    if done.returncode:
        raise RuntimeError(f"migrate failed:\n{done.stdout}{done.stderr}")
