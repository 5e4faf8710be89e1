"""The first minutes in the browser: the seat, the steps, invitations."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils.html import escape
from pytest_django import Settings
from rest_framework.test import APIClient

from console.accounts.models import Role, User
from console.audit.models import AuditEntry
from console.cluster.models import Cluster
from console.core import clock
from console.health.doctor import directory
from console.health.doctor.findings import fail
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.partitions.services import activate_policy
from console.projects.models import Project
from console.setup.first_admin import make_code
from console.setup.models import Examination, Invitation
from scheduler.model.kind import KIND_LIMITS
from tests import factories
from tests.markup import words_of
from tests.ui import conftest as ui
from tests.ui.conftest import House, SignedIn

house = ui.own_house
"""Some tests begin with nobody there."""
SEAT = "/setup/administrator/"
PASSWORD = "a-long-enough-one"
Post = Callable[..., Any]


def seat(**changes: str) -> dict[str, str]:
    return {"username": "ada", "email": "", "password": PASSWORD, "again": PASSWORD, **changes}


# --- The first administrator ------------------------------------------------------------------------------


@pytest.mark.django_db
def test_whoever_has_the_code_becomes_the_administrator_and_is_signed_in() -> None:
    code, browser = make_code(), Client()
    assert "Create the first administrator" in browser.get("/sign-in/").content.decode()
    page = browser.post(SEAT, seat(code=code), follow=True)
    assert page.redirect_chain == [("/setup/", 302)]
    assert "The first minutes" in page.content.decode()
    assert User.objects.get().role == Role.ADMINISTRATOR
    assert "Create the first administrator" not in Client().get("/sign-in/").content.decode()
    late = Client().post(SEAT, seat(code=code, username="eve"))
    assert (late.status_code, "The first administrator’s seat is taken." in late.content.decode()) == (
        404,
        True,
    )
    assert User.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"code": "aaaa-aaaa-aaaa-aaaa-aaaa"}, "This is not the code"),
        ({"again": "another-long-one"}, "This is not the same password."),
        ({"password": "123", "again": "123"}, "too short"),
        ({"username": "giveway"}, "stands for the system itself"),
    ],
)
def test_what_is_wrong_is_said_and_nobody_is_made(changes: dict[str, str], message: str) -> None:
    page = Client().post(SEAT, seat(**{"code": make_code(), **changes})).content.decode()
    assert message in unescape(page)
    assert PASSWORD not in page
    assert not User.objects.exists()


# --- The steps --------------------------------------------------------------------------------------------


def sign_in_page(browser: Client) -> str:
    return " ".join(browser.get("/setup/sign-in/").content.decode().split())


def test_what_is_off_says_what_to_set_and_where_it_leads_back(house: House, ada: Client) -> None:
    page = sign_in_page(ada)
    assert "GIVEWAY_OIDC_ISSUER=https://idp.example.org/realms/hpc" in page
    assert "http://testserver/sign-in/oidc/callback/" in page
    assert "GIVEWAY_LDAP_URLS=ldaps://ldap.example.org" in page
    assert "No groups are named" in page


def test_what_is_on_says_how_and_tells_no_secret(house: House, ada: Client, settings: Settings) -> None:
    settings.GIVEWAY_OIDC_ISSUER = "https://idp.site.example"
    settings.GIVEWAY_OIDC_CLIENT_ID = "gw-console"
    settings.GIVEWAY_OIDC_CLIENT_SECRET = "sesame-one"
    settings.GIVEWAY_LDAP_URLS = ["ldaps://one.example"]
    settings.GIVEWAY_LDAP_BIND_PASSWORD = "sesame-two"
    settings.GIVEWAY_GROUPS_ADMINISTRATOR = ["hpc-admins"]
    finding = fail(
        directory.NAME, "doctor.directory.no_help", address="ldaps://one.example", why="it is away"
    )
    Examination.objects.create(cluster=house.cluster, examined_at=clock.now(), findings=[finding.as_json()])
    page = sign_in_page(ada)
    assert all(
        each in page
        for each in ("https://idp.site.example", "gw-console", "ldaps://one.example", "hpc-admins")
    )
    assert "sesame" not in page
    assert "it is away" in page and "must be mended" in page
    assert "GIVEWAY_OIDC_ISSUER=" not in page, "nothing is left to set"


def test_a_step_is_put_off_and_taken_up_again(house: House, ada: Client) -> None:
    for state in ("put off", "to do"):
        page = ada.post("/setup/later/", {"step": "cluster"}, follow=True).content.decode()
        text = words_of(page)
        assert f"{state} Attach Slurm" in text
    ada.post("/setup/later/", {"step": "no such"})


def test_the_doctors_findings_are_shown_with_their_cures(house: House, ada: Client) -> None:
    page = words_of(ada.get("/setup/cluster/").content.decode())
    assert "Not examined yet." in page
    ada.post("/setup/cluster/")
    assert Examination.objects.get().waits
    page = words_of(ada.get("/setup/cluster/").content.decode())
    assert "The worker has been asked and has not answered yet." in page
    findings = [
        {"check": "worker", "level": "OK", "what": "It runs.", "fix": ""},
        {"check": "slurmctld", "level": "FAIL", "what": "<b>No</b> requeue.", "fix": "Set JobRequeue=1."},
    ]
    Examination.objects.update(examined_at=clock.now(), findings=findings, worst="FAIL")
    page = ada.get("/setup/cluster/").content.decode()
    assert "&lt;b&gt;No&lt;/b&gt; requeue." in page
    assert page.index("Set JobRequeue=1.") < page.index("It runs."), "the worst first"
    assert "has not looked for a long time" not in page


def test_old_findings_say_when_they_were_looked_at(house: House, ada: Client) -> None:
    findings = [{"check": "audit", "level": "WARN", "what": "Not verified yet.", "fix": "Start the worker."}]
    old = clock.now() - timedelta(hours=3)
    Examination.objects.create(cluster=house.cluster, examined_at=old, findings=findings, worst="WARN")
    page = words_of(ada.get("/setup/cluster/").content.decode())
    assert "will bite 3 h ago" in page
    assert "The worker has not looked for a long time" in page


PART = {"HX-Request": "true", "HX-Target": "levels-preview"}


@pytest.fixture
def bare(house: House) -> Partition:
    """A partition without levels; alpha (ann) scores 120, beta (nobody) 5."""
    empty: dict[str, Any] = {"levels": [], "quotas": {}, "user_overrides": {}, "task_overrides": {}}
    return factories.make_partition(house.cluster, "z", **empty)


def level_rows(*scores: object, **changes: str) -> dict[str, Any]:
    """What the form sends: P0, P1 … from these scores, with closed keywords."""
    sent: dict[str, Any] = {"levels-TOTAL_FORMS": str(len(scores)), "levels-INITIAL_FORMS": "0"}
    for rank, score in enumerate(scores):
        row = {"name": f"P{rank}", "min_score": f"{score}", "keyword": f"p{rank}", "keyword_users": ""}
        sent |= {f"levels-{rank}-{key}": value for key, value in row.items()}
    sent |= {"partition": ["z"], "reason": "To begin with"}
    return sent | {key.replace("__", "-"): value for key, value in changes.items()}


def rules_of(partition: Partition) -> list[tuple[str, float | None, str | None, tuple[str, ...] | None]]:
    levels = policy_of(Partition.objects.get(pk=partition.pk)).levels
    return [(rule.name, rule.min_score, rule.keyword, rule.keyword_users) for rule in levels]


def proposals(ada: Client) -> list[str]:
    page = ada.get("/setup/import/").content.decode()
    return re.findall(r'name="levels-\d-min_score" value="([^"]*)"', page)


def test_thresholds_are_proposed_that_spread_the_projects_which_are_there(
    house: House, bare: Partition, ada: Client
) -> None:
    assert proposals(ada) == ["300", "100", "5"]
    factories.make_project(house.cluster, "gamma", size=50, grade=1, urgency=1)
    assert proposals(ada) == ["100", "50", "5"]
    text = words_of(ada.get("/setup/import/").content.decode())
    assert "alpha 120 P0 ann" in text and "gamma 50 P1 –" in text and "beta 5 P2 –" in text


def test_levels_are_given_as_typed_and_stay_in_shadow(house: House, bare: Partition, ada: Client) -> None:
    sent = level_rows(90, 30, 2, levels__1__keyword_users="ann", levels__2__keyword_open="on")
    ada.post("/setup/import/", sent | {"levels": "1", "partition": ["z", "x", "nowhere"]})
    assert rules_of(bare) == [("P0", 90, "p0", ()), ("P1", 30, "p1", ("ann",)), ("P2", 2, "p2", None)]
    assert policy_of(Partition.objects.get(pk=bare.pk)).enforcement == "shadow"
    assert AuditEntry.objects.get(action="policy.activated", reason="To begin with").partition == "z"
    assert Partition.objects.get(pk=house.x.pk).revision_id == house.x.revision_id, "x has its own"


def test_with_them_come_the_kind_limits_unless_somebody_has_set_others(
    house: House, bare: Partition, ada: Client
) -> None:
    set_by_hand = factories.make_partition(
        house.cluster, "set", levels=[], quotas={}, user_overrides={}, task_overrides={}
    )
    document = replace(policy_of(set_by_hand), exempt_s=7)
    activate_policy(actor="dave", partition=set_by_hand, document=document, reason="Ours.", based_on=1)

    ada.post("/setup/import/", level_rows(90, 30, 2) | {"levels": "1", "partition": ["z", "set"]})

    given = policy_of(Partition.objects.get(pk=bare.pk))
    assert {key: getattr(given, key) for key in KIND_LIMITS} == KIND_LIMITS
    assert given.bands == ((0,), (1, 2, None)), "others are stopped for the highest level alone"
    kept = policy_of(Partition.objects.get(pk=set_by_hand.pk))
    assert (len(kept.levels), kept.exempt_s, kept.rest_s, kept.bands) == (3, 7, 0, None)


@pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
def test_the_level_of_everybody_is_previewed_as_typed_and_nothing_is_saved(
    headers: dict[str, str], house: House, bare: Partition, ada: Client
) -> None:
    answer = ada.post("/setup/import/", level_rows(500, 11, 5) | {"preview": "1"}, headers=headers)
    page = answer.content.decode()
    text = words_of(page)
    assert "P0 0 projects, 0 members P1 1 project, 1 member P2 1 project, 0 members" in text
    assert "alpha 120 P1 ann" in text and "beta 5 P2 –" in text
    assert ("<html" in page) is (headers == {})
    assert headers or 'name="levels-0-min_score" value="500"' in page, "what was typed stays"
    low = words_of(ada.post("/setup/import/", level_rows(900, 800, 700), headers=PART).content.decode())
    assert "Nobody would have a level: lower the lowest score" in low
    assert rules_of(bare) == []


def test_projects_that_all_score_the_same_stand_on_one_level_and_it_says_what_to_change(
    house: House, bare: Partition, ada: Client
) -> None:
    Project.objects.update(size=1, grade=1, urgency=1)
    assert proposals(ada) == ["9", "3", "1"]
    text = words_of(ada.get("/setup/import/").content.decode())
    assert "All projects stand on P2, so nobody would be stopped for anybody. Change the size" in text


@pytest.mark.parametrize(
    ("sent", "field", "said"),
    [
        (level_rows(10, 20), "levels-1-min_score", "must be below 10"),
        (level_rows(10, "-1"), "levels-1-min_score", "must not be negative"),
        (level_rows(10, ""), "levels-1-min_score", "This field is required."),
        (level_rows(10, 5, levels__1__keyword="p0"), "levels-1-keyword", "stands twice"),
        (level_rows(10, 5, levels__0__keyword_users="ann", levels__0__keyword_open="on"), "levels-0-keyword_users",
         "choose one of the two"),
    ],
)  # fmt: skip
def test_what_makes_no_levels_is_said_beside_the_field(
    sent: dict[str, Any], field: str, said: str, bare: Partition, ada: Client
) -> None:
    page = unescape(ada.post("/setup/import/", sent | {"levels": "1"}).content.decode())
    assert said in page[page.index(f'name="{field}"') :][:800]
    assert "What is typed makes no levels yet" in page
    assert rules_of(bare) == []


@pytest.mark.parametrize(
    "sent", [{"reason": " "}, {"partition": []}, {"partition": ["x"]}, {"levels-0-keyword": "k" * 61}]
)
def test_what_cannot_be_given_changes_nothing_and_is_said(
    sent: dict[str, Any], bare: Partition, ada: Client
) -> None:
    answer = ada.post("/setup/import/", level_rows(10, 5) | {"levels": "1"} | sent)
    assert answer.status_code == 200 and rules_of(bare) == []


# --- Done, or not yet -------------------------------------------------------------------------------------


def lacks(ada: Client) -> list[str]:
    answer = APIClient()
    answer.force_login(User.objects.get(username="ada"))
    told = answer.get("/api/v1/setup/").json()
    page = unescape(words_of(ada.get("/setup/").content.decode()))
    assert told["done"]["import"] is told["done"]["shadow"] is (told["lacks"] == [])
    assert ("done Partitions and projects" in page) is (told["lacks"] == [])
    assert all(page.count(lack) == 2 for lack in told["lacks"]), "for levels, and for shadow"
    return list(told["lacks"])


def test_it_is_not_done_while_everybody_is_unconfigured(house: House, bare: Partition, ada: Client) -> None:
    assert lacks(ada) == []
    ada.post("/setup/import/", level_rows(900, 800) | {"levels": "1"})
    unconfigured = "On z everybody is unconfigured: no project's score reaches the lowest level."
    assert lacks(ada) == [unconfigured]
    page = ada.get("/setup/import/").content.decode()
    assert re.search(rf'href="/partitions/z/policy/">{re.escape(escape(unconfigured))}', page)
    alpha = Project.objects.get(code="alpha")
    Project.objects.filter(pk=alpha.pk).update(size=4000)
    assert lacks(ada) == []
    alpha.memberships.filter(role="member").delete()
    assert lacks(ada) == ["No project has a member."]


def test_without_projects_members_or_levels_it_says_which(house: House, bare: Partition, ada: Client) -> None:
    Project.objects.exclude(code="alpha").delete()
    Project.objects.get().memberships.all().delete()
    assert lacks(ada)[0] == "No project has a member."
    Project.objects.all().delete()
    assert lacks(ada) == ["There is no project yet: nobody has a score."]
    assert proposals(ada) == ["9", "3", "1"]
    for row in (house.x, house.y):
        document = factories.policy_document(
            row.name, levels=[], quotas={}, user_overrides={}, task_overrides={}
        )
        activate_policy(actor="ada", partition=row, document=document, reason="Bare", based_on=None)
    assert lacks(ada)[1:] == ["No partition has levels."]
    Partition.objects.update(revision=None)
    assert lacks(ada)[1:] == ["No partition has been seen yet."]


def typed_rows(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(projects-[\w-]+)" value="([^"]*)"', page))


@pytest.fixture
def jobs(house: House) -> None:
    for number, (account, user) in enumerate(
        [("physics", "ann"), ("physics", "bob"), ("bio", "cy"), ("alpha", "ann"), ("", "dan")]
    ):
        factories.make_job(house.cluster, f"9{number}", account=account, user=user)


@pytest.mark.usefixtures("jobs")
def test_accounts_on_the_cluster_become_projects(house: House, ada: Client) -> None:
    page = ada.get("/setup/import/").content.decode()
    assert {"Below", "Jobs"} <= set(re.findall(r'<td[^>]* data-head="(\w+)"', page)), (
        "what a phone shows is named"
    )
    form = typed_rows(page)
    accounts = [form[f"projects-{i}-account"] for i in range(int(form["projects-TOTAL_FORMS"]))]
    assert accounts == ["physics", "bio"], "alpha has its project"
    assert form["projects-0-members"] == "ann, bob", "a box of one line would run lines together"
    chosen = form | {"projects-0-take": "on", "projects-0-size": "20", "projects-0-urgency": "3"}
    ada.post("/setup/import/", chosen | {"projects": "1", "reason": "From Slurm"})
    physics = Project.objects.get(code="physics")
    assert (physics.slurm_account, physics.size, physics.grade, physics.urgency) == ("physics", 20, 1, 3)
    assert set(physics.memberships.values_list("username", flat=True)) == {"ann", "bob"}
    assert not Project.objects.filter(code="bio").exists(), "it was not chosen"
    assert AuditEntry.objects.get(action="project.created").reason == "From Slurm"


@pytest.mark.usefixtures("jobs")
def test_all_chosen_accounts_become_projects_or_none(house: House, ada: Client) -> None:
    form = typed_rows(ada.get("/setup/import/").content.decode())
    chosen = form | {"projects-0-take": "on", "projects-1-take": "on", "projects-1-size": "-1"}
    page = ada.post("/setup/import/", chosen | {"projects": "1", "reason": "From Slurm"}).content.decode()
    after = page[page.index('name="projects-1-size"') :]
    assert "Must be above zero." in after
    assert Project.objects.count() == 2
    page = ada.post("/setup/import/", form | {"projects": "1", "reason": "From Slurm"}).content.decode()
    assert "Nothing was chosen." in page


# --- Invitations ------------------------------------------------------------------------------------------


def invite(ada: Client, **changes: Any) -> str:
    """The key of the link that the page shows."""
    guest = {"username": "erin", "role": "viewer", "email": "", "days": "7", "reason": "She manages beta"}
    page = ada.post("/setup/people/", guest | changes).content.decode()
    found = re.search(r"/invitation/\?key=([\w-]+)", page)
    assert found, words_of(page)
    return found[1]


def accept(key: str, **changes: str) -> Any:
    return Client().post(f"/invitation/?key={key}", {"password": PASSWORD, "again": PASSWORD, **changes})


def test_an_invitation_makes_an_account_once(house: House, ada: Client) -> None:
    key = invite(ada, partitions=[str(house.x.pk)], projects=[str(house.beta.pk)])
    assert "Welcome, erin" in Client().get(f"/invitation/?key={key}").content.decode()
    assert not User.objects.filter(username="erin").exists()
    assert accept(key)["Location"] == "/"
    erin = User.objects.get(username="erin")
    assert (erin.role, erin.check_password(PASSWORD)) == (Role.VIEWER, True)
    assert set(house.x.admins.values_list("username", flat=True)) == {"dave", "erin"}
    assert house.beta.memberships.filter(username="erin", role="manager").exists()
    assert accept(key).status_code == 404, "it works once"
    assert AuditEntry.objects.get(action="account.invited").reason == "She manages beta"
    assert "Invited by ada." in AuditEntry.objects.get(action="account.created").reason


def test_a_link_that_was_taken_back_or_has_ended_does_not_work(
    house: House, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = invite(ada)
    row = Invitation.objects.get()
    ada.post("/setup/people/withdraw/", {"invitation": row.pk, "reason": ""})
    assert Client().get(f"/invitation/?key={key}").status_code == 200, "a reason is asked for"
    ada.post("/setup/people/withdraw/", {"invitation": row.pk, "reason": "Wrong person"})
    assert accept(key).status_code == 404
    second = invite(ada, username="finn")
    later = row.expires_at.replace(year=row.expires_at.year + 1)
    monkeypatch.setattr("console.core.clock.now", lambda: later)
    assert accept(second).status_code == 404
    assert not User.objects.filter(username__in=["erin", "finn"]).exists()


@pytest.mark.parametrize("key", ["", "x", "a" * 5000, "'"])
def test_a_guessed_link_is_no_link(key: str, house: House) -> None:
    assert Client().get("/invitation/", {"key": key}).status_code == 404


def test_the_database_does_not_hold_the_key(house: House, ada: Client) -> None:
    key = invite(ada)
    assert key not in str(Invitation.objects.values().get())
    assert key not in str(list(AuditEntry.objects.values()))


def test_the_choice_of_a_password_is_checked(house: House, ada: Client) -> None:
    key = invite(ada)
    assert "too short" in accept(key, password="123", again="123").content.decode()
    assert "This is not the same password." in accept(key, again="x").content.decode()
    assert accept(key).status_code == 302, "the link was not used up"


def test_nobody_is_invited_under_a_name_that_is_taken(house: House, ada: Client) -> None:
    guest = {"username": "DAVE", "role": "viewer", "days": "7", "reason": "x"}
    assert "There is an account of this name already." in ada.post("/setup/people/", guest).content.decode()
    assert not Invitation.objects.exists()


def test_the_link_is_mailed_where_mail_is_set_up(house: House, ada: Client, settings: Any) -> None:
    invite(ada, email="erin@example.org")
    assert mail.outbox == []
    settings.GIVEWAY_EMAIL = True
    key = invite(ada, username="finn", email="finn@example.org")
    assert [message.to for message in mail.outbox] == [["finn@example.org"]]
    assert key in mail.outbox[0].body


def test_terms_explain_themselves(house: House, signed_in: SignedIn) -> None:
    page = signed_in("ada").get("/partitions/x/policy/").content.decode()
    targets = re.findall(r'popovertarget="([\w-]+)"', page)
    assert len(targets) == len(set(targets)) >= 6
    for target in targets:
        assert f'id="{target}" popover' in page


def test_accounts_of_slurms_accounting_become_projects(house: House, ada: Client) -> None:
    assert "has not been asked yet" in ada.get("/setup/import/").content.decode()
    physics = {"name": "physics", "parent": "", "users": []}
    hostile = {"name": "<b>x</b>", "parent": "=cmd()", "users": ["eve"]}
    many = [{"name": f"m{number:03}", "parent": "", "users": ["ann"]} for number in range(120)]
    optics = {"name": "optics", "parent": "physics", "users": ["ann", "bob", "cy"]}
    row, _made = Examination.objects.get_or_create(cluster=house.cluster)
    row.examined_at, row.accounts = (
        clock.now(),
        {"kept": True, "fault": "", "accounts": [physics, optics, hostile, *many]},
    )
    row.save()
    page = ada.get("/setup/import/").content.decode()
    assert "which has 123 accounts" in page and "&lt;b&gt;x" in page and "<b>x" not in page
    form = typed_rows(page)
    [place] = [
        key.removesuffix("-account")
        for key, value in form.items()
        if (key[-8:], value) == ("-account", "optics")
    ]
    assert form[f"{place}-members"] == "ann, bob, cy" and "physics" not in form.values()
    assert int(form["projects-TOTAL_FORMS"]) == 100 and "more accounts come after" in page
    sent = form | {f"{place}-take": "on", "projects": "1", "reason": "From Slurm"}
    assert ada.post("/setup/import/", sent).status_code == 302
    optics_row = Project.objects.get(code="optics")
    assert optics_row.slurm_account == "optics" and optics_row.memberships.count() == 3
    assert AuditEntry.objects.filter(
        action="project.created", object_id="optics", reason="From Slurm"
    ).exists()
    row.accounts = {"kept": False}
    row.save()
    assert "The simulated cluster keeps no accounting" in ada.get("/setup/import/").content.decode()
    Cluster.objects.update(kind="slurm")
    page = ada.get("/setup/import/").content.decode()
    assert "slurmdbd is not configured" in page and 'value="optics"' not in page
    row.accounts = {"kept": True, "fault": "sacctmgr did not answer within 30 s", "accounts": []}
    row.save()
    assert "did not answer within 30 s" in ada.get("/setup/import/").content.decode()


def test_one_place_of_the_navigation_is_where_one_is(house: House, ada: Client) -> None:
    """`/setup/people/` is a page of the set-up, not of the people."""
    page = ada.get("/setup/people/").content.decode()
    navigation = page[: page.index("<main")]
    assert re.findall(r'<a href="([^"]+)"[^>]*aria-current="page"', navigation) == ["/setup/"]
