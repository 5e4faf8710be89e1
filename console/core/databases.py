"""What is wrong with a database that cannot be used: for whoever is at the shell, and for the web."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, Error, connection, transaction
from django.db.migrations.executor import MigrationExecutor

RETRY_S = 5
"""When to come again, as whoever could not be served is told."""
CLOSED_RETRY_S = 60
LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
AWAY_CLASSES = frozenset({"08", "40", "53", "57"})
"""SQLSTATE: the connection, a transaction that others undid, too little of something, an operator's intervention."""
AWAY = frozenset({"25P03", "55P03"})
"""The same of single codes: a transaction that stood still for too long, a lock that could not be had."""
CLOSED = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR})
CLOSED_STATES = frozenset({"53100", "25006"})
"""Nothing can be written until somebody does something: the disk is full or broken, or can be read only."""
LOST = frozenset({"OperationalError", "InterfaceError"})
"""What psycopg raises without a code: there is no connection, or no more."""


def is_passing(error: BaseException | None) -> bool:
    """Whether the same may succeed in a few seconds: the database is locked or away, and nothing is wrong with us."""
    if not isinstance(error, Error) or is_closed(error):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in LOCKED
    state = getattr(cause, "sqlstate", None)
    if state is None:
        return type(error).__name__ in LOST and (
            cause is None or type(cause).__module__.startswith("psycopg")
        )
    return state in AWAY or state[:2] in AWAY_CLASSES


def is_closed(error: BaseException | None) -> bool:
    """Whether the database takes no changes before whoever runs Giveway has done something: the disk is full."""
    cause = error.__cause__ if isinstance(error, Error) else None
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in CLOSED
    return getattr(cause, "sqlstate", None) in CLOSED_STATES


def written_at_once(write: Callable[[], object]) -> bool:
    """Write what is worth nobody's waiting, when somebody was last seen: whether it could be written now.

    Reading must go on while somebody else keeps the database locked, and while its disk is full.
    """
    try:
        with _no_patience(), transaction.atomic():
            write()
    except Error as error:
        if not (is_passing(error) or is_closed(error)):
            raise
        return False
    return True


@contextmanager
def _no_patience() -> Iterator[None]:
    """SQLite's lock is not waited for. PostgreSQL locks single rows, which nobody holds for long."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    patience = int(connection.settings_dict["OPTIONS"].get("timeout", 5) * 1000)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout=0")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout={patience}")


def unusable(error: DatabaseError) -> str | None:
    """What to do about an error, when it comes from a database that is not there or not of this version.

    None when the database is as it should be: then the error is a defect, and has to be seen whole.
    """
    why = str(error).strip().partition("\n")[0]
    if is_closed(error):
        return f"The database takes no changes: {why}. Make room on its disk, and see whether this account may write."
    if is_passing(error) and connection.vendor == "sqlite":
        return f"The database is busy: {why}. Nothing was done; try again in a few seconds."
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError:
        return f"The database does not answer: {why}. Set DATABASE_URL or GIVEWAY_HOME to the console's."
    if not missing:
        return None
    return (
        f"The database {connection.settings_dict['NAME']} is not of this version: {missing} migrations are missing. "
        "Set GIVEWAY_HOME or DATABASE_URL to those of the console that you mean, or run: manage.py migrate"
    )
