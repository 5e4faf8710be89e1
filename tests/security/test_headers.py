"""Every answer carries the strict content security policy, and nothing that lets a page elsewhere use it."""

import gzip
import re

import pytest
from django.test import Client

from tests.security.attacked import pages, resources
from tests.ui.conftest import ROLES, House, SignedIn

POLICY = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


def policy_of(header: str) -> dict[str, str]:
    return dict(part.strip().split(" ", 1) for part in header.split(";") if part.strip())


def strict(answer: object, address: str) -> None:
    headers = answer.headers  # type: ignore[attr-defined]
    assert policy_of(headers["Content-Security-Policy"]) == POLICY, address
    assert "Content-Security-Policy-Report-Only" not in headers, address
    assert headers["X-Content-Type-Options"] == "nosniff", address
    assert headers["X-Frame-Options"] == "DENY", address
    assert headers["Referrer-Policy"] == "same-origin", address
    assert "Access-Control-Allow-Origin" not in headers, address


def test_every_page_and_resource_is_strict(house: House, ada: Client) -> None:
    for address in [*pages(house), *resources(house)]:
        strict(ada.get(address, headers={"Origin": "https://evil.example"}), address)


@pytest.mark.parametrize(
    "address", ["/nowhere/", "/sign-in/", "/api/v1/nowhere/", "/audit/", "/static/nowhere.js"]
)
@pytest.mark.parametrize("role", ROLES[:2])
def test_refusals_are_strict_too(house: House, signed_in: SignedIn, address: str, role: str) -> None:
    strict(signed_in(role).get(address), address)


def test_pages_are_compressed_so_that_their_length_tells_no_secret(house: House, ada: Client) -> None:
    """BREACH guesses a secret by the length of an answer: the token is another text each time, the length is random."""
    asked = {"Accept-Encoding": "gzip"}
    answers = [ada.get("/account/", headers=asked) for _ in range(6)]
    assert {answer["Content-Encoding"] for answer in answers} == {"gzip"}
    assert "Accept-Encoding" in answers[0]["Vary"]
    texts = [gzip.decompress(answer.content).decode() for answer in answers]
    tokens = [set(re.findall(r'csrfmiddlewaretoken" value="(\w+)"', text)) for text in texts]
    assert len(set.union(*tokens)) == sum(map(len, tokens)) > 0
    # A gzip file may begin with a name: ten bytes, then the name up to a NUL. Here it is of random length.
    assert all(answer.content[3] & 8 for answer in answers)
    assert len({answer.content.index(0, 10) for answer in answers}) > 1


def test_what_is_no_page_is_sent_as_it_is(house: House, ada: Client) -> None:
    asked = {"Accept-Encoding": "gzip"}
    policy = ada.get("/api/v1/partitions/x/policy/", headers=asked)
    assert "Content-Encoding" not in policy
    assert policy["ETag"].startswith('"'), "a strong ETag stays strong"
    export = ada.post("/audit/export/", {"format": "csv"}, headers=asked)
    assert "Content-Encoding" not in export
