"""A manager of one project stopped everything: 100,000 members in one request, 20,000 patterns of stars.

Every list that somebody can make longer is sent ten times as long as it may be. It is refused, the sentence names the
bound, and everybody else goes on reading and writing meanwhile.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from console.core.limits import LIMITS
from tests.security.test_attacks.console_under_attack import (
    Answer,
    Console,
    at_once,
    others_at_work,
    running_console,
    tracebacks,
)

pytestmark = [pytest.mark.e2e]

QUICK_S = 15.0
"""A writer waits for the database's lock for up to 20 s, and then fails: whoever answers sooner did not wait long."""
SLOWER = 30
"""And so many times as long as a small answer takes on this machine, which may be busy with other things."""
SMALL = {"drafts": 1, "searches": 1, "invitations": 1, "repetitions": 2, "projects": 3}
"""Bounds of this console on what is made one by one."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    small = {f"GIVEWAY_MOST_{name.upper()}": str(most) for name, most in SMALL.items()}
    small["GIVEWAY_CHANGES_S"] = "1000"  # pam attacks more often than she may (test_01b_time.py)
    with running_console(Path(tmp_path_factory.mktemp("attack")) / "home", **small) as running:
        yield running


@dataclass(frozen=True)
class Attack:
    """A list that is too long: who sends what where, and the bound that the answer must name."""

    bound: str
    who: str
    method: str
    path: str
    body: Any
    status: int = 400
    field: str = ""


def quick(console: Console) -> float:
    """What counts as quick just now."""
    return QUICK_S + SLOWER * max(console.ask("vera", "GET", "jobs/").seconds for _ in range(3))


def most(name: str) -> int:
    return SMALL.get(name, LIMITS[name].default)


def ten(name: str) -> int:
    return 10 * most(name)


def of_alpha(bound: str, **change: object) -> Attack:
    return Attack(bound, "pam", "PATCH", "projects/alpha/", {**change, "version": 1, "reason": "Attack."})


def of_x(bound: str, **change: object) -> Attack:
    body = {"policy": change, "based_on": 2, "reason": "Attack."}
    return Attack(bound, "dave", "PATCH", "partitions/x/policy/", body)


def in_file(bound: str, **parts: list[dict[str, Any]]) -> Attack:
    config = {"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": [], **parts}
    return Attack(bound, "ada", "POST", "config/", {"config": config, "reason": "Attack.", "dry_run": True})


def names(bound: str) -> list[str]:
    return [f"user{n}" for n in range(ten(bound))]


def stars(count: int) -> list[dict[str, Any]]:
    return [{"pattern": f"*{n}*a", "importance": 1} for n in range(count)]


def projects(count: int) -> list[dict[str, Any]]:
    return [{"code": f"c{n}", "name": "n", "size": 1, "grade": 1, "urgency": 1} for n in range(count)]


SAID = b""
"""Nothing, said to be longer than it may be: the answer comes before a byte is read."""
LEVELS = [{"name": "P0", "min_score": 60}]
A_PROJECT = {"code": "gamma", "name": "g", "size": 1, "grade": 1, "urgency": 1}
A_PARTITION = {"name": "x", "mode": "user", "levels": LEVELS}
ATTACKS = [
    of_alpha("members", members=[f"user{n}" for n in range(100_000)]),
    of_alpha("managers", managers=names("managers")),
    of_alpha("patterns", tasks=stars(20_000)),
    of_alpha("wildcards", tasks=[{"pattern": "*a" * ten("wildcards")}]),
    of_alpha("pattern", tasks=[{"pattern": "a" * ten("pattern")}]),
    of_alpha("project_name", name="n" * ten("project_name")),
    of_alpha("user_name", members=["n" * ten("user_name")]),
    of_alpha("level", tasks=[{"pattern": "a", "level": "n" * ten("level")}]),
    Attack("reason", "pam", "PATCH", "projects/alpha/", {"urgency": 2, "version": 1, "reason": "r" * 10_000}),
    of_x("levels", levels=[{"name": f"L{n}"} for n in range(ten("levels"))]),
    of_x("level", levels=[{"name": "L" * ten("level")}], quotas={}),
    of_x("keyword", levels=[{"name": "P0", "keyword": "k" * ten("keyword")}]),
    of_x("listed", levels=[{"name": "P0", "keyword": "k", "keyword_users": names("listed")}]),
    of_x("bands", bands=[[n] for n in range(ten("bands"))]),
    of_x("overrides", user_overrides=dict.fromkeys(names("overrides"), "P0")),
    of_x("overrides", task_overrides=dict.fromkeys(names("overrides"), "P0")),
    of_x("wildcards", task_overrides={"*a" * ten("wildcards"): "P0"}),
    of_x("listed", protected_users=names("listed")),
    of_x("listed", protected_jobs=names("listed")),
    of_x("pattern", protected_accounts=["a" * ten("pattern")]),
    of_x("resources", quota_totals={"P0": {f"r{n}": 1 for n in range(ten("resources"))}}),
    in_file("members", projects=[{**A_PROJECT, "members": names("members")}]),
    in_file("patterns", projects=[{**A_PROJECT, "tasks": stars(ten("patterns"))}]),
    in_file("wildcards", projects=[{**A_PROJECT, "tasks": [{"pattern": "*a" * 80, "importance": 2}]}]),
    in_file("size", projects=[{**A_PROJECT, "size": ten("size")}]),
    in_file("grade", projects=[{**A_PROJECT, "grade": ten("grade")}]),
    in_file("urgency", projects=[{**A_PROJECT, "urgency": ten("urgency")}]),
    in_file(
        "importance", projects=[{**A_PROJECT, "tasks": [{"pattern": "*", "importance": ten("importance")}]}]
    ),
    in_file("admins", partitions=[{**A_PARTITION, "admins": names("admins")}]),
    in_file("levels", partitions=[{"name": "x", "mode": "user", "levels": LEVELS * ten("levels")}]),
    in_file("file_changes", projects=projects(ten("file_changes"))),
    in_file("file_rows", projects=[{**A_PROJECT, "tasks": [0] * 200} for _ in range(10_000)]),
    Attack("file", "ada", "POST", "config/", SAID, 413),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: f"{each.bound} of {each.path}")
def test_ten_times_the_bound_is_refused_and_nobody_waits(console: Console, attack: Attack) -> None:
    quick_s = quick(console)
    with others_at_work(console) as others:
        said = {"Content-Length": str(most(attack.bound) + 1)} if attack.body == SAID else {}
        answer = console.ask(attack.who, attack.method, attack.path, attack.body, **said)
    assert answer.status == attack.status, answer.text[:500]
    assert f"{most(attack.bound)}" in answer.data["error"]["message"]
    assert len(answer.text) < 5_000
    assert answer.seconds < quick_s
    assert others.failed == []
    assert others.slowest < quick_s
    assert not tracebacks(console)


def test_ten_times_the_steps_of_the_schedule_are_refused(console: Console) -> None:
    rules = console.ask("ada", "GET", "project-rules/").data
    steps = [{"days_left": n, "urgency": 1} for n in range(ten("steps"))]
    answer = console.ask("ada", "PUT", "project-rules/", {**rules, "steps": steps, "reason": "Attack."})
    assert answer.status == 400
    assert answer.data["error"]["fields"] == {"steps": ["At most 50 steps, not 500."]}


def test_a_hundred_thousand_members_from_eight_clients_at_a_time(console: Console) -> None:
    """Every request of everybody answered 500 `database is locked` for six minutes."""
    attack, quick_s = ATTACKS[0], quick(console)
    with others_at_work(console) as others:
        answers = at_once(lambda: console.ask(attack.who, attack.method, attack.path, attack.body), 8)
    assert {answer.status for answer in answers} == {400}
    assert others.failed == []
    assert others.slowest < 2 * quick_s


def make_one(console: Console, what: str, n: int) -> Answer:
    if what == "drafts":
        policy = {"name": "x", "mode": "user"}
        body: dict[str, Any] = {"name": f"d{n}", "policy": policy, "reason": "Attack."}
        return console.ask("dave", "POST", "partitions/x/drafts/", body)
    if what == "searches":
        return console.ask("ada", "POST", "audit/searches/", {"name": f"s{n}", "query": "actor=vera"})
    if what == "invitations":
        return console.ask("ada", "POST", "invitations/", {"username": f"guest{n}", "reason": "Attack."})
    if what == "projects":
        return console.ask("ada", "POST", "projects/", {**A_PROJECT, "code": f"p{n}", "reason": "Attack."})
    body = {"reason": "Attack."}
    return console.ask("dave", "PUT", "partitions/x/pause/", body, **{"Idempotency-Key": f"k{n}"})


@pytest.mark.parametrize("what", SMALL)
def test_one_more_than_there_may_be_is_refused(console: Console, what: str) -> None:
    answers = [make_one(console, what, n) for n in range(SMALL[what] + 1)]
    assert answers[0].status in {200, 201}, answers[0].text
    assert answers[-1].status == 400, answers[-1].text[:2000]
    assert f"at most {SMALL[what]}" in answers[-1].data["error"]["message"]


def test_as_many_patterns_as_there_may_be_cost_no_minute(console: Console) -> None:
    """`GET projects/alpha/levels/` took over 60 s on one of eight threads."""
    tasks = [{"pattern": f"*{n}*a*b*c*d*e*f*", "importance": 2} for n in range(most("patterns"))]
    members = [f"user{n}" for n in range(most("members"))]
    body = {"tasks": tasks, "members": members, "reason": "As many as there may be."}
    quick_s = quick(console)
    with others_at_work(console) as others:
        version = console.ask("pam", "GET", "projects/alpha/").data["version"]
        changed = console.ask("pam", "PATCH", "projects/alpha/", {**body, "version": version})
        levels = console.ask("pam", "GET", "projects/alpha/levels/")
        page = console.ask("pam", "GET", "projects/alpha/")
    assert [changed.status, levels.status, page.status] == [200, 200, 200]
    assert max(changed.seconds, levels.seconds, page.seconds) < quick_s
    assert others.failed == []
    assert others.slowest < quick_s
