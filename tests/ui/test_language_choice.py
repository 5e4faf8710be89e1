"""Which language an answer is in: the account's, else the cookie's, else the browser's; parts stay as their page is."""

import re

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation

from console.accounts.models import User
from tests.markup import flat
from tests.ui.conftest import House, SignedIn

CHINESE, ENGLISH = "zh-hans", "en"
TITLES = {CHINESE: "概览", ENGLISH: "Overview"}


def language_of(client: Client, address: str = "/", **headers: str) -> str:
    """What the page says of itself; its texts and `Content-Language` say the same."""
    answer = client.get(address, headers=headers)
    found = re.search(r'<html lang="([^"]+)"', answer.content.decode())
    assert found and answer.headers["Content-Language"].lower() == found[1]
    assert {"Accept-Language", "Cookie"} <= {each.strip() for each in answer.headers["Vary"].split(",")}
    return found[1]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("", ENGLISH),
        ("zh-CN,zh;q=0.9,en;q=0.8", CHINESE),
        ("zh-Hans", CHINESE),
        ("zh", CHINESE),
        ("de-DE,de;q=0.9", ENGLISH),
        ("de,zh-CN;q=0.5", CHINESE),
        ("en-US,zh-CN;q=0.5", ENGLISH),
        ("nonsense;;q=", ENGLISH),
    ],
)
def test_the_browser_says_it(house: House, asked: str, given: str) -> None:
    assert language_of(Client(), "/sign-in/", **{"Accept-Language": asked}) == given


def test_a_choice_before_the_sign_in_is_kept_in_a_cookie_and_holds_afterwards(house: House) -> None:
    browser = Client(headers={"Accept-Language": "en"})
    answer = browser.post("/language/", {"language": CHINESE, "next": "/sign-in/?next=/jobs/"}, secure=True)
    assert answer.headers["Location"] == "/sign-in/?next=/jobs/"
    cookie = answer.cookies["language"]
    assert cookie["httponly"] and cookie["secure"] and cookie["samesite"] == "Lax"
    assert language_of(browser, "/sign-in/") == CHINESE
    browser.force_login(house.people["ada"])
    assert language_of(browser) == CHINESE
    assert User.objects.get(username="ada").language == "", (
        "only a choice made while signed in is the account's"
    )


def test_the_accounts_choice_comes_before_cookie_and_browser(house: House, signed_in: SignedIn) -> None:
    signed_in("ada").post("/language/", {"language": CHINESE})
    elsewhere = signed_in("ada")
    elsewhere.cookies["language"] = ENGLISH
    page = flat(elsewhere.get("/", headers={"Accept-Language": "en"}))
    assert f"<h1>{TITLES[CHINESE]}</h1>" in page and 'lang="zh-hans" aria-pressed="true"' in page
    assert language_of(signed_in("otto")) == ENGLISH


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "500", "503"])
def test_what_is_said_instead_of_a_page_names_its_language(name: str) -> None:
    with translation.override(CHINESE):
        page = render_to_string(f"{name}.html", {"exception": ""})
    assert f'<html lang="{CHINESE}"' in page


def test_the_documents_of_the_api_are_english_and_say_so(house: House, ada: Client) -> None:
    page = ada.get("/api/v1/docs/", headers={"Accept-Language": "zh-CN"}).content.decode()
    assert '<html lang="en">' in page


def test_no_choice_at_all_leaves_it_to_the_browser(house: House, ada: Client) -> None:
    ada.post("/language/", {"language": CHINESE})
    ada.post("/language/", {"language": ""})
    assert "language" not in ada.cookies or not ada.cookies["language"].value
    assert language_of(ada, **{"Accept-Language": "zh-CN"}) == CHINESE and language_of(ada) == ENGLISH


@pytest.mark.parametrize("code", ["de", "zh", "ZH-HANS", "../en", "en\r\nSet-Cookie: a=b", "<b>"])
def test_what_is_no_language_of_the_console_is_refused(house: House, ada: Client, code: str) -> None:
    answer = ada.post("/language/", {"language": code})
    assert answer.status_code == 400 and "language" not in answer.cookies
    assert User.objects.get(username="ada").language == ""
    ada.cookies["language"] = code.replace("\r\n", "")
    assert language_of(ada) in TITLES


def test_the_choice_is_a_post_with_a_token_and_leads_nowhere_else(house: House) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.get("/language/").status_code == 405
    assert strict.post("/language/", {"language": CHINESE}).status_code == 403
    away = Client().post("/language/", {"language": CHINESE, "next": "https://evil.example/"})
    assert away.headers["Location"] == "/"


def test_a_part_is_in_the_language_of_its_page(house: House, ada: Client) -> None:
    """The choice was changed in another tab: this one goes on as it began, until it is loaded anew."""
    old = {"HX-Request": "true", "HX-Target": "partition-cards", "Page-Language": ENGLISH}
    page = ada.get("/").content.decode()
    assert '"Page-Language": "en"' in page
    ada.post("/language/", {"language": CHINESE})
    part = ada.get("/", headers=old)
    assert "Stopped today" in part.content.decode() and "Page-Language" in part.headers["Vary"]
    new = ada.get("/", headers={**old, "Page-Language": CHINESE}).content.decode()
    assert "今天停止" in new and "Stopped today" not in new
    unknown = ada.get("/", headers={**old, "Page-Language": "xx"}).content.decode()
    assert "今天停止" in unknown


def test_the_api_speaks_english_unless_the_header_asks_otherwise(house: House, ada: Client) -> None:
    ada.post("/language/", {"language": CHINESE})
    missing = "/api/v1/jobs/nothing/"
    assert ada.get(missing).headers["Content-Language"] == ENGLISH
    asked = ada.get("/api/v1/projects/?limit=0", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    plain = ada.get("/api/v1/projects/?limit=0")
    assert asked.headers["Content-Language"] == CHINESE and "Accept-Language" in asked.headers["Vary"]
    assert plain.headers["Content-Language"] == ENGLISH
