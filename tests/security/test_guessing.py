"""Guessing ids and names: what is not yours looks exactly like what is not there."""

import re

import pytest
from django.test import Client

from console.accounts.models import ApiToken
from console.audit.models import AuditEntry
from tests import factories
from tests.ui.conftest import House, SignedIn

REQUEST = re.compile(rb"[0-9a-f]{32}")


def same(browser: Client, there: str, not_there: str) -> None:
    """The same answer, but for the words that were asked with."""
    one, other = browser.get(there), browser.get(not_there)
    assert one.status_code == other.status_code == 404, there

    def plain(content: bytes, address: str) -> bytes:
        return REQUEST.sub(b"", content.replace(address.encode(), b""))

    first, second = plain(one.content, there), plain(other.content, not_there)
    csrf = re.compile(rb'(csrfmiddlewaretoken" value="|X-CSRFToken&quot;: &quot;|X-CSRFToken": ")[\w-]+')
    assert csrf.sub(b"", first) == csrf.sub(b"", second)


@pytest.mark.parametrize(
    ("role", "there", "not_there"),
    [
        ("pam", "/projects/beta/", "/projects/nowhere/"),
        ("pam", "/api/v1/projects/beta/", "/api/v1/projects/nowhere/"),
        ("dave", "/api/v1/partitions/y/revisions/1/", "/api/v1/partitions/y/revisions/99/"),
        ("vera", "/projects/alpha/", "/projects/nowhere/"),
    ],
)
def test_anothers_thing_is_like_nothing(
    house: House, signed_in: SignedIn, role: str, there: str, not_there: str
) -> None:
    same(signed_in(role), there, not_there)


def test_rows_of_the_log_are_not_counted_by_guessing(house: House, signed_in: SignedIn) -> None:
    entries = {entry.sequence: entry.project for entry in AuditEntry.objects.all()}
    pam = signed_in("pam")
    for sequence in range(max(entries) + 3):
        status = pam.get(f"/api/v1/audit/{sequence}/").status_code
        assert status == (200 if entries.get(sequence) == "alpha" else 404), sequence


def test_tokens_are_not_found_by_number(house: House, signed_in: SignedIn) -> None:
    for name in ("ada", "otto", "vera"):
        factories.make_token(house.people[name])
    own = ApiToken.objects.get(user=house.people["vera"])
    vera = signed_in("vera")
    found = [pk for pk in range(own.pk + 3) if vera.get(f"/api/v1/tokens/{pk}/").status_code == 200]
    assert found == [own.pk]


@pytest.mark.parametrize(
    "number", ["-1", "0", "99999999999999999999999", "1e3", "0x1", "1%00", "%2e%2e", "1;--", "١"]
)
@pytest.mark.parametrize(
    "path", ["/plans/{}/", "/api/v1/plans/{}/", "/api/v1/audit/{}/", "/api/v1/tokens/{}/"]
)
def test_no_number_is_a_defect(house: House, ada: Client, path: str, number: str) -> None:
    assert ada.get(path.format(number)).status_code == 404


@pytest.mark.parametrize(
    "path", ["/static/../console/settings/base.py", "/static/%2e%2e/manage.py", "//etc/passwd"]
)
def test_no_file_is_reached_by_its_path(house: House, ada: Client, path: str) -> None:
    assert ada.get(path).status_code in {301, 302, 404}
