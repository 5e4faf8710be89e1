"""Every page there is, taken from the addresses themselves: nothing grave for axe-core, nothing off the side, no
complaint of the browser, light and dark, wide and narrow, in a full house and in an empty one.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from playwright.sync_api import Page, expect

from console.accounts.models import User
from console.setup.first_admin import make_code
from console.setup.inviting import Guest, invite
from tests import factories
from tests.browser.conftest import enter
from tests.browser.furnished import Furnished, furnished
from tests.browser.looking import VIEWS, look

__all__ = ["furnished"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
At = Callable[[str], str]
ELSEWHERE = {
    "login", "setup-administrator", "invitation",  # for somebody without an account: `test_an_empty_house`
    "propose-project", "project-proposal-withdraw",  # for a manager: tests/browser/test_proposals.py
    "oidc", "oidc-callback",  # lead elsewhere, and are off unless the settings name a provider
    "livez", "readyz", "healthz-web", "healthz-cycle", "metrics",  # not for people
}  # fmt: skip
STATES = (
    "/partitions/x/?map=table&w_col=project", "/partitions/x/timeline/?span=7d", "/partitions/y/shadow/",
    "/partitions/x/?map=grid&by=level",
    "/partitions/x/quotas/?level=P0&span=6h",
    "/partitions/x/compare/?to=draft-{draft}", "/jobs/88/", "/nodes/n1/", "/jobs/?q=n1", "/when/", "/history/jobs/88/",
    "/plans/{other}/",
    "/audit/?open=1", "/priority-file/?partition=x", "/no/such/page/",
)  # fmt: skip
"""The same pages with something else on them."""
OTHERS = {
    "pam": ("/", "/projects/", "/projects/alpha/", "/projects/alpha/levels/"),
    "dave": ("/partitions/x/", "/partitions/x/policy/", "/approvals/"),
    "otto": ("/partitions/x/policy/", "/projects/alpha/", "/audit/"),
    "vera": ("/", "/my-jobs/", "/account/"),
}
"""Pages that are others for those who may do less than the administrator."""


def patterns(of: Any = None) -> Iterator[URLPattern]:
    """Every address of the console. The API has one page for people, and that one is Swagger UI as it comes: its
    colours and its buttons within buttons are not ours; `test_what_others_see` looks whether it loads.
    """
    for pattern in get_resolver().url_patterns if of is None else of:
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern.url_patterns)
        elif not str(pattern.name).startswith("api-"):
            yield pattern


def addresses(ada: User, stands: dict[str, Any] | None = None) -> list[str]:
    """The addresses that answer the administrator's GET with a page. `stands` says what stands for a part of an
    address, by page or by part; without it, those that have no parts.
    """
    browser = Client()
    browser.force_login(ada)
    found, lost = [], []
    for pattern in patterns():
        if pattern.name in ELSEWHERE or (stands is None and pattern.pattern.converters):
            continue
        name = str(pattern.name)
        parts = {p: stands.get(p, stands.get(name, 1)) for p in pattern.pattern.converters} if stands else {}
        answer = browser.get(reverse(name, kwargs=parts))
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
            found.append(answer.request["PATH_INFO"])
        elif answer.status_code not in {200, 405}:
            lost.append(f"{name}: {answer.status_code}")
    assert lost == [], "say what stands in these addresses, or visit them in a test of their own"
    return found


def walk(page: Page, at: At, places: Iterable[str], in_turn: bool = False) -> list[str]:
    """What is wrong with them. `in_turn`: each in one of the views, where the full house has it in all."""
    found: list[str] = []
    for number, place in enumerate(places):
        page.goto(at(place))
        found += look(page, [VIEWS[number % len(VIEWS)]] if in_turn else VIEWS)
    return found


@pytest.mark.parametrize("quarter", range(4))
def test_every_page_of_a_full_house(
    furnished: Furnished, ada: Page, at: At, quarter: int, page_faults: list[str]
) -> None:
    stands = {
        "name": "x",
        "node_name": "n1",
        "username": "vera",
        "user_name": "bob",
        "code": "alpha",
        "job_id": "101",
        "audit-entry": furnished.row.sequence,
        "project-request": furnished.request.pk,
        "project-request-withdraw": furnished.request.pk,
        "project-proposal": furnished.proposal.pk,
        "plan": furnished.asked.pk,
        "plan-snapshot": furnished.house.plan.pk,
        "partition-draft": furnished.draft.pk,
        "study": furnished.study.pk,
        "incident": furnished.incident.pk,
        "power-incident": furnished.slow.pk,
    }
    states = [s.format(draft=furnished.draft.pk, other=furnished.house.plan.pk) for s in STATES]
    places = [*addresses(furnished.house.people["ada"], stands), *states]
    assert len(places) > 40
    found = walk(ada, at, places[quarter::4])
    assert not found, "\n".join(found)
    assert [fault for fault in page_faults if "404" not in fault] == []


def test_what_others_see(furnished: Furnished, page: Page, at: At, page_faults: list[str]) -> None:
    vera = furnished.house.people["vera"]
    vera.cluster_user = "bob"
    vera.save()
    found = []
    for name, places in OTHERS.items():
        enter(page.context, at(""), furnished.house.people[name])
        found += walk(page, at, places, in_turn=True)
    assert not found, "\n".join(found)
    page.goto(at(reverse("api-docs")))
    expect(page.locator(".swagger-ui .info")).to_be_visible()
    assert page_faults == []


def test_an_empty_house(db: None, page: Page, at: At, page_faults: list[str]) -> None:
    make_code()
    found = walk(page, at, ("/sign-in/", "/setup/administrator/"))
    ada = factories.make_administrator()
    _, key = invite(actor="ada", guest=Guest("erin"), reason="She audits")
    found += walk(page, at, [f"/invitation/?key={key}"])
    enter(page.context, at(""), ada)
    found += walk(page, at, addresses(ada), in_turn=True)
    assert not found, "\n".join(found)
    assert page_faults == []
