"""A withdrawn invitation kept its partition and its project; whoever got that name later had them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.test_attacks.console_under_attack import Console, running_console

pytestmark = [pytest.mark.e2e]

ACCOUNT = """
from console.accounts.services import AccountData, create_account
from console.accounts.tokens import TokenData, make_token
account = create_account(actor="ada", username="%s", data=AccountData(), password="giveway-demo", reason="Another.")
print(make_token(account, TokenData(name="test"), actor="ada")[1])
"""
ENDED = """
from datetime import timedelta
from console.core import clock
from console.setup.models import Invitation
from console.setup.tasks import end
Invitation.objects.filter(username="%s").update(expires_at=clock.now() - timedelta(minutes=1))
end()
end()
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(Path(tmp_path_factory.mktemp("attack")) / "home") as running:
        yield running


def invite(console: Console, name: str) -> int:
    body = {
        "username": name,
        "partitions": ["x"],
        "projects": ["alpha", "beta"],
        "reason": "Starts on Monday.",
    }
    answer = console.ask("ada", "POST", "invitations/", body)
    assert answer.status == 201, answer.text
    assert name in console.ask("ada", "GET", "projects/alpha/").data["managers"]
    found: int = answer.data["id"]
    return found


def test_what_came_with_the_first_invitation_does_not_come_with_the_second(console: Console) -> None:
    """Both links were good, and withdrawing one of them left the rights of the other."""
    first = invite(console, "erin")
    body = {"username": "Erin", "partitions": ["x"], "reason": "The link was lost."}
    second = console.ask("ada", "POST", "invitations/", body)
    assert second.status == 201, second.text
    open_ones = console.ask("ada", "GET", "invitations/").data["results"]
    assert [row["id"] for row in open_ones if row["username"].lower() == "erin"] == [second.data["id"]]
    assert console.ask("ada", "DELETE", f"invitations/{first}/?reason=gone").status == 404
    assert "erin" not in console.ask("ada", "GET", "projects/alpha/").data["managers"]
    assert console.ask("ada", "DELETE", f"invitations/{second.data['id']}/?reason=gone").status == 204
    another_of_this_name(console, "erin")
    assert console.ask("erin", "GET", "partitions/x/policy/").status == 404


def another_of_this_name(console: Console, name: str) -> None:
    console.tokens[name] = console.run(ACCOUNT % name).split()[-1]


def actions_about(console: Console, who: str) -> list[str]:
    rows = console.ask("ada", "GET", f"audit/?actor={who}&limit=20").data["results"]
    return [row["action"] for row in rows if "token" not in row["action"]]


def test_whoever_gets_the_name_of_a_withdrawn_invitation_has_nothing_of_it(console: Console) -> None:
    number = invite(console, "mallory")
    assert console.ask("ada", "DELETE", f"invitations/{number}/?reason=Does+not+come").status == 204
    another_of_this_name(console, "mallory")
    assert console.ask("mallory", "GET", "partitions/x/policy/").status == 404
    assert "alpha" not in console.ask("mallory", "GET", "projects/").text
    change = {"urgency": 9, "version": 3, "reason": "Mine."}
    assert console.ask("mallory", "PATCH", "projects/alpha/", change).status == 404
    assert actions_about(console, "ada")[:5] == [
        "account.created",
        "account.invitation_withdrawn",
        "project.changed",
        "project.changed",
        "partition.admins_changed",
    ]
    assert "pam" in console.ask("ada", "GET", "projects/alpha/").data["managers"]


def test_whoever_gets_the_name_of_an_invitation_that_has_ended_has_nothing_of_it(console: Console) -> None:
    invite(console, "trudy")
    console.run(ENDED % "trudy")
    another_of_this_name(console, "trudy")
    assert console.ask("trudy", "GET", "partitions/x/policy/").status == 404
    assert "alpha" not in console.ask("trudy", "GET", "projects/").text
    rows = console.ask("ada", "GET", "audit/?actor=giveway&limit=8").data["results"]
    told = [row["action"] for row in rows if row["reason"] == "The invitation has ended unused."]
    assert told == ["project.changed", "project.changed", "partition.admins_changed"]
