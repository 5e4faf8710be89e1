"""Projects that managers propose: what is kept, who may, what it becomes, and what it never wins by itself."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from console.accounts.models import User
from console.accounts.permissions import Permission
from console.audit.models import AuditEntry
from console.core import clock
from console.history.changes import proposal_change
from console.projects.changing import AlreadyDecidedError
from console.projects.models import Project, ProjectProposal
from console.projects.proposals import accept, points_of, propose, proposed_data, take_back, turn_down
from console.projects.selectors import core_projects, managed_projects, visible_proposals
from console.projects.services import By, ProjectData, TaskData
from tests import factories

pytestmark = pytest.mark.django_db

GAMMA = ProjectData(
    code="gamma", name="Gamma rays", size=10.0, grade=2.0, urgency=1.0, members=("cy",), managers=("pam",)
)


@pytest.fixture
def alpha() -> Project:
    """40 / 1 * 3."""
    project = factories.make_project(factories.make_cluster())
    factories.make_manager(project, "pam")
    factories.make_member(project, "ann")
    return project


@pytest.fixture
def pam(alpha: Project) -> User:
    return factories.make_viewer("pam")


@pytest.fixture
def ada() -> User:
    return factories.make_administrator()


def ask(
    person: User, alpha: Project, share: str = "", reason: str = "New money", **fields: Any
) -> ProjectProposal:
    by = By(person.username, reason)
    return propose(person=person, cluster=alpha.cluster, data=replace(GAMMA, **fields), share=share, by=by)


def faults(refused: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = refused.value.message_dict
    return found


def test_a_proposal_is_kept_and_nothing_counts_of_it(pam: User, alpha: Project) -> None:
    before = core_projects(alpha.cluster)
    tasks = (TaskData("gamma_eval*", importance=1.5), TaskData("gamma_p*", level="P1"))
    made = ask(pam, alpha, "gpu: 16 GPUs", tasks=tasks)
    assert core_projects(alpha.cluster) == before and Project.objects.count() == 1
    assert managed_projects(User.objects.get(username="pam")) == {alpha.pk}
    assert proposed_data(made) == replace(GAMMA, tasks=tasks) and made.share == "gpu: 16 GPUs"
    row = AuditEntry.objects.get()
    assert (row.action, row.actor, row.reason) == ("project_proposal.proposed", "pam", "New money")
    assert row.project == "", "it is in no project's history before it is one"
    assert row.after == made.document


def test_accepted_as_it_is_it_is_a_project_and_its_history_begins_with_that(
    pam: User, ada: User, alpha: Project
) -> None:
    made = ask(pam, alpha)
    project = accept(proposal=made, data=proposed_data(made), by=By("ada", "Agreed"))
    assert (project.code, project.score) == ("gamma", 5)
    assert managed_projects(User.objects.get(username="pam")) == {alpha.pk, project.pk}
    made.refresh_from_db()
    assert (made.state, made.decided_by, made.decision_reason) == ("approved", "ada", "Agreed")
    assert made.became == made.document
    rows = AuditEntry.objects.filter(project="gamma").order_by("sequence")
    assert [row.action for row in rows] == ["project.created", "project_proposal.approved"]
    assert rows[1].before is None


def test_accepted_with_changes_both_are_kept(pam: User, ada: User, alpha: Project) -> None:
    made = ask(pam, alpha, size=1e9)
    accept(proposal=made, data=replace(GAMMA, code="gamma2", managers=()), by=By("ada", "Smaller"))
    made.refresh_from_db()
    assert made.became is not None
    assert (made.document["size"], made.became["size"], made.became["code"]) == (1e9, 10, "gamma2")
    row = AuditEntry.objects.get(action="project_proposal.approved")
    assert row.before is not None and row.after is not None
    assert (row.before["size"], row.after["size"], row.project) == (1e9, 10, "gamma2")


@pytest.mark.parametrize("end", [turn_down, take_back])
def test_rejected_or_withdrawn_there_is_no_project_and_nobody_decides_twice(
    end: Any, pam: User, alpha: Project
) -> None:
    made = ask(pam, alpha)
    end(proposal=made, by=By("ada", "No room"))
    assert Project.objects.count() == 1
    for again in (turn_down, take_back):
        with pytest.raises(AlreadyDecidedError):
            again(proposal=made, by=By("ada", "Again"))
    with pytest.raises(AlreadyDecidedError):
        accept(proposal=made, data=GAMMA, by=By("ada", "After all"))
    assert Project.objects.count() == 1
    assert AuditEntry.objects.count() == 2


def test_a_code_that_is_taken_meanwhile_refuses_the_acceptance_and_it_still_waits(
    pam: User, ada: User, alpha: Project
) -> None:
    made = ask(pam, alpha)
    factories.make_project(alpha.cluster, "gamma")
    assert "There is a project gamma already: another code has to be given." in points_of(made, GAMMA)
    with pytest.raises(ValidationError, match="There is a project gamma already"):
        accept(proposal=made, data=GAMMA, by=By("ada", "Agreed"))
    made.refresh_from_db()
    assert made.state == "waiting"


# --- Hostile managers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"code": "../etc"}, "code"),
        ({"code": "g\u200bamma"}, "code"),
        ({"name": "Gam\u202ema"}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"size": 1e12}, "size"),
        ({"size": float("inf")}, "size"),
        ({"size": float("nan")}, "size"),
        ({"grade": 0.0}, "grade"),
        ({"urgency": 1e6}, "urgency"),
        ({"members": tuple(f"u{n}" for n in range(5001))}, "members"),
        ({"managers": ("a b",)}, "managers"),
        ({"tasks": (TaskData("*" * 20),)}, "tasks"),
        ({"share": "16\u202eGPUs"}, "share"),
        ({"reason": "  "}, "reason"),
        ({"reason": "x" * 1001}, "reason"),
        ({"code": "alpha"}, "code"),
    ],
)
def test_what_no_project_may_be_is_not_kept_either(
    fields: dict[str, Any], field: str, pam: User, alpha: Project
) -> None:
    with pytest.raises(ValidationError) as refused:
        ask(pam, alpha, **fields)
    assert list(faults(refused)) == [field]
    assert not ProjectProposal.objects.exists() and not AuditEntry.objects.exists()


def test_fifty_proposals_are_three(pam: User, alpha: Project) -> None:
    for number in range(3):
        ask(pam, alpha, code=f"p{number}")
    for number in range(3, 50):
        with pytest.raises(ValidationError, match="3 of your proposals wait already"):
            ask(pam, alpha, code=f"p{number}")
    assert (ProjectProposal.objects.count(), AuditEntry.objects.count()) == (3, 3)


def test_who_withdraws_and_proposes_again_is_bounded_by_the_day(
    pam: User, alpha: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        take_back(proposal=ask(pam, alpha, code=f"p{number}"), by=By("pam", "Once more"))
    with pytest.raises(ValidationError, match="10 projects within a day"):
        ask(pam, alpha)
    tomorrow = clock.now() + timedelta(days=1, minutes=1)
    monkeypatch.setattr(clock, "now", lambda: tomorrow)
    assert ask(pam, alpha).state == "waiting"


def test_one_person_proposes_a_code_once_and_keeps_it_from_nobody(pam: User, alpha: Project) -> None:
    ask(pam, alpha)
    with pytest.raises(ValidationError, match="You have proposed gamma already"):
        ask(pam, alpha)
    factories.make_manager(alpha, "mo")
    assert ask(factories.make_viewer("mo"), alpha).code == "gamma"


def test_codes_of_others_cannot_be_guessed(pam: User, alpha: Project) -> None:
    """Neither by proposing nor by asking what it would change; whoever decides is told."""
    factories.make_project(alpha.cluster, "beta", size=7.0)
    made = ask(pam, alpha, code="beta")
    assert any("There is a project beta already" in each for each in points_of(made, proposed_data(made)))
    change = proposal_change(alpha.cluster, replace(GAMMA, code="beta"))
    assert list(change.projects) == ["beta.proposed"], "the project beta stays beside it"


def test_who_decides_is_told_what_reaches_further_than_it_looks(pam: User, alpha: Project) -> None:
    alpha.slurm_account = "Physics"
    alpha.save()
    made = ask(
        pam, alpha, size=1e6, urgency=9.0, slurm_account="physics", members=("ann", "cy"),
        managers=("mallory", "pam"), tasks=(TaskData("*", level="P0"),),
    )  # fmt: skip
    assert points_of(made, proposed_data(made)) == [
        "Its score of 4.5e+06 would be the highest of all; now that is alpha with 120.",
        "The Slurm account physics is that of alpha already.",
        "Its urgency comes to 9; managers may set 5 by themselves.",
        "It names further managers: mallory.",
        "Nobody here has an account of this name yet: mallory.",
        "1 of its members is in another project, too: ann.",
        "It gives job names a level of their own: *.",
    ]
    assert points_of(made, GAMMA) == [], "the like of others is not worth a word"
    assert points_of(made, replace(GAMMA, code="ALPHA")) == [
        "Its code differs from that of alpha in capitals only."
    ]
    User.objects.filter(username="pam").update(is_active=False)
    assert points_of(made, GAMMA) == ["pam has no account here any more, or one that is switched off."]


def test_only_managers_propose_and_each_sees_the_own(pam: User, ada: User, alpha: Project) -> None:
    vera, mo = factories.make_viewer("vera"), factories.make_viewer("mo")
    factories.make_manager(alpha, "mo")
    made = ask(pam, alpha)
    may = {each.username: each.has_perm(Permission.PROJECT_PROPOSE) for each in (pam, mo, vera, ada)}
    assert may == {"pam": True, "mo": True, "vera": False, "ada": False}
    seen = {each.username: list(visible_proposals(each)) for each in (pam, mo, vera, ada)}
    assert seen == {"pam": [made], "mo": [], "vera": [], "ada": [made]}
