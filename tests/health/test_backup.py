"""Backup and restore as docs/operations.md has them, on SQLite's file: typed as they stand there."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.e2e.processes import ROOT
from tests.plugins.database import SharedDatabase
from tests.plugins.migrated import copy_migrated_sqlite


def the_command() -> str:
    """The copy of SQLite's file, as the page has it."""
    page = (ROOT / "docs" / "operations.md").read_text()
    [found] = re.findall(r"^python3 -c 'import sqlite3.*$", page, re.MULTILINE)
    return found


def test_a_backup_of_a_console_that_runs_can_be_restored(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    copy_migrated_sqlite(home / "giveway.sqlite3")
    backup.mkdir()
    console = SharedDatabase(f"sqlite:///{home / 'giveway.sqlite3'}", home)

    def ran(*words: str, ends: int = 0) -> str:
        done = console.manage(*words)
        assert done.returncode == ends, done.stdout + done.stderr
        return done.stdout

    ran("pause", "--reason", "before it")
    ran("audit", "anchor")
    shutil.copy(home / "audit-anchors.log", backup)
    ran("resume")  # Giveway goes on: rows and an anchor that the copy of the anchors lacks
    ran("pause", "--reason", "between the two")
    ran("audit", "anchor")
    typed = the_command().replace("/backup/", f"{backup}/")
    subprocess.run(
        ["/bin/sh", "-c", typed], check=True, env={**os.environ, "GIVEWAY_HOME": str(home)}, timeout=300
    )
    ran("resume")
    ran("audit", "anchor")

    for name in ("giveway.sqlite3", "giveway.sqlite3-wal", "giveway.sqlite3-shm"):
        (home / name).unlink(missing_ok=True)
    shutil.copy(backup / "giveway.sqlite3", home)
    ran("audit", "verify", ends=1)  # the newer anchors speak of rows that are gone
    shutil.copy(backup / "audit-anchors.log", home)
    ran("audit", "anchor")
    assert "The audit log is whole" in ran("audit", "verify")
    assert "between the two" in ran("pause")
