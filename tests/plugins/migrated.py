"""Databases that are migrated already: one is migrated by the real command, the others are copies of it.

Migrating takes a process some seconds, and dozens of tests begin with it.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.plugins.servers import PostgresServer

ROOT = Path(__file__).parents[2]
TEMPLATE = "migrated"


def copy_migrated_sqlite(target: Path) -> None:
    """Put a migrated, empty SQLite database at `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(_sqlite(), target)


def create_migrated_database(server: PostgresServer, name: str) -> str:
    """Make a migrated, empty database on the server; its DATABASE_URL."""
    return server.create_database(name, _postgres(server))


@cache
def _sqlite() -> Path:
    home = Path(tempfile.mkdtemp(prefix="giveway-migrated-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    path = home / "giveway.sqlite3"
    _migrate(f"sqlite:///{path}", home)
    return path


@cache
def _postgres(server: PostgresServer) -> str:
    with tempfile.TemporaryDirectory(prefix="giveway-migrated-") as home:
        _migrate(server.create_database(TEMPLATE), Path(home))
    return TEMPLATE


def _migrate(url: str, home: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIVEWAY_", "PYTEST"))}
    settings = {
        "DATABASE_URL": url,
        "GIVEWAY_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "console.settings.test",
    }
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    done = subprocess.run(
        command, cwd=ROOT, env={**kept, **settings}, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise RuntimeError(f"migrate failed:\n{done.stdout}{done.stderr}")
