"""Who owned the database deleted the audit log's newest rows, or all of it, and `audit verify` said whole.

1,076 of 1,202 rows were not anchored. Triggers were put back after the deed, or empty ones of the same names in their
place. An empty log was called whole, whatever else was in the database.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.security.test_attacks.console_under_attack import Console, running_console

pytestmark = [pytest.mark.e2e]

ROWS = 130
TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_auditentry'"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console at which somebody was at work for a while; nothing but its web server runs."""
    home = Path(tmp_path_factory.mktemp("attack")) / "home"
    # So much at once is more than one may (test_01b_time.py).
    with running_console(home, GIVEWAY_CHANGES_S="1000") as console:
        for number in range(ROWS // 2):
            assert console.ask("dave", "PUT", "partitions/x/pause/", {"reason": f"{number}"}).status == 200
            assert console.ask("dave", "DELETE", "partitions/x/pause/").status == 204
        yield console


@pytest.fixture
def console(filled: Console) -> Iterator[Console]:
    """The same, put back afterwards."""
    kept = filled.home.with_name("kept")
    with closing(sqlite3.connect(filled.database)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(filled.home, kept)
    yield filled
    for name in ("giveway.sqlite3-wal", "giveway.sqlite3-shm"):
        (filled.home / name).unlink(missing_ok=True)
    for path in kept.iterdir():
        if path.is_file():
            shutil.copy(path, filled.home / path.name)
    shutil.rmtree(kept)


def tamper(console: Console, *statements: str, put_back: bool = True) -> None:
    """Change the log as the owner of the database: without its triggers, which are put back as they were."""
    with closing(sqlite3.connect(console.database, timeout=30)) as database:
        guards = database.execute(TRIGGERS).fetchall()
        for name, _sql in guards:
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
        for name, sql in guards:
            empty = f"CREATE TRIGGER {name} AFTER DELETE ON audit_auditentry BEGIN SELECT 1; END"
            database.execute(sql if put_back else empty)
        database.commit()


def test_rows_are_anchored_while_the_timer_sleeps(console: Console) -> None:
    status, said = console.manage("audit", "verify")
    assert status == 0, said
    lines = (console.home / "audit-anchors.log").read_text().splitlines()
    assert lines, "no anchor within a hundred rows"
    last = int(lines[-1].split()[1])
    assert last >= ROWS - 100
    at = lines[-1].split()[0].replace("T", " ").rstrip("Z")
    assert f"Not proved outside the database: rows after row {last}, up to" in said
    assert f"Last anchor: {at} UTC." in said


def test_the_newest_rows_cannot_be_deleted_in_silence(console: Console) -> None:
    """No timer ran: what speaks for them was written when the hundredth row was."""
    tamper(
        console,
        "DELETE FROM audit_auditentry WHERE sequence > 20",
        "UPDATE audit_audithead SET sequence = 20, anchored = 20,"
        " hash = (SELECT hash FROM audit_auditentry WHERE sequence = 20)",
    )
    status, said = console.manage("audit", "verify")
    assert status == 1
    assert "Row 21 is missing, the log's end was cut off" in said


def test_empty_triggers_of_the_right_names_guard_nothing(console: Console) -> None:
    tamper(console, put_back=False)
    status, said = console.manage("audit", "verify")
    assert status == 1
    for name in ("audit_refuse_update", "audit_refuse_delete", "audit_refuse_replace"):
        assert f"The trigger {name} that guards the log is not the one that Giveway made" in said


def test_an_empty_log_is_not_whole_while_there_are_accounts_and_policies(console: Console) -> None:
    tamper(console, "DELETE FROM audit_auditentry", "DELETE FROM audit_audithead")
    (console.home / "audit-anchors.log").unlink()
    status, said = console.manage("audit", "verify")
    assert status == 1
    assert "The log is empty, but there are accounts and policies" in said
