"""As much as there may be, again and again; and the database's write lock in somebody else's hands."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from console.core.limits import LIMITS
from tests.e2e.processes import wait_until
from tests.security.test_attacks.console_under_attack import (
    Answer,
    Console,
    at_once,
    running_console,
    tracebacks,
)

pytestmark = [pytest.mark.e2e]

PAUSE_S = 20


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """So little may be spent that one large change costs a pause of minutes: longer than a busy machine needs for a
    dozen answers. Administrators have no bound."""
    home = Path(tmp_path_factory.mktemp("attack")) / "home"
    with running_console(home, GIVEWAY_CHANGES_S="0.1") as running:
        yield running


def change_everything(console: Console, letter: str) -> Answer:
    version = console.ask("pam", "GET", "projects/alpha/").data["version"]
    members = [f"{letter}{n}" for n in range(LIMITS["members"].default)]
    tasks = [{"pattern": f"*{letter}{n}*a*b*c*"} for n in range(LIMITS["patterns"].default)]
    body = {"members": members, "tasks": tasks, "version": version, "reason": "As much as there may be."}
    return console.ask("pam", "PATCH", "projects/alpha/", body)


def refused_for_a_while(console: Console) -> bool:
    """Whether a change is refused and there are seconds until the next one may pass: many at once are then all too
    early, however slow the machine is."""
    answer = change_everything(console, "d")
    return answer.status == 429 and int(answer.retry_after) >= PAUSE_S


def test_as_much_as_there_may_be_again_and_again_comes_to_an_end(console: Console) -> None:
    """One client kept the console busy without end; cycles and pages came late."""
    answers = [change_everything(console, "ab"[n % 2]) for n in range(12)]
    statuses = [answer.status for answer in answers]
    assert statuses[0] == 200 and set(statuses) == {200, 429}
    refused = answers[statuses.index(429)]
    assert refused.data["error"]["code"] == "allowance_spent" and int(refused.retry_after) > 0
    wait_until(lambda: refused_for_a_while(console), "the allowance is spent", 120)
    again = at_once(lambda: change_everything(console, "c"), 8)
    assert {answer.status for answer in again} == {429}, "nor with more connections"
    assert console.ask("pam", "GET", "projects/alpha/").status == 200
    assert console.ask("dave", "PUT", "partitions/x/pause/", {"reason": "Others act."}).status == 200
    assert console.ask("ada", "DELETE", "partitions/x/pause/").status in {200, 204}
    assert not tracebacks(console)


@contextmanager
def write_lock(database: Path) -> Iterator[None]:
    """Held by a process that does not let go."""
    held: Any = sqlite3.connect(database, isolation_level=None, timeout=60)
    held.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        held.execute("ROLLBACK")
        held.close()


def test_a_locked_database_is_answered_in_words(console: Console) -> None:
    """Every request of everybody was answered 500 `database is locked`."""
    body = {"reason": "Against the lock."}
    with write_lock(console.database):
        answers = at_once(lambda: console.ask("ada", "PUT", "partitions/x/pause/", body), 3)
        assert console.ask("vera", "GET", "jobs/").status == 200, "reading goes on"
    assert {answer.status for answer in answers} == {503}
    assert {answer.retry_after for answer in answers} == {"5"}
    assert {answer.data["error"]["code"] for answer in answers} == {"database_away"}
    assert console.ask("ada", "PUT", "partitions/x/pause/", body).status == 200
