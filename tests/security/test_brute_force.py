"""Guessing passwords at the page and at the API, API tokens, checkpoint tokens: all is counted, none of it pays."""

import re
from typing import Any

import pytest
from django.test import Client, RequestFactory

from console.accounts.addresses import client_address
from console.accounts.models import User
from tests import factories
from tests.factories import PASSWORD
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
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    for i in range(settings.AXES_FAILURE_LIMIT):
        try_page(f"guess {i}", HTTP_X_FORWARDED_FOR=f"10.0.0.{i}, 192.0.2.9")
    assert try_page(PASSWORD, HTTP_X_FORWARDED_FOR="192.0.2.9") == 429
    assert try_page(PASSWORD, HTTP_X_FORWARDED_FOR="192.0.2.10") == 302


@pytest.mark.parametrize(
    ("proxies", "forwarded", "wanted"),
    [
        (0, "1.1.1.1", "127.0.0.1"),
        (1, "", "127.0.0.1"),
        (1, "1.1.1.1", "1.1.1.1"),
        (1, "6.6.6.6, 1.1.1.1", "1.1.1.1"),
        (2, "6.6.6.6, 1.1.1.1, 2.2.2.2", "1.1.1.1"),
        (2, "1.1.1.1", "1.1.1.1"),
        (1, " , ", "127.0.0.1"),
    ],
)
def test_the_address_that_counts(settings: Any, proxies: int, forwarded: str, wanted: str) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": proxies}
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert client_address(RequestFactory().get("/", headers=headers)) == wanted


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
