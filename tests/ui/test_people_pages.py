"""The list of people, and one account: what is seen, what is changed, what stands in the audit log."""

from datetime import timedelta

import pytest
from django.test import Client

from console.accounts.models import Identity, Role, User
from console.accounts.tokens import TokenData, make_token
from console.audit.models import AuditEntry
from console.core import clock
from tests import factories
from tests.factories import PASSWORD
from tests.ui.conftest import House, SignedIn


def text(browser: Client, address: str) -> str:
    """The page's words, whatever stands between them."""
    return " ".join(browser.get(address).content.decode().split())


def test_the_list_says_what_is_whose_and_who_has_never_come(house: House, ada: Client) -> None:
    make_token(house.people["pam"], TokenData("nightly"), actor="pam")
    nobody_vouches = factories.make_viewer("nora")
    nobody_vouches.set_unusable_password()
    nobody_vouches.save()
    page = text(ada, "/people/")
    assert all(
        f'<a href="/people/{name}/">{name}</a>' in page for name in ("ada", "otto", "pam", "dave", "nora")
    )
    assert '<a href="/partitions/x/">x</a>' in page, "dave administers it"
    assert '<a href="/projects/alpha/">alpha</a>' in page, "pam manages it"
    assert "1 token" in page
    assert "not yet: there is no password and nobody vouches" in page
    Identity.objects.create(
        user=nobody_vouches, issuer="https://idp.example", subject="1", linked_at=clock.now()
    )
    assert "through the provider or the directory" in text(ada, "/people/?q=nora")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?q=dav", {"dave"}),
        ("?role=auditor", {"otto"}),
        ("?state=off", {"vera"}),
        ("?role=nonsense&state=nonsense&page=99", {"ada", "otto", "vera", "pam", "dave"}),
        ("?q=nobody-of-this-name", set()),
    ],
)
def test_filters_leave_out_what_does_not_fit_and_no_more(
    house: House, ada: Client, query: str, names: set[str]
) -> None:
    User.objects.filter(username="vera").update(is_active=False)
    page = text(ada, f"/people/{query}")
    assert {name for name in house.people if f'href="/people/{name}/"' in page} == names
    assert names or "Nobody fits." in page


def test_fifty_stand_on_a_page(house: House, ada: Client) -> None:
    for number in range(60):
        factories.make_viewer(f"u{number:02}")
    assert "1 to 50 of 65" in text(ada, "/people/")
    assert "51 to 65 of 65" in text(ada, "/people/?page=2")


def test_an_administrator_changes_an_account_and_says_why(house: House, ada: Client) -> None:
    sent = {
        "role": "auditor",
        "active": "on",
        "email": "v@example.org",
        "cluster_user": "",
        "reason": "joins",
    }
    assert ada.post("/people/vera/", sent).headers["Location"] == "/people/vera/"
    vera = User.objects.get(username="vera")
    assert (vera.role, vera.email) == (Role.AUDITOR, "v@example.org")
    row = AuditEntry.objects.get(action="account.changed")
    assert (row.actor, row.object_id, row.reason) == ("ada", "vera", "joins")


def test_a_change_without_a_reason_changes_nothing(house: House, ada: Client) -> None:
    page = ada.post("/people/vera/", {"role": "administrator", "active": "on"}).content.decode()
    assert "Say why; it stands in the audit log." in page
    assert User.objects.get(username="vera").role == Role.VIEWER


def test_the_last_administrator_stays_one(house: House, ada: Client) -> None:
    page = ada.post("/people/ada/", {"role": "viewer", "active": "on", "reason": "tired"}).content.decode()
    assert "This is the last administrator; make another one first." in page
    assert "This is your own account." in page
    assert User.objects.get(username="ada").role == Role.ADMINISTRATOR


def test_who_is_switched_off_is_out_at_once(house: House, ada: Client, signed_in: SignedIn) -> None:
    vera = signed_in("vera")
    assert vera.get("/").status_code == 200
    ada.post("/people/vera/", {"role": "viewer", "reason": "has left"})
    assert vera.get("/").status_code == 302
    assert "switched off" in text(ada, "/people/vera/")


def test_somebody_is_signed_out_everywhere(house: House, ada: Client) -> None:
    vera = Client()
    vera.post("/sign-in/", {"username": "vera", "password": PASSWORD})
    assert vera.get("/").status_code == 200
    ada.post("/people/vera/sessions/end/", {"reason": ""})
    assert vera.get("/").status_code == 200, "no reason, nothing done"
    ada.post("/people/vera/sessions/end/", {"reason": "a lost laptop"})
    assert vera.get("/").status_code == 302
    row = AuditEntry.objects.get(action="account.sessions_ended")
    assert (row.actor, row.reason) == ("ada", "a lost laptop")


def test_a_token_is_taken_back_and_ended_ones_are_not_shown(house: House, ada: Client) -> None:
    token, _secret = make_token(house.people["pam"], TokenData("nightly"), actor="pam")
    old, _secret = make_token(house.people["pam"], TokenData("of old"), actor="pam")
    old.ends_at = clock.now() - timedelta(days=1)
    old.save()
    page = text(ada, "/people/pam/")
    assert "nightly" in page and "of old" not in page
    place = f"/people/pam/tokens/{token.pk}/revoke/"
    ada.post(place, {"reason": ""})
    assert house.people["pam"].api_tokens.filter(pk=token.pk).exists()
    assert ada.post(place, {"reason": "found in a repository"}).status_code == 302
    assert not house.people["pam"].api_tokens.filter(pk=token.pk).exists()
    row = AuditEntry.objects.get(action="account.token_revoked")
    assert (row.actor, row.reason) == ("ada", "found in a repository")
    assert ada.post(f"/people/vera/tokens/{old.pk}/revoke/", {"reason": "x"}).status_code == 404, (
        "it is pam's"
    )


def test_an_auditor_reads_and_has_nothing_to_press(house: House, signed_in: SignedIn) -> None:
    otto = signed_in("otto")
    page = text(otto, "/people/vera/")
    assert 'action="/people/vera/' not in page and 'name="role"' not in page
    assert "Invite somebody" not in text(otto, "/people/")


def test_names_of_any_kind_have_their_page(house: House, ada: Client) -> None:
    for name in ("o'hara", "ann@example.org", "müller", "a.b+c-d_e"):
        User(username=name).save()
        assert ada.get("/people/", {"q": name}).status_code == 200
    for name in ("ann@example.org", "müller", "a.b+c-d_e", "o'hara"):
        assert f"<h1>{name.replace(chr(39), '&#x27;')}</h1>" in text(ada, f"/people/{name}/")


def test_only_who_may_sees_the_way_to_it(house: House, signed_in: SignedIn) -> None:
    assert 'href="/people/"' in text(signed_in("otto"), "/")
    assert 'href="/people/"' not in text(signed_in("dave"), "/")
