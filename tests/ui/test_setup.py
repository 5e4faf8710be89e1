"""The first minutes in the browser: the seat, the steps, invitations."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from console.accounts.models import Role, User
from console.audit.models import AuditEntry
from console.cluster.models import Cluster
from console.core import clock
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.models import Project
from console.setup.first import make_code
from console.setup.models import Examination, Invitation
from tests import factories
from tests.ui import conftest as ui
from tests.ui.conftest import House, SignedIn
from tests.ui.test_policy_pages import words_of

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


def test_partitions_without_levels_get_some_and_stay_in_shadow(house: House, ada: Client) -> None:
    bare = factories.make_partition(
        house.cluster, "z", levels=[], quotas={}, user_overrides={}, task_overrides={}
    )
    assert 'value="z"' in ada.get("/setup/import/").content.decode()
    ada.post("/setup/import/", {"levels": "1", "partition": ["z", "x", "nowhere"], "reason": "To begin with"})
    policy = policy_of(Partition.objects.get(pk=bare.pk))
    assert ([rule.name for rule in policy.levels], policy.enforcement) == (["P0", "P1", "P2"], "shadow")
    assert AuditEntry.objects.get(action="policy.activated", reason="To begin with").partition == "z"
    assert Partition.objects.get(pk=house.x.pk).revision_id == house.x.revision_id, "x has its own"


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
    form = typed_rows(ada.get("/setup/import/").content.decode())
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
