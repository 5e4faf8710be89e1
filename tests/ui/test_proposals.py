"""A manager proposes a project: the form, the one list of requests, the decision, and faults beside their fields."""

import re
from typing import Any

import pytest
from django.test import Client

from console.accounts.models import User
from console.projects.models import Project, ProjectProposal
from tests import factories, needed
from tests.markup import flat
from tests.markup import words_of as words
from tests.ui.conftest import House, SignedIn, part
from tests.ui.test_project_pages import typed

FORM = part("project-form")
GAMMA = {"code": "gamma", "name": "Gamma", "managers": "pam", "reason": "New money", "share": "x: 4 nodes"}


def proposed(**changes: Any) -> dict[str, Any]:
    return {**typed(), **GAMMA, **changes}


def test_a_manager_proposes_and_an_administrator_makes_it_one(house: House, signed_in: SignedIn) -> None:
    pam, ada = signed_in("pam"), signed_in("ada")
    assert 'href="/propose-project/"' in pam.get("/projects/").content.decode()
    assert re.search(r'name="managers"[^>]*>\s*pam<', pam.get("/propose-project/").content.decode())
    page = flat(pam.post("/propose-project/", proposed(), follow=True).content.decode())
    assert "Project gamma has been proposed." in page and "It would need: x: 4 nodes." in page
    made = ProjectProposal.objects.get()
    at = f"/project-proposals/{made.pk}/"
    assert not Project.objects.filter(code="gamma").exists()
    assert "1 proposed project waits" in flat(ada.get("/projects/").content.decode())
    assert f'href="{at}"' in ada.get("/project-requests/").content.decode()
    page = ada.get(at).content.decode()
    assert 'value="accept"' in page and 'name="size" value="40"' in page and "Look at this first" in page
    answer = ada.post(at, proposed(decision="accept", size="8", reason="Agreed, smaller"), follow=True)
    assert "Accepted: project gamma has been made." in answer.content.decode()
    assert Project.objects.get(code="gamma").size == 8
    own = words(pam.get(at).content.decode())
    assert "Accepted with changes: size: 40 → 8" in own and "Agreed, smaller" in own
    assert "Approved" not in own and "Approved" not in words(ada.get("/project-requests/").content.decode())
    assert 'value="accept"' not in own and "Withdraw" not in own


def test_to_reject_only_the_reason_has_to_be_right(house: House, signed_in: SignedIn) -> None:
    at = f"/project-proposals/{needed.proposed(house.cluster).pk}/"
    ada, pam = signed_in("ada"), signed_in("pam")
    assert "This field is required." in ada.post(at, {"decision": "reject"}).content.decode()
    assert "Say whether it is accepted or rejected." in ada.post(at, proposed()).content.decode()
    page = ada.post(at, {"decision": "reject", "reason": "No room", "size": "much"}, follow=True)
    assert "Rejected: there is no project gamma." in page.content.decode()
    assert "No room" in pam.get(at).content.decode()
    assert "it is rejected" in ada.post(at, proposed(decision="accept")).content.decode()
    assert "No room" in flat(pam.get("/project-requests/").content.decode())


def test_whoever_proposed_it_withdraws_it(house: House, signed_in: SignedIn) -> None:
    made = needed.proposed(house.cluster)
    at = f"/project-proposals/{made.pk}/withdraw/"
    assert f'href="{at}"' in signed_in("pam").get(f"/project-proposals/{made.pk}/").content.decode()
    page = signed_in("pam").post(at, {"reason": "Not yet"}, follow=True).content.decode()
    assert "The proposal has been withdrawn." in page
    made.refresh_from_db()
    assert (made.state, made.decision_reason) == ("withdrawn", "Not yet")


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"code": "alpha"}, "code", "There is a project alpha already."),
        ({"code": "a b"}, "code", "Letters, digits, dot, dash and underscore only."),
        ({"size": "1e12"}, "size", "is too large"),
        ({"members": "a\nb\x07"}, "members", "is no user name"),
        ({"share": "x" * 301}, "share", "at most 300 characters"),
        ({"reason": ""}, "reason", "Say why; it stands in the audit log."),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(
    changes: dict[str, str], field: str, message: str, house: House, signed_in: SignedIn
) -> None:
    answer = signed_in("pam").post("/propose-project/", proposed(**changes), headers=FORM)
    page = answer.content.decode()
    assert answer.status_code == 422
    at = page.index(f'name="{field}"')
    assert message in page[at - 500 : at + 1500] and "aria-invalid" in page[at : at + 500]
    assert "x: 4 nodes" in page or field == "share"
    assert not ProjectProposal.objects.exists()


def test_what_is_typed_is_shown_as_text(house: House, signed_in: SignedIn) -> None:
    made = needed.proposed(house.cluster)
    for at in (f"/project-proposals/{made.pk}/", "/project-requests/"):
        page = signed_in("ada").get(at).content.decode()
        assert "&lt;b&gt;New money&lt;/b&gt;" in page and "<b>New" not in page and "<i>rays" not in page


@pytest.mark.parametrize(
    ("who", "read", "decide", "withdraw"),
    [
        ("vera", 404, 404, 404),
        ("mo", 404, 404, 404),
        ("pam", 200, 403, 200),
        ("dave", 200, 403, 403),
        ("otto", 200, 403, 403),
        ("ada", 200, 302, 403),
    ],
)
def test_who_may_do_what(
    who: str, read: int, decide: int, withdraw: int, house: House, signed_in: SignedIn
) -> None:
    factories.make_viewer("mo")
    factories.make_manager(house.beta, "mo")
    at = f"/project-proposals/{needed.proposed(house.cluster).pk}/"
    client = signed_in(who) if who != "mo" else Client()
    if who == "mo":
        client.force_login(User.objects.get(username="mo"))
    assert client.get(at).status_code == read
    assert client.get(f"{at}withdraw/").status_code == withdraw
    answer = client.post(at, {"decision": "reject", "reason": "No"})
    assert answer.status_code == decide


def test_a_manager_asks_what_it_would_change_and_learns_no_code(house: House, signed_in: SignedIn) -> None:
    pam = signed_in("pam")
    asked = {"HX-Request": "true", "HX-Target": "what-if"}
    answers = [
        pam.post("/new-project/what-if/", proposed(code=code), headers=asked) for code in ("gamma", "beta")
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content, "beta is another's"
    assert signed_in("dave").post("/new-project/what-if/", proposed(), headers=asked).status_code == 403
