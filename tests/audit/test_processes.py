"""The audit log with real processes on real databases: many writers, one chain; and what `manage.py audit` says."""

import sqlite3

import psycopg

from tests.plugins.database import SharedDatabase

WRITER = """
from django.db import transaction
from tests.audit.rows import append
for _ in range(25):
    with transaction.atomic():
        append(2)
"""


def tamper(url: str, statement: str) -> None:
    """As the owner of the database, who can take the triggers away."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.executescript(f"DROP TRIGGER audit_refuse_update; {statement}")
        connection.close()
    else:
        with psycopg.connect(url) as session:
            session.execute("ALTER TABLE audit_auditentry DISABLE TRIGGER USER")
            session.execute(statement.encode())


def test_many_processes_write_one_chain_while_it_is_verified(shared_database: SharedDatabase) -> None:
    for _ in range(3):
        shared_database.start(WRITER)
    shared_database.start("from console.audit.services import verify_chain\nprint(verify_chain().faults)")
    printed = shared_database.go()
    assert printed[-1] == "[]\n"
    afterwards = shared_database.manage("audit", "verify")
    assert afterwards.returncode == 0, afterwards.stderr
    assert "The audit log is whole: 150 rows verified, up to row 150;" in afterwards.stdout


def test_verify_names_what_is_broken_and_ends_with_status_1(shared_database: SharedDatabase) -> None:
    shared_database.python(WRITER)
    anchored = shared_database.manage("audit", "anchor")
    assert " 50 " in anchored.stdout
    line = (shared_database.home / "audit-anchors.log").read_text()
    assert anchored.stdout == f"Anchored: {line}"
    tamper(shared_database.url, "UPDATE audit_auditentry SET reason = 'Another one.' WHERE sequence = 17")
    verified = shared_database.manage("audit", "verify")
    assert (verified.returncode, verified.stdout) == (1, "")
    lines = verified.stderr.splitlines()
    assert lines[0] == "Row 17 was changed: its hash does not fit what it says."
    assert any("guards the log is not there or switched off" in line for line in lines)
    assert lines[-1] == "16 rows were verified, up to row 16."
