"""Guessing passwords at the page and at the API, API tokens, checkpoint tokens: all is counted, none of it pays."""

import re
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
import time_machine
from django.test import Client, RequestFactory

from console.accounts.addresses import client_address, neighbourhood
from console.accounts.login_lockout import KNOWN_MOST, WINDOW
from console.accounts.models import KnownAddress, Tries, User
from tests import factories
from tests.factories import NOW, PASSWORD
from tests.ui.conftest import House

TOKEN = "/api/v1/token/"


@pytest.fixture(autouse=True)
def _locks(settings: Any) -> None:
    settings.AXES_ENABLED = True


def try_page(password: str, name: str = "vera", **where: Any) -> int:
    return Client().post("/sign-in/", {"username": name, "password": password}, **where).status_code


def try_api(password: str, name: str = "vera", **where: Any) -> int:
    sent = {"username": name, "password": password}
    return Client().post(TOKEN, sent, content_type="application/json", **where).status_code


def test_guesses_at_the_page_and_at_the_api_are_one_count(house: House, settings: Any) -> None:
    half = settings.AXES_FAILURE_LIMIT // 2
    assert [try_page(f"guess {i}") for i in range(half)] == [200] * half
    assert [try_api(f"guess {i}") for i in range(half)] == [400] * (half - 1) + [429]
    assert try_page(PASSWORD) == 429, "the right password does not help while the name is locked"
    assert try_api(PASSWORD) == 429


def test_a_lock_is_of_one_name_from_one_address(house: House, settings: Any) -> None:
    for i in range(settings.AXES_FAILURE_LIMIT):
        try_page(f"guess {i}", REMOTE_ADDR="192.0.2.9")
    assert try_page(PASSWORD, REMOTE_ADDR="192.0.2.9") == 429
    assert try_page(PASSWORD, "otto", REMOTE_ADDR="192.0.2.9") == 302, "others behind the same address"
    assert try_page(PASSWORD, REMOTE_ADDR="192.0.2.10") == 302, "nobody locks somebody else out from afar"


def test_invented_addresses_do_not_undo_a_lock(house: House, settings: Any) -> None:
    statuses = [
        try_page(f"guess {i}", HTTP_X_FORWARDED_FOR=f"10.0.0.{i}") for i in range(settings.AXES_FAILURE_LIMIT)
    ]
    assert statuses[-1] == 429
    assert try_page(PASSWORD, HTTP_X_FORWARDED_FOR="10.9.9.9") == 429


def test_behind_a_proxy_it_is_the_guesser_who_is_locked(house: House, settings: Any) -> None:
    settings.GIVEWAY_TRUSTED_PROXIES = [ip_network("127.0.0.1")]
    for i in range(settings.AXES_FAILURE_LIMIT):
        try_page(f"guess {i}", HTTP_X_FORWARDED_FOR=f"10.0.0.{i}, 192.0.2.9")
    assert try_page(PASSWORD, HTTP_X_FORWARDED_FOR="192.0.2.9") == 429
    assert try_page(PASSWORD, HTTP_X_FORWARDED_FOR="192.0.2.10") == 302


@pytest.mark.parametrize(
    ("connected", "proxies", "forwarded", "wanted"),
    [
        ("127.0.0.1", "", "1.1.1.1", "127.0.0.1"),
        ("127.0.0.1", "192.0.2.0/24", "1.1.1.1", "127.0.0.1"),
        ("127.0.0.1", "unix", "1.1.1.1", "127.0.0.1"),
        ("192.0.2.7", "192.0.2.0/24", "", "192.0.2.7"),
        ("192.0.2.7", "192.0.2.0/24", "1.1.1.1", "1.1.1.1"),
        ("192.0.2.7", "192.0.2.0/24", "6.6.6.6, 1.1.1.1", "1.1.1.1"),
        ("192.0.2.7", "192.0.2.0/24", "6.6.6.6, 1.1.1.1, 192.0.2.8", "1.1.1.1"),
        ("192.0.2.7", "192.0.2.0/24", "1.1.1.1, gateway, 192.0.2.8", "192.0.2.8"),
        ("192.0.2.7", "192.0.2.0/24", " , ", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7", "2001:db8::1", "2001:db8::1"),
        ("", "unix", "1.1.1.1", "1.1.1.1"),
        ("", "unix", "", "127.0.0.1"),
        ("", "", "1.1.1.1", "127.0.0.1"),
    ],
)
def test_the_address_that_counts(
    settings: Any, connected: str, proxies: str, forwarded: str, wanted: str
) -> None:
    settings.GIVEWAY_TRUSTED_PROXIES = [
        entry if entry == "unix" else ip_network(entry) for entry in proxies.split()
    ]
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=connected)) == wanted


def test_one_customer_of_ipv6_is_one_address() -> None:
    assert (
        neighbourhood("2001:db8:1:2:3::4")
        == neighbourhood("2001:db8:1:2:ffff::1")
        != neighbourhood("2001:db8:1:3::")
    )
    assert neighbourhood("192.0.2.9") == "192.0.2.9" and neighbourhood("nowhere") == "nowhere"


def test_many_names_from_one_address_are_too_many(house: House, settings: Any) -> None:
    settings.GIVEWAY_FAILURES_PER_ADDRESS = 4
    assert [try_page("guess", f"name-{i}") for i in range(4)] == [200] * 4
    assert [try_page("guess", "another"), try_api("guess", "another")] == [429, 429]
    assert try_page(PASSWORD) == 429, "who has never come in from there"
    assert try_page(PASSWORD, REMOTE_ADDR="192.0.2.10") == 302


def test_one_name_from_many_addresses_is_too_many(house: House, settings: Any) -> None:
    settings.GIVEWAY_FAILURES_PER_NAME = 4
    assert try_page(PASSWORD, REMOTE_ADDR="192.0.2.100") == 302, "vera has a place of hers"
    assert [try_page("guess", REMOTE_ADDR=f"192.0.2.{i}") for i in range(4)] == [200] * 4
    assert try_page(PASSWORD, REMOTE_ADDR="192.0.2.5") == 429
    assert try_page("guess", "nobody-here", REMOTE_ADDR="192.0.2.5") == 200, "one name is not another"
    assert try_page(PASSWORD, REMOTE_ADDR="192.0.2.100") == 302, (
        "nobody locks somebody out of a place that is theirs"
    )


def test_who_is_locked_out_is_told_for_how_long(house: House, settings: Any) -> None:
    """Of axes' own count a quarter of an hour, of the other two what is left of their hour; at both doors."""
    settings.AXES_FAILURE_LIMIT, settings.GIVEWAY_FAILURES_PER_NAME = 2, 4

    def waits(address: str) -> set[str]:
        form = {"username": "vera", "password": PASSWORD}
        page = Client().post("/sign-in/", form, REMOTE_ADDR=address)
        token = Client().post(TOKEN, form, content_type="application/json", REMOTE_ADDR=address)
        assert (page.status_code, token.status_code) == (429, 429)
        return {page["Retry-After"], token["Retry-After"]}

    with time_machine.travel(NOW, tick=False) as time:
        assert [try_page("guess", REMOTE_ADDR="192.0.2.1") for _ in range(2)] == [200, 429]
        assert waits("192.0.2.1") == {"900"}
        time.shift(timedelta(minutes=20))
        assert [try_page("guess", REMOTE_ADDR=f"192.0.2.{i}") for i in (2, 3)] == [200, 200]
        assert waits("192.0.2.4") == {"2400"}


def test_an_hour_later_it_begins_anew(house: House, settings: Any) -> None:
    settings.GIVEWAY_FAILURES_PER_NAME = settings.GIVEWAY_FAILURES_PER_ADDRESS = 2
    with time_machine.travel(NOW, tick=False) as time:
        assert [try_page("guess") for _ in range(3)] == [200, 200, 429]
        time.shift(WINDOW)
        assert try_page(PASSWORD) == 302
        assert not Tries.objects.filter(began_at__lt=NOW).exists()


def test_only_so_many_places_of_one_account_are_kept(house: House) -> None:
    for i in range(KNOWN_MOST + 3):
        with time_machine.travel(NOW + timedelta(seconds=i), tick=False):
            assert try_page(PASSWORD, REMOTE_ADDR=f"192.0.2.{i}") == 302
    kept = KnownAddress.objects.filter(user__username="vera")
    assert kept.count() == KNOWN_MOST and "192.0.2" not in str(list(kept.values()))


@pytest.mark.parametrize("door", ["/setup/administrator/", "/invitation/?key=guess"])
def test_guesses_at_the_other_doors_are_counted(house: House, settings: Any, door: str) -> None:
    settings.GIVEWAY_FAILURES_PER_ADDRESS = 3
    User.objects.filter(role="administrator").update(role="viewer")
    form = {"code": "guess", "username": "eve", "password": "quite a long one", "again": "quite a long one"}
    assert 429 not in [Client().post(door, form).status_code for _ in range(3)]
    answer = Client().post(door, form)
    assert answer.status_code == 429 and 0 < int(answer["Retry-After"]) <= 3600
    assert try_page(PASSWORD) == 429


def test_a_locked_name_tells_nobody_whether_it_exists(house: House, settings: Any) -> None:
    def page(name: str) -> bytes:
        tries = range(settings.AXES_FAILURE_LIMIT)
        pages = [Client().post("/sign-in/", {"username": name, "password": f"guess {i}"}) for i in tries]
        # Each page has a token of its own for the form that chooses the language.
        return re.sub(rb'(name="csrfmiddlewaretoken" value=|"X-CSRFToken": )"\w+"', b"", pages[-1].content)

    assert page("vera") == page("nobody-here")


@pytest.mark.parametrize("guess", ["gwt_" + "0" * 40, "gwt_", "%", "' OR 1=1 --", "\u202e", "x" * 10_000])
def test_a_guessed_token_opens_nothing(house: House, guess: str) -> None:
    factories.make_token(house.people["ada"])
    header = f"Token {guess}".encode().decode("latin-1")
    assert Client(headers={"Authorization": header}).get("/api/v1/account/").status_code == 401


def test_guesses_at_checkpoint_tokens_are_counted(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from rest_framework.throttling import ScopedRateThrottle

    monkeypatch.setattr(ScopedRateThrottle, "THROTTLE_RATES", {"checkpoint": "3/min", "token": "20/min"})
    sent = {"token": "guess:1abcde:" + "x" * 43}
    answers = [Client().post("/api/v1/checkpoints/", sent, content_type="application/json") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [400, 400, 400, 429]


def test_guessing_the_old_password_on_an_open_page_is_counted(house: House, settings: Any) -> None:
    settings.AXES_FAILURE_LIMIT = 2
    thief = Client()
    thief.force_login(User.objects.get(username="vera"))
    new = {"new_password1": "quite another one", "new_password2": "quite another one"}

    def change(old: str) -> int:
        return thief.post("/account/password/", {"old_password": old, **new}).status_code

    assert [change("guess 1"), change("guess 2"), change(PASSWORD)] == [200, 429, 429]
    assert User.objects.get(username="vera").check_password(PASSWORD)
