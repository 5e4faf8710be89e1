"""Signing in and out, one's own account, light and dark."""

import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from console.accounts.models import ApiToken
from console.audit.models import AuditEntry
from tests import factories
from tests.factories import PASSWORD
from tests.ui.conftest import House, SignedIn


def test_signing_in_leads_to_where_one_wanted_to_go(house: House) -> None:
    browser = Client()
    asked = browser.get("/projects/alpha/")
    assert asked.headers["Location"] == "/sign-in/?next=/projects/alpha/"
    answer = browser.post(
        asked.headers["Location"], {"username": "ada", "password": PASSWORD, "next": "/projects/alpha/"}
    )
    assert answer.headers["Location"] == "/projects/alpha/"


def test_a_form_that_is_sent_after_its_session_leads_back_to_its_page(house: House) -> None:
    def sent(referer: str) -> str:
        answer = Client().post(f"/plans/{house.plan.pk}/decision/", {}, headers={"referer": referer})
        return answer.headers["Location"]

    back = sent("http://testserver/plans/?state=proposed")
    assert back == "/sign-in/?next=/plans/%3Fstate%3Dproposed&unsaved=1"
    assert "nothing has been saved" in Client().get(back).content.decode()
    for elsewhere in ("", "https://evil.example/plans/", "javascript:alert(1)"):
        assert sent(elsewhere) == "/sign-in/?next=/&unsaved=1"
    assert "nothing has been saved" not in Client().get("/sign-in/?next=/").content.decode()


def test_the_account_names_what_is_ones_own(house: House, signed_in: SignedIn) -> None:
    pages = {who: signed_in(who).get("/account/").content.decode() for who in ("pam", "dave", "vera")}
    assert "You manage projects" in pages["pam"] and 'href="/projects/alpha/"' in pages["pam"]
    assert "You administer partitions" in pages["dave"] and "You manage projects" not in pages["dave"]
    assert "You manage" not in pages["vera"] and "You administer" not in pages["vera"]


def test_an_address_that_only_takes_posts_says_so(signed_in: SignedIn) -> None:
    answer = signed_in("ada").get("/account/password/")
    assert answer.status_code == 405
    assert "only takes what a form sends" in answer.content.decode()
    plain = signed_in("ada").get("/account/password/", headers={"accept": "application/json"})
    assert (plain.status_code, plain.content) == (405, b"")


@pytest.mark.parametrize(
    "address", ["/plans/99999/", "/incidents/99999/", "/projects/none/", "/studies/99999/"]
)
def test_what_is_not_there_is_told_in_words_of_the_console(signed_in: SignedIn, address: str) -> None:
    answer = signed_in("ada").get(address)
    assert answer.status_code == 404
    assert "There is no such page, or it is not yours to see." in answer.content.decode()


def test_nobody_is_sent_elsewhere_after_signing_in(house: House) -> None:
    answer = Client().post(
        "/sign-in/", {"username": "ada", "password": PASSWORD, "next": "https://evil.example/"}
    )
    assert answer.headers["Location"] == "/"


def test_a_wrong_password_keeps_the_name_and_says_no_more_than_needed(house: House) -> None:
    known = Client().post("/sign-in/", {"username": "ada", "password": "wrong"}).content.decode()
    unknown = Client().post("/sign-in/", {"username": "nobody", "password": "wrong"}).content.decode()
    for page in (known, unknown):
        assert "This name and password do not belong together." in page
    assert 'value="ada"' in known
    assert "wrong" not in known


def test_signing_out_is_a_post(house: House, ada: Client) -> None:
    assert ada.get("/sign-out/").status_code == 405
    assert ada.post("/sign-out/").headers["Location"] == "/sign-in/"
    assert ada.get("/").status_code == 302


@pytest.mark.parametrize(
    ("role", "word", "sentence"),
    [
        ("ada", "Administrator", "Import a priority file."),
        ("otto", "Auditor", "Read the whole audit log."),
        ("vera", "Viewer", "See jobs, their levels and why they wait."),
    ],
)
def test_the_own_account_says_what_one_may_do(
    role: str, word: str, sentence: str, house: House, signed_in: SignedIn
) -> None:
    page = signed_in(role).get("/account/").content.decode()
    assert word in page
    assert sentence in page
    assert ("Create projects." in page) is (role == "ada")


def test_a_token_is_shown_once(house: House, ada: Client) -> None:
    answer = ada.post("/account/token/", {"name": "report", "scope": "read", "days": "30"})
    found = re.search(r'id="new-token">(gwt_[0-9a-f]{40})<', answer.content.decode())
    assert found and "no-store" in answer.headers["Cache-Control"]
    later = ada.get("/account/").content.decode()
    assert found[1] not in later and "report" in later
    assert AuditEntry.objects.filter(action="account.token_made", actor="ada").count() == 1
    assert found[1][4:] not in str(list(Session.objects.values())), "nothing keeps it on the way to the page"
    api = Client(headers={"Authorization": f"Token {found[1]}"})
    assert api.get("/api/v1/partitions/").status_code == 200


def test_sending_the_form_twice_makes_one_token(house: House, ada: Client) -> None:
    sent = {"name": "report", "scope": "read", "days": "30"}
    ada.post("/account/token/", sent)
    again = ada.post("/account/token/", sent).content.decode()
    assert "You have a token of this name" in again and 'id="new-token"' not in again
    assert ApiToken.objects.count() == 1


def test_a_token_is_taken_back(house: House, ada: Client) -> None:
    secret = factories.make_token(house.people["ada"], "report")
    token = ApiToken.objects.get()
    page = ada.post(f"/account/token/{token.pk}/revoke/", follow=True).content.decode()
    assert "no longer works" in page and not ApiToken.objects.exists()
    api = Client(headers={"Authorization": f"Token {secret}"})
    assert api.get("/api/v1/partitions/").status_code == 401
    assert AuditEntry.objects.filter(action="account.token_revoked").count() == 1
    assert ada.post(f"/account/token/{token.pk}/revoke/").status_code == 404


def test_nobody_takes_back_anothers_token(house: House, signed_in: SignedIn) -> None:
    factories.make_token(house.people["vera"])
    token = ApiToken.objects.get()
    assert signed_in("ada").post(f"/account/token/{token.pk}/revoke/").status_code == 404
    assert ApiToken.objects.exists()


def test_signing_out_everywhere(house: House, ada: Client, signed_in: SignedIn) -> None:
    other = signed_in("ada")
    assert ada.post("/account/sessions/end/").headers["Location"] == "/sign-in/"
    assert {browser.get("/").status_code for browser in (ada, other)} == {302}
    assert signed_in("otto").get("/").status_code == 200
    row = AuditEntry.objects.get(action="account.sessions_ended")
    assert (row.actor, row.object_id) == ("ada", "ada")


def test_changing_the_password_ends_other_sessions(house: House, ada: Client, signed_in: SignedIn) -> None:
    other = signed_in("ada")
    new = "another long password"
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    page = ada.post("/account/password/", sent, follow=True).content.decode()
    assert "Your password has been changed" in page
    assert ada.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    row = AuditEntry.objects.get(action="account.changed")
    assert new not in str(row.after)


@pytest.mark.parametrize(
    ("old", "new", "again", "message"),
    [
        (
            "wrong",
            "another long password",
            "another long password",
            "Your old password was entered incorrectly",
        ),
        (PASSWORD, "another long password", "something else", "didn’t match"),
        (PASSWORD, "short", "short", "too short"),
        (PASSWORD, "password123", "password123", "too common"),
    ],
)
def test_a_password_that_will_not_do(
    old: str, new: str, again: str, message: str, house: House, ada: Client
) -> None:
    sent = {"old_password": old, "new_password1": new, "new_password2": again}
    page = ada.post("/account/password/", sent).content.decode()
    assert message in page
    house.people["ada"].refresh_from_db()
    assert house.people["ada"].check_password(PASSWORD)


def test_light_and_dark_are_a_choice_kept_in_a_cookie(house: House, ada: Client) -> None:
    def chosen() -> str | None:
        found = re.search(r"<html[^>]*data-theme=\"(\w+)\"", ada.get("/").content.decode())
        return found.group(1) if found else None

    assert chosen() is None, "as the system"
    ada.post("/theme/", {"theme": "dark"})
    assert chosen() == "dark"
    ada.post("/theme/", {"theme": "light"})
    assert chosen() == "light"
    ada.post("/theme/", {"theme": "auto"})
    assert chosen() is None
    ada.cookies["theme"] = '"><script>'
    assert chosen() is None


def test_guessing_passwords_locks_the_pair_of_name_and_address(house: House, settings: Any) -> None:
    settings.AXES_ENABLED = True
    browser = Client()
    wrong = {"username": "ada", "password": "wrong"}
    answers = [browser.post("/sign-in/", wrong) for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert [answer.status_code for answer in answers] == [200] * (len(answers) - 1) + [429]
    answer = answers[-1]
    assert "There were too many failed tries" in answer.content.decode()
    assert browser.post("/sign-in/", {"username": "ada", "password": PASSWORD}).status_code == 429
    assert browser.post("/sign-in/", {"username": "otto", "password": PASSWORD}).status_code == 302
