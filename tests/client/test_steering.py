"""`giveway plans`, `approve`, `projects`, `pause`: what administrators and managers do from a terminal."""

import json
from collections.abc import Callable

import pytest

from console.audit.models import AuditEntry
from console.projects.models import Project
from console.steering.models import Pause, Plan
from tests import factories
from tests.api import test_decisions as decisions
from tests.api.conftest import House
from tests.client.conftest import Shell
from tests.client.test_giveway import refused, said

pytestmark = pytest.mark.django_db(transaction=True)
AsUser = Callable[[str], Shell]
asked = decisions.asked
"""A plan of x that waits for dave."""


def test_the_latest_plans(house: House, as_user: AsUser) -> None:
    head, row = said(as_user("vera").run("plans")).splitlines()
    assert head.split() == ["PLAN", "PARTITION", "STATE", "FOR", "USER", "STOPS", "WHY"]
    assert row.split() == [str(house.plan.pk), "x", "executing", "101", "ann", "1", "lower", "user"]
    assert said(as_user("vera").run("plans", "--waiting")) == "No plans.\n"
    assert json.loads(said(as_user("vera").run("plans", "--partition", "y", "--json"))) == []
    (told,) = json.loads(as_user("vera").run("plans", "--state", "executing", "--json").stdout)
    assert told["id"] == house.plan.pk


def test_a_worker_that_is_given_up_is_no_stop(house: House, as_user: AsUser) -> None:
    worker = {**decisions.VICTIM, "job": "41_3", "worker_of": "41"}
    Plan.objects.filter(pk=house.plan.pk).update(victims=[decisions.VICTIM, worker], reason="shrinks")
    shell = as_user("vera")
    _head, row = said(shell.run("plans")).splitlines()
    assert row.split()[5] == "1"
    assert "  - worker 41_3 p2_train (bob, ran 30 min)\n" in said(shell.run("plan", str(house.plan.pk)))
    chinese = shell.run("plan", str(house.plan.pk), LANG="zh_CN.UTF-8").stdout
    assert "让出工作实例 41_3" in chinese


def test_a_plan_says_what_is_asked_and_how_to_answer(house: House, asked: Plan, as_user: AsUser) -> None:
    shell = as_user("dave")
    text = said(shell.run("plan", str(asked.pk)))
    assert text.startswith(f"Plan {asked.pk} in x: proposed (")
    assert "  - requeue 88 p2_train (bob, ran 30 min)\n" in text
    answer = text.splitlines()[-1].split()
    assert answer[:3] == ["giveway", "approve", str(asked.pk)]
    done = shell.run(*answer[1:-1], "Deadline.")
    assert said(done) == f"Plan {asked.pk} is approved.\n"
    asked.refresh_from_db()
    assert (asked.state, asked.decided_by, asked.decision_reason) == ("approved", "dave", "Deadline.")
    assert "Decided by dave: Deadline." in said(shell.run("plan", str(asked.pk)))


def test_a_plan_says_what_changed_and_why_it_cannot_be_approved_now(
    house: House, asked: Plan, as_user: AsUser
) -> None:
    factories.renew_plan(asked, [{**decisions.VICTIM, "job": "90"}], "88")
    shell = as_user("dave")
    assert "  since it was opened: 88 (bob) has ended.\n" in said(shell.run("plan", str(asked.pk)))
    Plan.objects.filter(pk=asked.pk).update(not_now="It is held.")
    text = said(shell.run("plan", str(asked.pk)))
    assert "  ! It is held.\n" in text and "Stops 1 job" not in text


def test_only_what_was_seen_is_approved(house: House, asked: Plan, as_user: AsUser) -> None:
    line = refused(as_user("dave").run("approve", str(asked.pk), "--seen", "0" * 16, "--reason", "Go."), 1)
    assert "out of date" in line
    asked.refresh_from_db()
    assert asked.state == "proposed"


def test_nobody_there_to_be_asked(house: House, asked: Plan, as_user: AsUser) -> None:
    shell = as_user("dave")
    assert "--yes" in refused(shell.run("approve", str(asked.pk), "--reason", "Go.", given="y\n"))
    asked.refresh_from_db()
    assert asked.state == "proposed"
    rejected = shell.run("reject", str(asked.pk), "--reason", "Not now.", "--yes", "--json")
    assert json.loads(rejected.stdout)["state"] == "rejected"


def test_who_may_not_decide(house: House, asked: Plan, as_user: AsUser) -> None:
    line = refused(as_user("vera").run("approve", str(asked.pk), "--reason", "Go.", "--yes"), 1)
    assert line.startswith("Your role does not include this")
    assert "arguments are required: --reason" in refused(as_user("dave").run("approve", str(asked.pk)))
    assert refused(as_user("dave").run("plan", "999999"), 1)


def test_projects_and_what_is_set(house: House, as_user: AsUser) -> None:
    shell = as_user("pam")
    assert said(shell.run("projects")).splitlines()[1].split() == ["alpha", "40", "1", "3", "120", "Alpha"]
    text = said(shell.run("projects", "set", "alpha", "urgency=4", "members=ann", "--reason", "Delivery."))
    assert text == "alpha (version 2): urgency 4, members ann; score 160\n"
    alpha = Project.objects.get(code="alpha")
    assert (alpha.urgency, alpha.memberships.filter(role="member").count()) == (4, 1)
    entry = AuditEntry.objects.get(action="project.changed")
    assert (entry.actor, entry.reason) == ("pam", "Delivery.")
    told = json.loads(shell.run("projects", "set", "alpha", "name=A", "--reason", "x", "--json").stdout)
    assert (told["name"], told["version"]) == ("A", 3)


@pytest.mark.parametrize("setting", ["urgency", "urgency=high", "version=7", "=4", "code=beta"])
def test_what_is_no_setting(house: House, as_user: AsUser, setting: str) -> None:
    assert refused(as_user("pam").run("projects", "set", "alpha", setting, "--reason", "x"))
    assert Project.objects.get(code="alpha").version == 1


def test_what_the_console_refuses(house: House, as_user: AsUser) -> None:
    assert "size" in refused(as_user("pam").run("projects", "set", "alpha", "size=-1", "--reason", "x"), 1)
    assert refused(as_user("vera").run("projects", "set", "alpha", "size=1", "--reason", "x"), 1)


def test_the_switch(house: House, as_user: AsUser) -> None:
    shell = as_user("dave")
    assert said(shell.run("pause", "x", "--reason", "Fire.")) == "x is paused by dave: Fire.\n"
    assert Pause.objects.get().reason == "Fire."
    assert refused(shell.run("pause", "--all"), 1).startswith("Your role does not include this")
    assert said(as_user("ada").run("pause", "--all")).startswith("Everything is paused by ada")
    left = said(as_user("dave").run("resume", "x"))
    assert left == "x: its pause is lifted.\nEverything is still paused by ada.\n"
    assert json.loads(as_user("ada").run("resume", "--all", "--json").stdout) == []
    assert not Pause.objects.exists()


@pytest.mark.parametrize("arguments", [(), ("x", "--all")])
def test_the_switch_must_be_told_what(house: House, as_user: AsUser, arguments: tuple[str, ...]) -> None:
    assert "say which partition, or --all" in refused(as_user("ada").run("pause", *arguments))
    assert not Pause.objects.exists()
