"""The switch on the pages: one click, and every page says who, what, since when and why."""

import re

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.steering.models import Pause
from console.steering.pausing import pause, resume
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part

EVERY_PAGE = ("/", "/partitions/x/", "/jobs/", "/jobs/101/", "/plans/", "/approvals/", "/help/", "/account/",
              "/projects/", "/audit/", "/partitions/x/policy/", "/partitions/x/shadow/")  # fmt: skip


def test_one_click_pauses_a_partition_and_one_resumes_it(house: House, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    assert "Pause partition" in dave.get("/partitions/x/").content.decode()

    page = dave.post("/partitions/x/pause/", {"reason": "Moving a node"}, follow=True).content.decode()
    row = Pause.objects.get()
    assert (row.partition, row.by, row.reason) == ("x", "dave", "Moving a node")
    assert "Partition x is paused" in page and "dave paused it" in page and "Moving a node" in page
    assert "Pause partition" not in page

    page = dave.post("/partitions/x/resume/", follow=True).content.decode()
    assert not Pause.objects.exists()
    assert "The pause is lifted" in page and "Pause partition" in page


def test_one_click_pauses_everything_without_a_reason(house: House, ada: Client) -> None:
    assert "Pause everything" in ada.get("/").content.decode()
    page = ada.post("/pause/", follow=True)
    assert page.redirect_chain == [("/", 302)]
    assert "Everything is paused" in page.content.decode()
    assert AuditEntry.objects.get(action="pause.set").actor == "ada"
    assert "Pause partition" not in ada.get("/partitions/x/").content.decode()
    ada.post("/resume/")
    assert not Pause.objects.exists()


@pytest.mark.parametrize("address", EVERY_PAGE)
def test_every_page_says_it(house: House, ada: Client, address: str) -> None:
    assert "is paused</strong>" not in ada.get(address).content.decode()
    pause(actor="dave", cluster=house.cluster, partition=house.x, reason="Moving a node")
    pause(actor="ada", cluster=house.cluster)
    text = ada.get(address).content.decode()
    assert text.count("Partition x is paused") == 1 and "Moving a node" in text
    assert text.count("Everything is paused") == 1
    assert text.index("Everything is paused") < text.index("Partition x is paused")


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("/", "partition-cards"),
        ("/partitions/x/", "partition-now"),
        ("/jobs/", "job-list"),
        ("/jobs/101/", "job-story"),
        ("/approvals/", "approval-list"),
        ("/plans/{plan}/", "plan-progress"),
    ],
)
def test_live_pages_hear_of_it_by_themselves(house: House, ada: Client, address: str, target: str) -> None:
    address = address.format(plan=house.plan.pk)
    pause(actor="dave", cluster=house.cluster, partition=house.x)
    text = flat(ada.get(address, headers=part(target)))
    assert '<div id="pauses" hx-swap-oob="true"><div class="banner banner-warn"' in text
    resume(actor="dave", cluster=house.cluster, partition=house.x)
    text = ada.get(address, headers=part(target)).content.decode()
    assert re.search(r'<div id="pauses" hx-swap-oob="true">\s*</div>', text)


@pytest.mark.parametrize(
    ("role", "x", "everything"),
    [("vera", False, False), ("otto", False, False), ("dave", True, False), ("ada", True, True)],
)
def test_the_buttons_are_for_those_who_may(
    house: House, signed_in: SignedIn, role: str, x: bool, everything: bool
) -> None:
    browser = signed_in(role)
    assert ("Pause everything" in browser.get("/").content.decode()) is everything
    assert ("Pause partition" in browser.get("/partitions/x/").content.decode()) is x
    pause(actor="ada", cluster=house.cluster)
    pause(actor="ada", cluster=house.cluster, partition=house.x)
    text = browser.get("/help/").content.decode()
    assert ('action="/resume/"' in text) is everything
    assert ('action="/partitions/x/resume/"' in text) is x


def test_nobody_who_is_not_signed_in_learns_of_it(house: House, signed_in: SignedIn) -> None:
    pause(actor="ada", cluster=house.cluster, reason="Secret plans")
    assert "Secret plans" not in signed_in("anonymous").get("/sign-in/").content.decode()


def test_a_reason_is_text_and_not_too_long(house: House, ada: Client) -> None:
    ada.post("/pause/", {"reason": "x" * 1001})
    assert not Pause.objects.exists()
    ada.post("/pause/", {"reason": "<b>now</b>"})
    assert "&lt;b&gt;now&lt;/b&gt;" in ada.get("/").content.decode()


def test_the_switch_needs_the_token_against_forgery(house: House) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(house.people["ada"])
    assert browser.post("/pause/").status_code == 403
    assert browser.get("/pause/").status_code == 405
    assert not Pause.objects.exists()


@pytest.mark.parametrize("whole_cluster", [False, True])
@pytest.mark.parametrize("address", ["/", "/partitions/x/", "/partitions/x/policy/"])
def test_enforce_does_not_look_like_enforce_while_it_is_paused(
    house: House, ada: Client, address: str, whole_cluster: bool
) -> None:
    """Seen on the demonstration: the green bolt beside the banner of the pause."""
    factories.put_in_force(house.x, enforcement="enforce")
    assert "Enforce, paused" not in ada.get(address).content.decode()
    pause(actor="dave", cluster=house.cluster, partition=None if whole_cluster else house.x, reason="A node")
    text = ada.get(address).content.decode()
    head = text.split("</nav>")[1]
    assert re.search(
        r'state-warn"><svg[^>]*><use href="[^"]*#player-pause"></use></svg> Enforce, paused', head
    )
    assert not re.search(r"#bolt\"></use></svg> Enforce", head)
    assert 'title="Enforce, paused"' in text, "the list of partitions at the side"


def test_in_shadow_nobody_makes_room(house: House, ada: Client) -> None:
    """Seen on the demonstration: “Making room: plan 40” where nothing is touched."""
    for address in ("/", "/partitions/x/"):
        assert "<dt>Would make room</dt>" in flat(ada.get(address))
    factories.put_in_force(house.x, enforcement="enforce")
    for address in ("/", "/partitions/x/"):
        assert "<dt>Making room</dt>" in flat(ada.get(address))
