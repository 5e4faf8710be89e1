"""Guessing passwords: an invented address for each try, other names from one address, and hashing without end."""

import sqlite3
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from axes.models import AccessAttempt

from console.accounts.models import KnownAddress, Tries
from tests.security.test_attacks.installation import Installation, installation, production

pytestmark = [pytest.mark.e2e]

TOKEN = "/api/v1/token/"
LIMITS = {"GIVEWAY_FAILURES_PER_ADDRESS": "12", "GIVEWAY_FAILURES_PER_NAME": "12"}
HASHERS = 16


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """With the proxy at the Unix socket, and nobody else believed."""
    folder = tmp_path_factory.mktemp("guessed")
    made = installation(folder, GIVEWAY_TRUSTED_PROXIES="unix", **LIMITS)
    with made.served(folder / "web.log"):
        yield made


@pytest.fixture(autouse=True)
def _forgotten(request: pytest.FixtureRequest) -> None:
    """Each test begins with a clean slate, as an hour later."""
    if "console" in request.fixturenames:
        console: Installation = request.getfixturevalue("console")
        with closing(sqlite3.connect(console.home / "giveway.sqlite3", timeout=60)) as database:
            for model in (AccessAttempt, KnownAddress, Tries):
                database.execute(f"DELETE FROM {model._meta.db_table}")
            database.commit()


def test_another_address_each_time_is_believed_of_the_proxy_alone(console: Installation) -> None:
    """Straight to the web server, with another X-Forwarded-For each time."""
    statuses = []
    for i in range(11):
        guesser = console.client(X_Forwarded_For=f"203.0.113.{i}")
        statuses.append(guesser.sign_in("vera", f"guess {i}").status)
    assert statuses == [200] * 9 + [429] * 2
    assert console.client(X_Forwarded_For="203.0.113.99").sign_in("vera").status == 429
    elsewhere = console.client(by_proxy=True, X_Forwarded_For="198.51.100.7")
    assert elsewhere.sign_in("vera").status == 302, "another address, as the proxy says"


def test_other_names_from_one_address_come_to_an_end_at_every_door(console: Installation) -> None:
    guesser = console.client()
    assert [guesser.sign_in(f"name-{i}", "guess").status for i in range(12)] == [200] * 12
    assert guesser.sign_in("name-13", "guess").status == 429
    assert guesser.send(TOKEN, {"username": "vera", "password": "guess"}).status == 429
    assert guesser.ask("GET", "/invitation/?key=guess").status == 429
    assert guesser.sign_in("vera").status == 429, "nor with the right one, where vera has never been"


def test_one_name_from_many_addresses_comes_to_an_end(console: Installation) -> None:
    """A proxy tells the truth about a guesser who has many addresses."""
    home = console.client(by_proxy=True, X_Forwarded_For="198.51.100.7")
    assert home.sign_in("vera").status == 302
    guesses = [
        console.client(by_proxy=True, X_Forwarded_For=f"203.0.113.{i}").sign_in("vera", "guess").status
        for i in range(14)
    ]
    assert guesses == [200] * 12 + [429] * 2
    again = console.client(by_proxy=True, X_Forwarded_For="198.51.100.7")
    assert again.sign_in("vera").status == 302, "who is at home there is not kept out from afar"


def test_the_old_password_is_guessed_no_further(console: Installation) -> None:
    """By the page and by the API, from an open session."""
    found = console.client()
    assert found.sign_in("vera").status == 302
    new = {"new_password1": "quite another one", "new_password2": "quite another one"}
    token = found.ask("GET", "/account/").text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]

    def by_page(old: str) -> int:
        body = "&".join(f"{key}={value}" for key, value in {"old_password": old, **new}.items())
        return found.ask("POST", "/account/password/", f"csrfmiddlewaretoken={token}&{body}").status

    def by_api(old: str) -> int:
        sent = {"old_password": old, "new_password": "quite another one"}
        csrf = found.cookies["csrftoken"]
        return found.send("/api/v1/account/password/", sent, "PUT", X_CSRFToken=csrf).status

    statuses = [(by_page, by_api)[i % 2](f"guess{i}") for i in range(12)]
    assert statuses[:9] == [200, 400] * 4 + [200] and statuses[9:] == [429] * 3


def test_https_is_believed_of_the_proxy_alone(tmp_path: Path) -> None:
    """Under the settings of a real installation everything else is sent to https."""
    made = production(tmp_path)
    with made.served(tmp_path / "web.log"):
        sent = {"username": "vera", "password": "guess"}
        said = {"X_Forwarded_Proto": "https", "X_Forwarded_For": "203.0.113.9", "X_Forwarded_Ssl": "on"}
        assert made.client().send(TOKEN, sent, **said).status == 301
        assert made.client(by_proxy=True).send(TOKEN, sent, **said).status == 400
        assert made.client(by_proxy=True).send(TOKEN, sent).status == 301
        assert made.client().ask("GET", "/livez").status == 200


@contextmanager
def hashing(console: Installation) -> Iterator[list[tuple[int, str, float]]]:
    """So many connections that send one wrong password after the other, each for another name: what each was answered,
    and how long that took."""
    over, answers = threading.Event(), list[tuple[int, str, float]]()

    def guess(number: int) -> None:
        tries = 0
        while not over.is_set():
            sent = {"username": f"{number}-{tries}", "password": "guess"}
            begin = time.monotonic()
            answer = console.client(by_proxy=True, X_Forwarded_For=f"2001:db8:{number:x}:{tries:x}::1").send(
                TOKEN, sent
            )
            took = time.monotonic() - begin
            answers.append((answer.status, answer.headers.get("Retry-After", ""), took))
            tries += 1

    threads = [threading.Thread(target=guess, args=(number,)) for number in range(HASHERS)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_sixteen_connections_of_hashing_leave_room_for_everybody_else(console: Installation) -> None:
    waited = []
    with hashing(console) as answers:
        until = time.monotonic() + 8
        while time.monotonic() < until:
            begin = time.monotonic()
            assert console.client().ask("GET", "/livez").status == 200
            waited.append(time.monotonic() - begin)
            time.sleep(0.05)
    statuses = {status for status, *_ in answers}
    assert statuses == {400, 503}, "some are looked at, the others turned away"
    assert {retry for status, retry, _ in answers if status == 503} == {"2"}
    hashed = statistics.median(took for status, _, took in answers if status == 400)
    assert statistics.median(waited) < hashed / 2, "who hashes nothing does not wait for those who do"
