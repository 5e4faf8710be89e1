"""Small: an answer in HTML from the API, a session for each token, pages in caches, commands to terminals, a name."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import manage
from tests.security.test_attacks.installation import PASSWORD, Client, Installation, installation

pytestmark = [pytest.mark.e2e]

TOKEN = "/api/v1/token/"
VERA = {"username": "vera", "password": PASSWORD}
COMMAND = "\x1b]0;title\x07\x1b[2J\x9b31m\x7f"
"""To a terminal: another title, an empty screen, red."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
JOBS = f"""
from console.cluster.connect import configured_cluster
from tests import factories
cluster = configured_cluster()
factories.make_partition(cluster, "x")
factories.make_job(cluster, "101", name={COMMAND!r} + "p0_a")
"""
PAGES = (
    "/",
    "/account/",
    "/help/",
    "/jobs/",
    "/jobs/101/",
    "/partitions/x/",
    "/audit/",
    "/projects/",
    "/plans/",
    "/setup/",
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("small")
    made = installation(folder)
    made.run(JOBS)
    with made.served(folder / "web.log"):
        yield made


@pytest.fixture(scope="module")
def root(console: Installation) -> Client:
    """The administrator's browser."""
    browser = console.client()
    assert browser.sign_in("root").status == 302
    return browser


@pytest.mark.parametrize("field", ["username", "password", "name"])
@pytest.mark.parametrize("hidden", ["\x01", "\x1b[2J", "\x7f", "\x85", "\n"])
def test_a_control_character_is_answered_in_json(console: Installation, field: str, hidden: str) -> None:
    answer = console.client().send(TOKEN, {**VERA, field: f"a{hidden}b"})
    assert answer.status in {400, 429} and answer.headers["Content-Type"] == "application/json"
    assert answer.data["error"]["message"]


def test_a_token_leaves_no_session(tmp_path: Path) -> None:
    made = installation(tmp_path)
    with made.served(tmp_path / "web.log"):
        assert [made.client().send(TOKEN, VERA).status for _ in range(5)] == [200] * 5
        assert made.client().send(TOKEN, {**VERA, "password": "guess"}).status == 400
    with sqlite3.connect(made.home / "giveway.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM django_session").fetchone() == (0,)


@pytest.mark.parametrize("page", PAGES)
def test_no_cache_keeps_a_page(root: Client, page: str) -> None:
    answer = root.ask("GET", page)
    assert answer.status == 200
    assert "no-store" in answer.headers["Cache-Control"] and "private" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    "page", ["/jobs/", "/jobs/101/", "/partitions/x/", "/jobs/?user=%1b%5B2J", "/nowhere/%1b%5B2J/"]
)
def test_a_job_sends_no_commands_to_terminals(root: Client, page: str) -> None:
    answer = root.ask("GET", page)
    assert not CONTROL.search(answer.text)
    if page == "/jobs/101/":
        assert "␛]0;title␇␛[2J\N{REPLACEMENT CHARACTER}31m␡p0_a" in answer.text, "seen, and not done"


def test_nobody_is_called_as_the_log_calls_who_has_not_signed_in(console: Installation, root: Client) -> None:
    for name in ("anonymous", "Anonymous", "giveway"):
        done = manage("account", "add", name, "--role", "viewer", "--no-password", env=console.env)
        assert done.returncode != 0 and "stands for the system itself" in done.stderr
        sent = {"username": name, "reason": "For this test."}
        csrf = root.cookies["csrftoken"]
        answer = root.send("/api/v1/invitations/", sent, X_CSRFToken=csrf)
        assert (answer.status, list(answer.data["error"]["fields"])) == (400, ["username"])


def test_an_account_of_that_name_from_before_can_be_switched_off(console: Installation) -> None:
    console.run(
        "from console.accounts.models import User; User.objects.create(username='anonymous')\n"
        "from console.accounts.services import AccountData, change_account\n"
        "user = User.objects.get(username='anonymous')\n"
        "change_account(actor='root', user=user, data=AccountData(active=False), reason='Test.')\n"
        "user.refresh_from_db(); assert not user.is_active; user.delete()"
    )
