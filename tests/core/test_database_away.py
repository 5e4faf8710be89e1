"""A database that is locked, away or full: 503 with a time to come again, on pages and in the API, and never 500."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import time_machine
from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
    connection,
)
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from console.accounts.models import ApiToken
from console.accounts.sessions import SEEN
from console.core.databases import CLOSED_RETRY_S, RETRY_S, is_closed, is_passing, unusable
from tests import factories

PATCH = "/api/v1/projects/alpha/"


def raised(error: type[Exception], cause: BaseException | None) -> Exception:
    """As Django raises what the driver said."""
    found = error("said")
    found.__cause__ = cause
    return found


def of_sqlite(code: int) -> sqlite3.Error:
    found = sqlite3.OperationalError("said")
    found.sqlite_errorcode = code
    return found


def of_postgres(state: str) -> psycopg.Error:
    return psycopg.errors.lookup(state)("said")


@pytest.mark.parametrize(
    ("error", "cause", "wanted"),
    [
        (OperationalError, of_sqlite(sqlite3.SQLITE_BUSY), True),
        (OperationalError, of_sqlite(sqlite3.SQLITE_BUSY | 2 << 8), True),
        (OperationalError, of_sqlite(sqlite3.SQLITE_LOCKED), True),
        (OperationalError, of_sqlite(sqlite3.SQLITE_FULL), False),
        (OperationalError, of_sqlite(sqlite3.SQLITE_ERROR), False),
        (OperationalError, of_postgres("40001"), True),
        (OperationalError, of_postgres("40P01"), True),
        (OperationalError, of_postgres("55P03"), True),
        (OperationalError, of_postgres("57P01"), True),
        (OperationalError, of_postgres("53300"), True),
        (OperationalError, of_postgres("08006"), True),
        (InternalError, of_postgres("25P03"), True),
        (OperationalError, psycopg.OperationalError("connection failed"), True),
        (InterfaceError, psycopg.InterfaceError("the connection is closed"), True),
        (ProgrammingError, of_postgres("42P01"), False),
        (ProgrammingError, psycopg.ProgrammingError("too many placeholders"), False),
        (IntegrityError, of_postgres("23505"), False),
        (DataError, of_postgres("22001"), False),
    ],
)
def test_which_errors_pass(error: type[Exception], cause: BaseException, wanted: bool) -> None:
    assert is_passing(raised(error, cause)) is wanted


@pytest.mark.parametrize(
    "cause",
    [
        of_sqlite(sqlite3.SQLITE_FULL),
        of_sqlite(sqlite3.SQLITE_IOERR | 19 << 8),
        of_sqlite(sqlite3.SQLITE_READONLY | 1 << 8),
        of_postgres("53100"),
        of_postgres("25006"),
    ],
)
def test_which_errors_stay_until_somebody_makes_room(cause: BaseException) -> None:
    error = raised(OperationalError, cause)
    assert is_closed(error) and not is_passing(error), "in a few seconds it would be the same"
    assert not is_closed(raised(OperationalError, of_sqlite(sqlite3.SQLITE_BUSY))) and not is_closed(None)


def test_what_is_no_error_of_the_database_does_not_pass() -> None:
    assert not is_passing(RuntimeError("database is locked"))
    assert not is_passing(None)


@contextmanager
def held_by_somebody_else() -> Iterator[None]:
    """The write lock of the SQLite file, really held; ours is not waited for as long as usual."""
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's lock")
    connection.ensure_connection()
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    connection.connection.execute("PRAGMA busy_timeout=50")
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()
        connection.close()


@pytest.fixture
def people(transactional_db: None) -> dict[str, Any]:
    factories.make_project(factories.make_cluster())
    return {"ada": factories.make_administrator()}


def client_of(people: dict[str, Any], made: Any) -> Any:
    made.raise_request_exception = False
    made.force_login(people["ada"])
    return made


def test_the_api_says_that_the_database_is_locked(people: dict[str, Any]) -> None:
    api = client_of(people, APIClient())
    body = {"urgency": 7, "version": 1, "reason": "for the test"}
    with held_by_somebody_else():
        answer = api.patch(PATCH, body, format="json")
        assert api.get(PATCH).status_code == 200, "reading needs no lock"
    assert (answer.status_code, answer["Retry-After"]) == (503, str(RETRY_S))
    assert answer.json()["error"]["code"] == "database_away"
    assert api.patch(PATCH, body, format="json").status_code == 200, "it was not done, and can be done again"


def test_reading_waits_for_nobody(people: dict[str, Any]) -> None:
    """When somebody was last seen is written down, but not at that price."""
    page = client_of(people, Client())
    script = APIClient(headers={"Authorization": f"Token {factories.make_token(people['ada'])}"})
    assert page.get("/account/").status_code == 200
    later = timezone.now() + timedelta(minutes=2)
    with held_by_somebody_else(), time_machine.travel(later, tick=False):
        assert page.get("/account/").status_code == 200
        assert script.get(PATCH).status_code == 200
    assert page.session[SEEN] < later.timestamp() and ApiToken.objects.get().used_at is None
    with time_machine.travel(later, tick=False):
        assert page.get("/account/").status_code == script.get(PATCH).status_code == 200
    assert page.session[SEEN] == int(later.timestamp()) and ApiToken.objects.get().used_at == later


@contextmanager
def that_takes_no_changes() -> Iterator[None]:
    """The database refuses to write and goes on reading, as on a full disk, or one that is mounted read-only."""
    connection.ensure_connection()
    refuse = {
        "sqlite": "PRAGMA query_only=ON",
        "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    }
    with connection.cursor() as cursor:
        cursor.execute(refuse[connection.vendor])
    try:
        yield
    finally:
        connection.close()


def test_a_database_that_takes_no_changes_says_so_and_reading_goes_on(people: dict[str, Any]) -> None:
    """It was a defect, "Giveway failed here", and a minute later so was every page that anybody read."""
    page, api = client_of(people, Client()), client_of(people, APIClient())
    script = APIClient(headers={"Authorization": f"Token {factories.make_token(people['ada'])}"})
    later = timezone.now() + timedelta(minutes=2)
    body = {"urgency": 7, "version": 1, "reason": "for the test"}
    with that_takes_no_changes(), time_machine.travel(later, tick=False):
        assert page.get("/account/").status_code == script.get(PATCH).status_code == 200
        said, told = page.post("/account/sessions/end/"), api.patch(PATCH, body, format="json")
    assert (said.status_code, said["Retry-After"]) == (503, str(CLOSED_RETRY_S))
    assert "its disk is full" in said.content.decode()
    assert (told.status_code, told["Retry-After"]) == (503, str(CLOSED_RETRY_S))
    assert told.json()["error"]["code"] == "database_closed"
    assert api.patch(PATCH, body, format="json").status_code == 200, "it was not done, and can be done again"


def test_nobody_is_signed_out_because_a_disk_is_full(
    people: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Django says the same of a session that cannot be written now and of one that was ended elsewhere."""
    page = client_of(people, Client())
    assert page.get("/account/").status_code == 200

    def full(*_: object, **__: object) -> None:
        raise raised(OperationalError, of_sqlite(sqlite3.SQLITE_FULL))

    later = timezone.now() + timedelta(minutes=2)
    with monkeypatch.context() as disk, time_machine.travel(later, tick=False):
        disk.setattr("django.contrib.sessions.models.Session.save", full)
        assert page.get("/account/").status_code == 200
    assert page.get("/account/").status_code == 200, "the session is still there"


@pytest.mark.parametrize(
    ("code", "told"),
    [(sqlite3.SQLITE_FULL, "The database takes no changes"), (sqlite3.SQLITE_BUSY, "The database is busy")],
)
def test_a_command_says_it_in_one_sentence(db: None, code: int, told: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's lock")
    error = OperationalError("said")
    error.__cause__ = of_sqlite(code)
    assert str(unusable(error)).startswith(told)


def test_a_page_says_that_the_database_is_locked(people: dict[str, Any]) -> None:
    page = client_of(people, Client())
    with held_by_somebody_else():
        answer = page.post("/account/sessions/end/")
    assert (answer.status_code, answer["Retry-After"]) == (503, str(RETRY_S))
    assert "The database is busy or away" in answer.content.decode()


@pytest.mark.parametrize(("path", "kind"), [("/jobs/", "text/html"), ("/api/v1/jobs/", "application/json")])
def test_a_database_that_is_away_before_any_view(
    people: dict[str, Any], monkeypatch: pytest.MonkeyPatch, path: str, kind: str
) -> None:
    """Who asks is looked up by a middleware; what it raises never comes to a view."""
    client = client_of(people, Client())

    def gone(*_: object, **__: object) -> None:
        raise raised(OperationalError, psycopg.OperationalError("connection refused"))

    monkeypatch.setattr("console.accounts.session_store.SessionStore.load", gone)
    answer = client.get(path, headers={"HX-Request": "true"})
    assert (answer.status_code, answer["Retry-After"]) == (503, str(RETRY_S))
    assert answer["Content-Type"].startswith(kind)
    assert "connection refused" not in answer.content.decode()


def test_a_defect_stays_one(people: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(people, Client())

    def broken(*_: object, **__: object) -> None:
        raise raised(ProgrammingError, None)

    monkeypatch.setattr("console.accounts.session_store.SessionStore.load", broken)
    assert client.get("/jobs/").status_code == 500
