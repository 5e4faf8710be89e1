"""`giveway what-if` and `giveway study`, against a console that has recorded real cycles."""

import json
import threading
import time
from collections.abc import Callable

import pytest

from console.accounts.models import User
from console.history.models import Study
from console.history.studying import work_all_off
from console.projects.models import Project
from tests import factories
from tests.client.conftest import Shell
from tests.client.test_giveway import refused, said
from tests.history.test_pages import LEVELS, people
from tests.history.test_past import record
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
pytestmark = pytest.mark.django_db(transaction=True)
AsUser = Callable[[str], Shell]


@pytest.fixture
def enter(people: Sim, shell: Shell) -> AsUser:
    """The same shell with somebody's token; alpha's job waits, beta's runs, six looks are recorded."""
    people.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    record(people, 6)

    def as_user(name: str) -> Shell:
        secret = factories.make_token(User.objects.get(username=name), f"token {time.monotonic_ns()}")
        shell.variables = {"GIVEWAY_URL": shell.url, "GIVEWAY_TOKEN": secret}
        return shell

    return as_user


def test_what_an_urgency_and_a_policy_would_do(enter: AsUser) -> None:
    pam = enter("pam")
    text = said(pam.run("what-if", "project", "alpha", "urgency=9"))
    assert text.startswith("x (shadow)\n  - Stops 1 more job (of beta)")
    assert "    requeue " in text
    assert Project.objects.get(code="alpha").urgency == 1
    told = json.loads(said(pam.run("what-if", "project", "alpha", "urgency=9", "--json")))
    [x] = [each for each in told["partitions"] if each["partition"] == "x"]
    assert x["stopped"][0]["beneficiary"]["user"] == "alpha"
    assert refused(pam.run("what-if", "project", "beta", "urgency=9"), 1)
    assert "above 0" in refused(pam.run("what-if", "project", "alpha", "urgency=0"), 1)

    dave = enter("dave")
    override = 'user_overrides={"alpha":"P0"}'
    assert "Stops 1 more job" in said(dave.run("what-if", "policy", "x", override))
    made = dave.run("what-if", "policy", "x", override, "--days", "7", "--no-wait")
    assert said(made) == f"Study {Study.objects.get().pk}: queued.\n"
    assert "--draft" in refused(dave.run("what-if", "policy", "x"))


def test_the_last_days_are_waited_for(enter: AsUser) -> None:
    pam, done = enter("pam"), threading.Event()

    def worker() -> None:
        from django.db import connection

        until = time.monotonic() + 300
        while not done.is_set() and time.monotonic() < until and not work_all_off():
            done.wait(0.1)
        connection.close()

    thread = threading.Thread(target=worker)
    thread.start()
    try:
        lines = said(pam.run("what-if", "project", "alpha", "urgency=9", "--days", "7")).splitlines()
    finally:
        done.set()
        thread.join()
    assert lines[0].startswith("q, wide, x: ")
    assert lines[1].split() == ["DAY", "STOPPED", "AS", "NOW", "CHANGED", "GET", "ROOM"]
    assert next(line for line in lines if line.startswith("together")).split() == [
        "together",
        "0",
        "0",
        "1",
        "1",
    ]
    number = str(Study.objects.get().pk)
    assert json.loads(said(pam.run("study", number, "--json")))["result"]["changed"]["stops"] == 1
    assert said(pam.run("study", number)).splitlines() == lines

    waiting = Study.objects.create(
        cluster=Study.objects.get().cluster,
        asked_by="pam",
        asked_at=Study.objects.get().asked_at,
        days=1,
        question={"policies": {}, "projects": {}},
    )
    assert pam.run("study", str(waiting.pk), "--cancel").returncode == 2
    waiting.refresh_from_db()
    assert waiting.state == "cancelled"
