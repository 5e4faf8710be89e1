"""Sessions end: by signing out, by themselves, with a password or an account; a stolen cookie with them."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.contrib.sessions.models import Session
from django.test import Client

from console.accounts.models import User
from console.accounts.services import account_data, change_account
from console.accounts.session_store import SessionStore, kept_as
from console.steering.tasks import housekeep
from tests.factories import NOW, PASSWORD
from tests.ui.conftest import House, SignedIn

IDLE = timedelta(seconds=django_settings.GIVEWAY_SESSION_IDLE_S)
LONGEST = timedelta(seconds=django_settings.GIVEWAY_SESSION_LONGEST_S)
POLL = {"HX-Request": "true", "HX-Target": "partition-now"}


def sign_in(browser: Client, name: str = "ada") -> str:
    """By name and password, as people do; the session's cookie."""
    answer = browser.post("/sign-in/", {"username": name, "password": PASSWORD})
    assert answer.status_code == 302
    return str(browser.cookies["sessionid"].value)


def thief(cookie: str) -> Client:
    """A browser with nothing but somebody's cookie."""
    browser = Client()
    browser.cookies["sessionid"] = cookie
    return browser


def is_in(browser: Client) -> bool:
    return {200: True, 302: False}[browser.get("/help/").status_code]


def test_a_stolen_cookie_is_worth_nothing_after_signing_out(house: House) -> None:
    browser = Client()
    cookie = sign_in(browser)
    assert is_in(thief(cookie)), "or this test shows nothing"
    browser.post("/sign-out/")
    assert not is_in(thief(cookie))
    assert thief(cookie).get("/api/v1/account/").status_code == 401
    assert thief(cookie).post("/projects/alpha/", {"size": "1"}).status_code == 302
    assert not Session.objects.filter(session_key=kept_as(cookie)).exists()


def test_a_cookie_from_before_signing_in_is_not_the_one_after(house: House) -> None:
    """Session fixation: who has planted a cookie does not know the one that counts."""
    browser = Client()
    browser.get("/sign-in/")
    session = browser.session
    session["planted"] = True
    session.save()
    planted = str(session.session_key)
    browser.cookies["sessionid"] = planted
    assert sign_in(browser) != planted
    assert not is_in(thief(planted))


@pytest.mark.parametrize("ends", ["everywhere", "password", "switched off", "switched off and on"])
def test_what_ends_all_sessions_ends_a_stolen_one(house: House, ends: str) -> None:
    cookie = sign_in(Client(), "vera")
    assert is_in(thief(cookie))
    vera = User.objects.get(username="vera")
    match ends:
        case "everywhere":
            other = Client()
            sign_in(other, "vera")
            other.post("/account/sessions/end/")
        case "password":
            change_account(actor="ada", user=vera, data=account_data(vera), password="another long one, 7")
        case _:
            off = account_data(vera).__class__(active=False)
            change_account(actor="ada", user=vera, data=off)
            if ends.endswith("on"):
                change_account(actor="ada", user=vera, data=account_data(vera).__class__(active=True))
    assert not is_in(thief(cookie))


def test_a_session_ends_when_nobody_is_there(house: House, signed_in: SignedIn) -> None:
    with time_machine.travel(NOW, tick=False) as time:
        browser = signed_in("vera")
        assert is_in(browser)
        time.shift(IDLE - timedelta(seconds=1))
        assert is_in(browser), "being there puts the end off"
        time.shift(IDLE - timedelta(seconds=1))
        assert is_in(browser)
        time.shift(IDLE)
        assert not is_in(browser)
        time.shift(-IDLE)
        assert not is_in(browser), "what has ended does not come back"


def test_a_page_that_polls_is_nobody(house: House, signed_in: SignedIn) -> None:
    with time_machine.travel(NOW, tick=False) as time:
        browser = signed_in("vera")
        assert is_in(browser)
        answers = []
        for _ in range(4):
            time.shift(IDLE / 4)
            answers.append(browser.get("/partitions/x/?since=3", headers=POLL).status_code)
        assert answers == [204, 204, 204, 302] and not is_in(browser)


def test_no_session_outlives_the_longest_time(house: House, signed_in: SignedIn) -> None:
    with time_machine.travel(NOW, tick=False) as time:
        browser = signed_in("vera")
        hours = int(LONGEST / timedelta(hours=1))
        alive = []
        for _ in range(hours + 1):
            alive.append(is_in(browser))
            time.shift(timedelta(hours=1))
    assert alive == [True] * hours + [False]


def test_reading_does_not_write(house: House, signed_in: SignedIn, django_assert_num_queries: Any) -> None:
    with time_machine.travel(NOW, tick=False) as time:
        browser = signed_in("vera")
        time.shift(59)
        with django_assert_num_queries(2):  # the session, the account
            browser.get("/sign-in/")


def test_a_session_that_ends_while_it_is_looked_at_is_over(
    house: House, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed out in another tab, between the look and the note of when it was seen last."""
    save = SessionStore.save

    def ended(store: Any, **values: Any) -> None:
        Session.objects.all().delete()
        save(store, **values)

    with time_machine.travel(NOW, tick=False) as time:
        browser = signed_in("vera")
        time.shift(timedelta(minutes=2))
        monkeypatch.setattr(SessionStore, "save", ended)
        assert browser.get("/account/").status_code == 302


def test_the_cookies_are_for_the_server_and_no_other_site(house: House) -> None:
    browser = Client()
    sign_in(browser)
    cookie = browser.cookies["sessionid"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"
    assert cookie["max-age"] == LONGEST.total_seconds()
    from console.settings import sign_in as common

    assert common.CSRF_COOKIE_SAMESITE == "Lax"


def test_a_session_from_before_there_were_limits_gets_one(house: House, signed_in: SignedIn) -> None:
    with time_machine.travel(NOW, tick=False) as time:
        browser = signed_in("vera")
        session = browser.session
        del session["began_at"], session["seen_at"]
        session.save()
        assert is_in(browser)
        time.shift(IDLE)
        assert not is_in(browser)


def test_a_token_got_with_a_password_opens_no_session(house: House) -> None:
    client = Client()
    sent = {"username": "vera", "password": PASSWORD}
    assert client.post("/api/v1/token/", sent, content_type="application/json").status_code == 200
    assert "sessionid" not in client.cookies and not Session.objects.exists()


def test_sessions_that_have_ended_are_deleted(house: House) -> None:
    with time_machine.travel(NOW - 2 * LONGEST, tick=False):
        old = sign_in(Client())
    with time_machine.travel(NOW, tick=False):
        new = sign_in(Client())
        housekeep()
    both = Session.objects.filter(session_key__in=[kept_as(old), kept_as(new)])
    assert list(both.values_list("session_key", flat=True)) == [kept_as(new)]
