"""The database: does it answer, is it as the code wants it, is it fit for what it is to carry, is its clock ours."""

import time
from collections.abc import Iterator

from django.db import connection

from console.core import clock
from console.core.installation import is_production, is_simulated
from console.health import selectors
from console.health.doctor.findings import Finding, fail, ok, warn

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
        yield warn(
            NAME,
            f"{kind} took {took:.1f} s to answer.",
            "Look at its load, and at the network between it and us.",
        )
    else:
        yield ok(NAME, f"{kind} answers.")
    yield _migrations()
    if connection.vendor == "sqlite":
        yield from _sqlite()
    else:
        yield _clock()


def _migrations() -> Finding:
    selectors.forget_migrations()
    missing = selectors.missing_migrations()
    if missing:
        return fail(
            NAME, f"{len(missing)} migrations are missing, first {missing[0]}.", "Run: manage.py migrate"
        )
    return ok(NAME, "All migrations are applied.")


def _sqlite() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = cursor.fetchone()[0]
    if mode not in {"wal", "memory"}:
        yield warn(
            NAME,
            f"SQLite's journal is '{mode}': pages and worker wait for one another.",
            "Put the file on a local disk; over the network SQLite cannot switch to WAL.",
        )
    if not is_simulated() or is_production():
        yield warn(
            NAME,
            "SQLite serves one machine and one writer at a time.",
            "Use PostgreSQL for a cluster that people share: DATABASE_URL=postgres://…",
        )


def _clock() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs = cursor.fetchone()[0]
    apart = abs((theirs - clock.now()).total_seconds())
    if apart > CLOCK_S:
        return warn(
            "clocks",
            f"The database's clock and this machine's are {apart:.0f} s apart.",
            "Let both keep their time by NTP (chrony).",
        )
    return ok("clocks", "The database's clock is this machine's.")
