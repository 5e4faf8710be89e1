"""Single sign-on against a provider that is a process of its own, through two real HTTP servers."""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache

from console.accounts.models import Identity, Role, User
from console.audit.models import AuditEntry
from tests import factories
from tests.plugins.server_process import Server, dies_with_us
from tests.security.oidc_provider import CLIENT, SECRET

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN = "/sign-in/oidc/?next=/help/"


class Provider(Server):
    """The provider, told who comes and what goes wrong."""

    package = "oidc"
    silence = OSError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        program = Path(__file__).with_name("oidc_provider.py")
        return [*dies_with_us(self.stop_signal), sys.executable, str(program), str(self.port)]

    def ping(self) -> None:
        urllib.request.urlopen(f"{self.url}/keys", timeout=30).close()

    def who(self, fault: str = "", userinfo: dict[str, Any] | None = None, **claims: Any) -> None:
        """Whom the next sign-ins are of."""
        told = {"sub": "s-1", "preferred_username": "olga", "email": "olga@example.org", **claims}
        body = {"claims": told, "fault": fault, "userinfo": userinfo or {}}
        urllib.request.urlopen(f"{self.url}/control", json.dumps(body).encode(), timeout=30).close()

    def seen(self) -> list[dict[str, str]]:
        with urllib.request.urlopen(f"{self.url}/control", timeout=30) as answer:
            seen: list[dict[str, str]] = json.load(answer)["seen"]
        return seen


@dataclass
class Answer:
    status: int
    address: str
    text: str
    location: str = ""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Browser:
    """Cookies, redirects, nothing else."""

    def __init__(self, base: str) -> None:
        self.base, self.cookies = base, urllib.request.HTTPCookieProcessor(CookieJar())

    def get(self, path: str, *, follow: bool = True) -> Answer:
        handlers = [self.cookies] if follow else [self.cookies, _Stay()]
        address = self.base + path if path.startswith("/") else path
        try:
            with urllib.request.build_opener(*handlers).open(address, timeout=300) as found:
                return Answer(found.status, found.geturl(), found.read().decode())
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            return Answer(error.code, error.geturl() or "", text, error.headers.get("Location", ""))

    def is_in(self) -> bool:
        return urlsplit(self.get("/account/").address).path == "/account/"

    def back_from_the_provider(self) -> str:
        """The address of the callback, not yet gone to."""
        there = self.get(BEGIN, follow=False).location
        return self.get(there, follow=False).location


@pytest.fixture(scope="module")
def process() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def provider(process: Provider, settings: Any) -> Provider:
    cache.clear()
    settings.GIVEWAY_OIDC_ISSUER = process.url
    settings.GIVEWAY_OIDC_CLIENT_ID, settings.GIVEWAY_OIDC_CLIENT_SECRET = CLIENT, SECRET
    settings.GIVEWAY_OIDC_NAME = "Example University"
    settings.GIVEWAY_GROUPS_ADMINISTRATOR, settings.GIVEWAY_GROUPS_AUDITOR = ["hpc-admins"], ["revision"]
    factories.make_cluster()
    process.who()
    return process


@pytest.fixture
def visitor(provider: Provider, live_server: Any) -> Browser:
    return Browser(live_server.url)


def refused(answer: Answer, sentence: str) -> None:
    assert answer.status == 403, answer
    assert "Not signed in" in answer.text and sentence in answer.text


def test_the_first_sign_in_makes_an_account(provider: Provider, visitor: Browser) -> None:
    assert 'href="/sign-in/oidc/?next=' in visitor.get("/sign-in/").text
    assert "Example University" in visitor.get("/sign-in/").text
    provider.who(groups=["revision", "staff"])
    arrived = visitor.get(BEGIN)
    assert (arrived.status, urlsplit(arrived.address).path) == (200, "/help/")
    olga = User.objects.get()
    assert (olga.username, olga.email, olga.role) == ("olga", "olga@example.org", Role.AUDITOR)
    assert not olga.has_usable_password()
    rows = AuditEntry.objects.order_by("sequence").values_list("actor", "action", "object_id")
    assert list(rows) == [("giveway", "account.created", "olga"), ("olga", "account.signed_in", "olga")]
    asked = provider.seen()[0]
    assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43
    assert len(asked["state"]) >= 40 and len(asked["nonce"]) >= 40


def test_one_is_known_by_the_subject_and_roles_follow_the_groups(
    provider: Provider, visitor: Browser, live_server: Any
) -> None:
    factories.make_administrator("ada")
    provider.who(groups=["hpc-admins"])
    visitor.get(BEGIN)
    assert User.objects.get(username="olga").role == Role.ADMINISTRATOR
    provider.who(preferred_username="olga.new", groups=["staff"])
    later = Browser(live_server.url)
    later.get(BEGIN)
    assert later.is_in()
    assert set(User.objects.values_list("username", "role")) == {
        ("ada", "administrator"),
        ("olga", "viewer"),
    }
    row = AuditEntry.objects.get(action="account.changed")
    assert row.actor == "giveway" and provider.url in row.reason


def test_the_last_administrator_stays_one(provider: Provider, visitor: Browser) -> None:
    provider.who(groups=["hpc-admins"])
    visitor.get(BEGIN)
    provider.who(groups=[])
    visitor.get("/sign-in/oidc/")
    assert User.objects.get().role == Role.ADMINISTRATOR and visitor.is_in()


def test_groups_may_come_from_the_userinfo_of_the_same_person(provider: Provider, visitor: Browser) -> None:
    provider.who(userinfo={"sub": "s-2", "groups": ["hpc-admins"]})
    visitor.get(BEGIN)
    assert User.objects.get().role == Role.VIEWER, "another's are not taken"
    provider.who(userinfo={"sub": "s-1", "groups": ["revision"]})
    visitor.get(BEGIN)
    assert User.objects.get().role == Role.AUDITOR


def test_an_account_with_a_password_is_not_taken_over(provider: Provider, visitor: Browser) -> None:
    factories.make_administrator("olga")
    refused(visitor.get(BEGIN), "There is another account called olga here.")
    assert not visitor.is_in() and not Identity.objects.exists()


def test_an_account_made_for_somebody_becomes_theirs_once(
    provider: Provider, visitor: Browser, live_server: Any
) -> None:
    invited = User.objects.create_user("olga", password=None, role=Role.VIEWER)
    visitor.get(BEGIN)
    assert visitor.is_in() and Identity.objects.get().user == invited
    provider.who(sub="s-2")
    refused(Browser(live_server.url).get(BEGIN), "There is another account called olga here.")


@pytest.mark.parametrize(
    "fault",
    [
        "issuer", "audience", "also for another", "expired", "nonce", "no subject", "no end", "unsigned",
        "public key as secret", "foreign key", "unknown key", "garbage",
    ],
)  # fmt: skip
def test_a_token_that_is_not_right_lets_nobody_in(provider: Provider, visitor: Browser, fault: str) -> None:
    provider.who(fault=fault)
    refused(visitor.get(BEGIN), "The provider&#x27;s token")
    assert not visitor.is_in() and not User.objects.exists()


def test_a_refusal_over_there_is_told(provider: Provider, visitor: Browser) -> None:
    provider.who(fault="refused")
    refused(visitor.get(BEGIN), "The sign-in was refused there.")


def test_an_answer_is_good_once_and_in_its_own_browser(
    provider: Provider, visitor: Browser, live_server: Any
) -> None:
    back = visitor.back_from_the_provider()
    refused(Browser(live_server.url).get(back), "This sign-in was not begun here")
    assert visitor.get(back).status == 200 and visitor.is_in()
    refused(visitor.get(back), "or was finished before")


@pytest.mark.parametrize("change", ["state", "code", "iss"])
def test_a_forged_answer_lets_nobody_in(provider: Provider, visitor: Browser, change: str) -> None:
    back = visitor.back_from_the_provider()
    given = parse_qs(urlsplit(back).query)
    match change:
        case "state":
            back = back.replace(given["state"][0], "x" * 43)
        case "code":
            back = back.replace(given["code"][0], "guessed")
        case "iss":
            back += "&iss=https://evil.example"
    assert visitor.get(back).status == (502 if change == "code" else 403)
    assert not visitor.is_in()


def test_a_stolen_code_is_worth_nothing_without_the_verifier(
    provider: Provider, visitor: Browser, live_server: Any
) -> None:
    """Code injection: a thief puts somebody else's code into a sign-in of their own."""
    stolen = parse_qs(urlsplit(visitor.back_from_the_provider()).query)["code"][0]
    thief = Browser(live_server.url)
    own = thief.back_from_the_provider()
    code = parse_qs(urlsplit(own).query)["code"][0]
    assert thief.get(own.replace(code, stolen)).status == 502
    assert not thief.is_in()


def test_where_it_leads_afterwards_is_this_console(provider: Provider, visitor: Browser) -> None:
    arrived = visitor.get("/sign-in/oidc/?next=https://evil.example/")
    assert urlsplit(arrived.address).netloc == urlsplit(visitor.base).netloc


def test_somebody_switched_off_stays_out(provider: Provider, visitor: Browser) -> None:
    visitor.get(BEGIN)
    User.objects.update(is_active=False)
    assert not visitor.is_in()
    refused(visitor.get(BEGIN), "This account is switched off.")


def test_only_those_of_the_groups_come_in(provider: Provider, visitor: Browser, settings: Any) -> None:
    settings.GIVEWAY_GROUPS_VIEWER = ["cluster-users"]
    provider.who(groups=["staff"])
    refused(visitor.get(BEGIN), "You are in no group that may use this console.")
    assert not User.objects.exists()
    provider.who(groups=["cluster-users"])
    visitor.get(BEGIN)
    assert visitor.is_in()


@pytest.mark.parametrize("name", ["giveway", "ol ga", "", "o\u202ega", "x" * 200])
def test_a_name_that_is_no_account_name_is_refused(provider: Provider, visitor: Browser, name: str) -> None:
    provider.who(preferred_username=name)
    assert visitor.get(BEGIN).status == 403
    assert not User.objects.exists()


def test_a_provider_that_is_away_leaves_the_passwords(
    provider: Provider, visitor: Browser, settings: Any
) -> None:
    settings.GIVEWAY_OIDC_ISSUER = "http://127.0.0.1:1"
    answer = visitor.get(BEGIN)
    assert answer.status == 502 and "The provider cannot be reached." in answer.text
    assert visitor.get("/sign-in/").status == 200


def test_a_provider_that_calls_itself_otherwise_is_refused(provider: Provider, visitor: Browser) -> None:
    provider.who(fault="name")
    assert "by another name" in visitor.get(BEGIN).text
