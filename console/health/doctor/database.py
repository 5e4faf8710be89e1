"""The database: does it answer, is it as the code wants it, is it fit for what it is to carry, is its clock ours."""

import time
from collections.abc import Iterator

from django.db import connection

from console.core import clock
from console.core.installation import is_production, is_simulated
from console.health import selectors
from console.health.doctor.findings import Finding, counted, fail, ok, warn

NAME = "database"
CLOCK_S = 2.0
SLOW_S = 0.5


def check_database() -> Iterator[Finding]:
    """Raises Django's `DatabaseError` when it does not answer: the caller says so, and leaves out what needs it."""
    before = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    took = time.perf_counter() - before
    kind = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}.get(connection.vendor, connection.vendor)
    if took > SLOW_S:
        yield warn(NAME, "doctor.database.slow", name=kind, n=f"{took:.1f}")
    else:
        yield ok(NAME, "doctor.database.answers", name=kind)
    yield _migrations()
    if connection.vendor == "sqlite":
        yield from _sqlite()
    else:
        yield _clock()


def _migrations() -> Finding:
    selectors.forget_migrations()
    missing = selectors.missing_migrations()
    if missing:
        code = counted("doctor.database.migrations", len(missing))
        return fail(NAME, code, n=len(missing), name=missing[0])
    return ok(NAME, "doctor.database.migrated")


def _sqlite() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = cursor.fetchone()[0]
    if mode not in {"wal", "memory"}:
        yield warn(NAME, "doctor.database.journal", mode=mode)
    if not is_simulated() or is_production():
        yield warn(NAME, "doctor.database.sqlite")


def _clock() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs = cursor.fetchone()[0]
    apart = abs((theirs - clock.now()).total_seconds())
    if apart > CLOCK_S:
        return warn("clocks", "doctor.clocks.database_apart", n=round(apart))
    return ok("clocks", "doctor.clocks.database")
