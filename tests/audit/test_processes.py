"""The audit log with real processes on real databases: many writers, one chain; and what `manage.py audit` says."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
WRITER = """
import django
django.setup()
from django.db import transaction
from tests.audit.rows import append
print("ready", flush=True)
input()
for _ in range(25):
    with transaction.atomic():
        append(2)
"""
TIMEOUT_S = 60

Manage = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[int], list[subprocess.Popen[str]]]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of the test's own, that processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'giveway.sqlite3'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """Of every process of the test."""
    return {
        **os.environ,
        "DATABASE_URL": database_url,
        "GIVEWAY_HOME": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "console.settings.test",
    }


@pytest.fixture
def manage(environment: dict[str, str]) -> Manage:
    """Run `manage.py` to its end; the database is migrated."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )

    assert run("migrate", "--verbosity=0").returncode == 0
    return run


@pytest.fixture
def write(environment: dict[str, str]) -> Write:
    """Start writers of 50 rows each, which begin together."""

    def start(number: int) -> list[subprocess.Popen[str]]:
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(number)
        ]
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("\n")
            writer.stdin.flush()
        return writers

    return start


def tamper(database_url: str, statement: str) -> None:
    """As the owner of the database, who can take the triggers away."""
    if database_url.startswith("sqlite"):
        connection = sqlite3.connect(database_url.removeprefix("sqlite:///"))
        connection.executescript(
            f"DROP TRIGGER audit_refuse_update; DROP TRIGGER audit_refuse_delete; {statement}"
        )
        connection.close()
    else:
        with psycopg.connect(database_url) as session:
            session.execute("ALTER TABLE audit_auditentry DISABLE TRIGGER USER")
            session.execute(statement.encode())


def test_many_processes_write_one_chain_while_it_is_verified(manage: Manage, write: Write) -> None:
    writers = write(3)
    meanwhile = manage("audit", "verify")
    assert [writer.wait(TIMEOUT_S) for writer in writers] == [0, 0, 0]
    for writer in writers:
        writer.communicate()
    assert meanwhile.returncode == 0, meanwhile.stderr
    afterwards = manage("audit", "verify")
    assert afterwards.returncode == 0, afterwards.stderr
    assert "The audit log is whole: 150 rows verified, up to row 150;" in afterwards.stdout


def test_verify_names_what_is_broken_and_ends_with_status_1(
    manage: Manage, write: Write, database_url: str, tmp_path: Path
) -> None:
    (writer,) = write(1)
    writer.communicate()
    anchored = manage("audit", "anchor")
    assert anchored.stdout.startswith("Anchored: ") and " 50 " in anchored.stdout
    assert (tmp_path / "audit-anchors.log").read_text() in anchored.stdout.replace("Anchored: ", "")
    tamper(database_url, "UPDATE audit_auditentry SET reason = 'Another one.' WHERE sequence = 17")
    verified = manage("audit", "verify")
    assert verified.returncode == 1
    assert verified.stdout == ""
    lines = verified.stderr.splitlines()
    assert lines[0] == "Row 17 was changed: its hash does not fit what it says."
    assert any("guards the log is not there or switched off" in line for line in lines)
    assert lines[-1] == "16 rows were verified, up to row 16."
