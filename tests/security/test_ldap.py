"""Signing in with a directory: a real slapd, and the page and the API as people use them."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from console.accounts import directory
from console.accounts.bounded_hashers import RETRY_S, Turns
from console.accounts.directory_sync import follow_directory
from console.accounts.models import ApiToken, Identity, Role, User
from console.accounts.services import account_data, change_account
from console.accounts.single_sign_on import DirectoryError
from console.accounts.tokens import TokenData, find_token, make_token
from console.audit.models import AuditEntry
from console.health.doctor.directory import check_directory
from tests import factories
from tests.health.chinese import english_left
from tests.plugins.server_process import ServerError
from tests.plugins.servers import missing
from tests.security.ldap_server import (
    GROUPS,
    PASSWORD,
    PEOPLE,
    READER,
    READER_PASSWORD,
    DirectoryServer,
    tool,
)

pytestmark = pytest.mark.django_db
TOKEN = "/api/v1/token/"
AWAY = "The directory cannot be asked now."
WRONG = "do not belong together"


@pytest.fixture(scope="module")
def slapd() -> Iterator[DirectoryServer]:
    try:
        tool("slapd"), tool("slapadd")
    except ServerError as reason:
        missing(reason)
    with DirectoryServer() as server:
        yield server


@pytest.fixture
def people(slapd: DirectoryServer, settings: Any) -> DirectoryServer:
    """The directory with olga in it, who audits; reached with StartTLS, the authority known."""
    settings.GIVEWAY_LDAP_URLS = [slapd.url]
    settings.GIVEWAY_LDAP_CA_FILE = str(slapd.folder / "ca.pem")
    settings.GIVEWAY_LDAP_BIND_DN, settings.GIVEWAY_LDAP_BIND_PASSWORD = READER, READER_PASSWORD
    settings.GIVEWAY_LDAP_USER_BASE, settings.GIVEWAY_LDAP_GROUP_BASE = PEOPLE, GROUPS
    settings.GIVEWAY_GROUPS_ADMINISTRATOR, settings.GIVEWAY_GROUPS_AUDITOR = ["hpc-admins"], ["revision"]
    slapd.clear()
    slapd.group("revision", slapd.person("olga"))
    factories.make_cluster()
    return slapd


def sign_in(name: str = "olga", password: str = PASSWORD, client: Client | None = None) -> str:
    """Through the page; what it says when it does not let in, empty when it does."""
    client = client or Client()
    answer = client.post("/sign-in/", {"username": name, "password": password, "next": "/account/"})
    if answer.status_code == 302:
        assert client.get("/account/").status_code == 200
        return ""
    assert "_auth_user_id" not in client.session
    return answer.content.decode()


def ask_token(name: str = "olga", password: str = PASSWORD) -> Any:
    sent = {"username": name, "password": password, "name": "script"}
    return Client().post(TOKEN, sent, content_type="application/json")


def rows() -> list[tuple[str, str, str]]:
    found = AuditEntry.objects.order_by("sequence").values_list("actor", "action", "object_id")
    return [(actor, action.removeprefix("account."), about) for actor, action, about in found]


def test_the_first_sign_in_makes_an_account_and_roles_follow_the_groups(people: DirectoryServer) -> None:
    assert sign_in() == ""
    olga = User.objects.get()
    assert (olga.username, olga.email, olga.role) == ("olga", "olga@example.org", Role.AUDITOR)
    assert not olga.has_usable_password() and olga.identities.get().issuer == directory.ISSUER
    assert rows() == [("giveway", "created", "olga"), ("olga", "signed_in", "olga")]
    factories.make_administrator("ada")
    dn = f"employeeNumber=1,{PEOPLE}"
    people.group("hpc-admins", dn)
    assert sign_in() == "" and User.objects.get(username="olga").role == Role.ADMINISTRATOR
    people.clear()
    people.person("olga")
    assert "There is another account called olga here." in sign_in(), "a new entry is somebody else"
    assert rows()[-1] == ("anonymous", "not_admitted", "olga")
    assert AuditEntry.objects.latest("sequence").reason.startswith("There is another account")


def test_a_group_that_is_left_takes_its_role_along(people: DirectoryServer, settings: Any) -> None:
    people.group("hpc-admins", f"employeeNumber=1,{PEOPLE}")
    factories.make_administrator("ada")
    assert sign_in() == "" and User.objects.get(username="olga").role == Role.ADMINISTRATOR
    people.change(f"cn=hpc-admins,{GROUPS}", member=["cn=nobody"])
    people.change(f"cn=revision,{GROUPS}", member=["cn=nobody"])
    assert sign_in() == "" and User.objects.get(username="olga").role == Role.VIEWER
    settings.GIVEWAY_GROUPS_VIEWER = ["cluster-users"]
    assert "You are in no group that may use this console." in sign_in()


STRANGERS = [
    ("olga", "wrong"), ("olga", ""), ("olga", " "), ("nobody", PASSWORD), ("*", PASSWORD), ("ol*", PASSWORD),
    ("*)(uid=*", PASSWORD), ("olga)(|(uid=*", PASSWORD), ("x)(objectClass=*))(&(uid=olga", PASSWORD),
    ("\\6flga", PASSWORD), ("olga\0", PASSWORD), ("OLGA", PASSWORD), ("", PASSWORD),
    (f"employeeNumber=1,{PEOPLE}", PASSWORD),
]  # fmt: skip


def test_nobody_comes_in_but_by_the_own_name_and_password(people: DirectoryServer) -> None:
    """An empty password would be an unauthenticated bind; other ways of writing a name would each be ten guesses."""
    let_in = [each for each in [*STRANGERS, ("olga ", PASSWORD)] if directory.verified(*each) is not None]
    assert let_in == []
    assert [each for each in STRANGERS[:7] if sign_in(*each) == ""] == []
    assert not User.objects.exists()


def test_a_name_may_hold_what_a_filter_means(people: DirectoryServer, settings: Any) -> None:
    settings.GIVEWAY_LDAP_USER_FILTER = "(&(uid={name})(!(employeeType=gone)))"
    people.person("o(l)*", 2)
    found = directory.verified("o(l)*", PASSWORD)
    assert found is not None and found.username == "o(l)*" and not found.groups
    people.change(f"employeeNumber=2,{PEOPLE}", employeeType=["gone"])
    assert directory.verified("o(l)*", PASSWORD) is None
    for number in (3, 4, 5):
        people.person("twin", number)
    assert "several entries" in sign_in("twin")


def test_an_account_with_a_password_is_not_looked_up(people: DirectoryServer, settings: Any) -> None:
    """Whatever is typed for it goes nowhere, and it works when the directory is away."""
    factories.make_administrator("ada")
    factories.make_administrator("olga")
    settings.GIVEWAY_LDAP_URLS = ["ldap://127.0.0.1:1"]
    assert sign_in("ada", factories.PASSWORD) == ""
    assert WRONG in sign_in("olga") and WRONG in sign_in("OLGA")
    answer = sign_in("vera")
    assert AWAY in answer and WRONG not in answer
    assert ask_token("vera").status_code == 503
    settings.GIVEWAY_LDAP_URLS = ["ldap://127.0.0.1:1", people.url]
    people.person("vera", 2)
    assert sign_in("vera") == "", "the next server is asked"


def test_wrong_guesses_lock_and_a_directory_that_is_away_does_not(
    people: DirectoryServer, settings: Any
) -> None:
    settings.AXES_ENABLED, settings.AXES_FAILURE_LIMIT = True, 2
    there, settings.GIVEWAY_LDAP_URLS = settings.GIVEWAY_LDAP_URLS, ["ldap://127.0.0.1:1"]
    assert [AWAY in sign_in() for _ in range(3)] == [True] * 3
    settings.GIVEWAY_LDAP_URLS = there
    assert ask_token().status_code == 200
    assert WRONG in sign_in(password="guess 1")
    sign_in(password="guess 2")
    assert Client().post("/sign-in/", {"username": "olga", "password": PASSWORD}).status_code == 429
    assert ask_token().status_code == 429


def test_the_way_there_is_verified(people: DirectoryServer, settings: Any) -> None:
    settings.GIVEWAY_LDAP_URLS = [people.tls_url]
    assert directory.verified("olga", PASSWORD) is not None, "ldaps"
    for scheme, port in (("ldap", people.port), ("ldaps", people.tls_port)):
        settings.GIVEWAY_LDAP_URLS = [f"{scheme}://localhost:{port}"]
        settings.GIVEWAY_LDAP_CA_FILE = str(people.folder / "other.pem")
        assert AWAY in sign_in(), "another authority"
        settings.GIVEWAY_LDAP_CA_FILE = ""
        assert AWAY in sign_in(), "none of the system's"
        settings.GIVEWAY_LDAP_CA_FILE = str(people.folder / "ca.pem")
        settings.GIVEWAY_LDAP_URLS = [f"{scheme}://127.0.0.1:{port}"]
        assert AWAY in sign_in(), "another name"
    settings.GIVEWAY_LDAP_STARTTLS = False
    settings.GIVEWAY_LDAP_URLS = [people.url]
    assert sign_in() == "", "on this machine, when the settings say so"


def test_a_server_that_is_silent_or_talks_nonsense_is_away(people: DirectoryServer, settings: Any) -> None:
    settings.GIVEWAY_LDAP_TIMEOUT_S, settings.GIVEWAY_LDAP_STARTTLS = 1, False
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.GIVEWAY_LDAP_URLS = [f"ldap://127.0.0.1:{silent.getsockname()[1]}"]
        assert AWAY in sign_in()
    settings.GIVEWAY_LDAP_URLS = [f"ldap://127.0.0.1:{people.tls_port}"]
    assert AWAY in sign_in(), "it speaks TLS, and is asked plainly"


@contextmanager
def silent_servers(count: int) -> Iterator[list[socket.socket]]:
    """They take connections, and say nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]


def urls(servers: list[socket.socket]) -> list[str]:
    return [f"ldap://127.0.0.1:{server.getsockname()[1]}" for server in servers]


def was_asked(server: socket.socket) -> bool:
    server.settimeout(0)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_a_slow_directory_keeps_few_threads(
    people: DirectoryServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes while others wait for it is turned away at once, at both doors."""
    settings.GIVEWAY_LDAP_TIMEOUT_S, settings.GIVEWAY_LDAP_STARTTLS = 30, False
    settings.GIVEWAY_LDAP_SIGN_IN_S = 30
    monkeypatch.setattr(directory, "_turns", Turns(1, 0, 0))
    with silent_servers(1) as [silent], ThreadPoolExecutor(1) as pool:
        settings.GIVEWAY_LDAP_URLS = urls([silent])
        waiting = pool.submit(directory.verified, "olga", PASSWORD)
        slow, _ = silent.accept()
        page = Client().post("/sign-in/", {"username": "olga", "password": PASSWORD})
        token = ask_token()
        slow.close()
        with pytest.raises(DirectoryError):
            waiting.result()
    assert (page.status_code, page["Retry-After"]) == (503, str(RETRY_S))
    assert (token.status_code, token["Retry-After"]) == (503, str(RETRY_S))
    assert token.json()["error"]["code"] == "busy"
    settings.GIVEWAY_LDAP_URLS = [people.url]
    settings.GIVEWAY_LDAP_STARTTLS = True
    assert sign_in() == "", "the turn was given back"


def test_one_time_is_for_all_questions_together(people: DirectoryServer, settings: Any) -> None:
    # Not less: a busy machine may take a second before it has asked anybody.
    settings.GIVEWAY_LDAP_TIMEOUT_S = settings.GIVEWAY_LDAP_SIGN_IN_S = 3
    with silent_servers(3) as servers:
        settings.GIVEWAY_LDAP_URLS = urls(servers)
        assert AWAY in sign_in()
        assert [was_asked(server) for server in servers] == [True, False, False]


def test_the_doctor_tries_the_directory(people: DirectoryServer, settings: Any) -> None:
    def told() -> list[tuple[str, str]]:
        found = list(check_directory())
        assert english_left(map(asdict, found)) == []
        return [(finding.level.value, finding.what) for finding in found]

    assert [level for level, _ in told()] == ["OK"]
    settings.GIVEWAY_LDAP_BIND_PASSWORD = "another"
    [(level, what)] = told()
    assert level == "FAIL" and "LDAPInvalidCredentialsResult" in what and "another" not in what
    settings.GIVEWAY_LDAP_BIND_PASSWORD = READER_PASSWORD
    settings.GIVEWAY_LDAP_GROUP_BASE = "ou=nowhere,dc=example,dc=org"
    [(level, what)] = told()
    assert level == "FAIL" and "ou=nowhere" in what
    settings.GIVEWAY_LDAP_URLS = []
    assert told() == []


def test_who_leaves_the_directory_is_switched_off_without_signing_in(
    people: DirectoryServer, settings: Any
) -> None:
    ada = factories.make_administrator("ada")
    settings.GIVEWAY_LDAP_USER_FILTER = "(&(uid={name})(!(employeeType=gone)))"
    here, late = Client(), people.person("late", 2)
    sign_in(client=here)
    sign_in("late")
    user = User.objects.get(username="late")
    _row, secret = make_token(user, TokenData(name="t"), actor="late")
    people.change(f"cn=revision,{GROUPS}", member=["cn=nobody"])
    people.change(late, employeeType=["gone"])
    assert follow_directory() == 2
    assert User.objects.get(username="olga").role == Role.VIEWER
    assert find_token(secret) is None and not User.objects.get(username="late").is_active
    assert here.get("/account/").status_code == 200, "whoever is still there stays signed in"
    assert {row for row in rows() if row[:2] == ("giveway", "changed")} == {
        ("giveway", "changed", "late"),
        ("giveway", "changed", "olga"),
    }
    people.change(late, employeeType=["back"])
    assert follow_directory() == 0 and "This account is switched off." in sign_in("late")
    change_account(actor="ada", user=user, data=account_data(ada), reason="back again")
    settings.GIVEWAY_LDAP_URLS = ["ldap://127.0.0.1:1"]
    with pytest.raises(DirectoryError):
        follow_directory()
    assert User.objects.filter(is_active=True).count() == 3


def test_everybody_gone_is_a_fault_of_the_settings(people: DirectoryServer, settings: Any) -> None:
    for number in range(2, 6):
        people.person(f"p{number}", number)
        assert sign_in(f"p{number}") == ""
    settings.GIVEWAY_LDAP_USER_BASE = GROUPS
    assert follow_directory() == 0
    assert User.objects.filter(is_active=True).count() == 4
    assert Identity.objects.count() == 4 and not ApiToken.objects.exists()


def test_the_cluster_user_may_be_another_attribute(people: DirectoryServer, settings: Any) -> None:
    settings.GIVEWAY_LDAP_CLUSTER_USER_ATTRIBUTE = "cn"
    people.change(f"employeeNumber=1,{PEOPLE}", cn=["oh12345"])
    sign_in()
    assert User.objects.get().slurm_user == "oh12345"
    people.person("two", 2, cn="oh12345")
    assert "is already the account of oh12345" in sign_in("two")
    people.change(f"employeeNumber=1,{PEOPLE}", cn=["olga"])
    sign_in()
    assert User.objects.get(username="olga").slurm_user == "olga"
    with pytest.raises(ValidationError):
        User(username="x", cluster_user="y" * 80).full_clean()
