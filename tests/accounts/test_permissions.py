"""Who may do what: every permission, every role, one's own things and others'. `docs/permissions.md` says the same.

The document is made from the rules: after changing them, run this file with GIVEWAY_WRITE_DOCS=1 and commit it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import rules
from django.contrib.auth.models import AnonymousUser
from pytest_django.fixtures import DjangoAssertNumQueries

from console.accounts.models import Role, User
from console.accounts.permissions import SENTENCES, Permission
from console.audit.models import AuditEntry
from console.audit.services import Subject
from console.partitions.models import Partition
from console.projects.models import Project
from console.steering.models import Plan
from tests import factories
from tests.audit.rows import append

pytestmark = pytest.mark.django_db

DOCUMENT = Path(__file__).parents[2] / "docs" / "permissions.md"
PARTITION = {
    Permission.PARTITION_VIEW,
    Permission.POLICY_VIEW,
    Permission.POLICY_CHANGE,
    Permission.PAUSE_PARTITION,
    Permission.NODE_DRAIN,
    Permission.CONFIG_EXPORT,
    Permission.CONFIG_IMPORT,
}
PROJECT = {Permission.PROJECT_VIEW, Permission.PROJECT_CHANGE, Permission.PROJECT_DELETE}


@dataclass
class World:
    """Two of each: what dave administers and pam manages, and what is somebody else's."""

    own_partition: Partition
    other_partition: Partition
    own_plan: Plan
    other_plan: Plan
    own_project: Project
    other_project: Project

    def things(self, permission: Permission) -> tuple[Any, Any]:
        """One's own and another's, of the kind that the permission is about; None when it is about none."""
        if permission in PARTITION:
            return self.own_partition, self.other_partition
        if permission in {Permission.PLAN_DECIDE, Permission.INCIDENT_CLOSE}:
            return self.own_plan, self.other_plan
        if permission in PROJECT:
            return self.own_project, self.other_project
        return None, None


@pytest.fixture
def world() -> World:
    cluster = factories.make_cluster()
    cycle = factories.make_cycle(cluster)
    made = World(
        factories.make_partition(cluster, "x"),
        factories.make_partition(cluster, "y"),
        factories.make_plan(cycle, "101", partition="x"),
        factories.make_plan(cycle, "102", partition="y"),
        factories.make_project(cluster, "alpha"),
        factories.make_project(cluster, "beta"),
    )
    factories.make_partition_admin(made.own_partition, "dave")
    factories.make_manager(made.own_project, "pam")
    return made


@pytest.fixture
def people(world: World) -> dict[str, User]:
    return {
        "Administrator": factories.make_administrator(),
        "Auditor": factories.make_auditor(),
        "Partition administrator": factories.make_viewer("dave"),
        "Project manager": factories.make_viewer("pam"),
        "Viewer": factories.make_viewer("vera"),
    }


def answer(user: User, permission: Permission, world: World) -> str:
    """`yes`, `own` (of what is theirs only) or `–`."""
    own, other = world.things(permission)
    if permission == Permission.AUDIT_VIEW:
        return (
            "yes" if user.has_perm(Permission.AUDIT_VIEW_ALL) else "own" if user.has_perm(permission) else "–"
        )
    if user.has_perm(permission, other):
        return "yes"
    return "own" if own is not None and user.has_perm(permission, own) else "–"


def rendered(table: dict[Permission, dict[str, str]], roles: list[str]) -> str:
    head = ["Permission", "What it allows", *roles]
    lines = [
        "# Who may do what",
        "",
        "This page is made from the rules themselves (`tests/accounts/test_permissions.py`). Administrator, auditor",
        "and viewer are roles of an account. A partition administrator is a viewer who is named at the partition, a",
        "project manager one who is named at the project; *own* means those partitions or projects only.",
        "",
        "What is not yours to read answers 404, as if it were not there; changing what you may only read answers 403.",
        "Without signing in, pages lead to the sign-in and the API answers 401. Every change is in the audit log.",
        "",
        "See also: [every address, as everybody](permissions-by-address.md), [signing in](sign-in.md),",
        "[who is trusted with what](threat-model.md).",
        "",
        f"| {' | '.join(head)} |",
        f"|{'|'.join(' --- ' for _ in head)}|",
    ]
    for permission, answers in table.items():
        cells = [f"`{permission}`", SENTENCES[permission], *(answers[role] for role in roles)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_document_says_what_the_rules_say(world: World, people: dict[str, User]) -> None:
    table = {
        permission: {role: answer(user, permission, world) for role, user in people.items()}
        for permission in Permission
    }
    text = rendered(table, list(people))
    if os.environ.get("GIVEWAY_WRITE_DOCS") == "1":
        DOCUMENT.write_text(text)
    assert DOCUMENT.read_text() == text


EXPECTED = {
    # administrator, auditor, partition administrator, project manager, viewer
    Permission.PARTITION_VIEW: ("yes", "yes", "yes", "yes", "yes"),
    Permission.POLICY_VIEW: ("yes", "yes", "own", "–", "–"),
    Permission.POLICY_CHANGE: ("yes", "–", "own", "–", "–"),
    Permission.JOB_VIEW: ("yes", "yes", "yes", "yes", "yes"),
    Permission.PLAN_VIEW: ("yes", "yes", "yes", "yes", "yes"),
    Permission.PLAN_DECIDE: ("yes", "–", "own", "–", "–"),
    Permission.PAUSE_PARTITION: ("yes", "–", "own", "–", "–"),
    Permission.INCIDENT_CLOSE: ("yes", "–", "own", "–", "–"),
    Permission.NODE_DRAIN: ("yes", "–", "own", "–", "–"),
    Permission.PAUSE_ALL: ("yes", "–", "–", "–", "–"),
    # ... and the view asks whether the job is their own.
    Permission.CHECKPOINT_TELL: ("yes", "yes", "yes", "yes", "yes"),
    Permission.PROJECT_VIEW: ("yes", "yes", "yes", "own", "–"),
    Permission.PROJECT_CHANGE: ("yes", "–", "–", "own", "–"),
    Permission.PROJECT_CREATE: ("yes", "–", "–", "–", "–"),
    Permission.PROJECT_PROPOSE: ("–", "–", "–", "yes", "–"),
    Permission.PROJECT_DELETE: ("yes", "–", "–", "–", "–"),
    Permission.PROJECT_RULES: ("yes", "–", "–", "–", "–"),
    Permission.REQUEST_DECIDE: ("yes", "–", "–", "–", "–"),
    Permission.AUDIT_VIEW: ("yes", "yes", "own", "own", "–"),
    Permission.AUDIT_VIEW_ALL: ("yes", "yes", "–", "–", "–"),
    Permission.CONFIG_EXPORT: ("yes", "yes", "own", "–", "–"),
    # ... and the view asks whether the study is their own, or they read everything.
    Permission.STUDY_VIEW: ("yes", "yes", "yes", "yes", "yes"),
    Permission.STUDY_CANCEL: ("yes", "yes", "yes", "yes", "yes"),
    Permission.INSTALLATION_SET_UP: ("yes", "–", "–", "–", "–"),
    Permission.PEOPLE_VIEW: ("yes", "yes", "–", "–", "–"),
    Permission.PEOPLE_CHANGE: ("yes", "–", "–", "–", "–"),
    Permission.CONFIG_IMPORT: ("yes", "–", "own", "–", "–"),
}


def test_every_permission_has_an_expectation() -> None:
    assert set(EXPECTED) == set(Permission)


@pytest.mark.parametrize("permission", Permission)
def test_the_roles_may_what_they_should(
    permission: Permission, world: World, people: dict[str, User]
) -> None:
    assert tuple(answer(user, permission, world) for user in people.values()) == EXPECTED[permission]


def test_every_permission_has_a_rule_and_a_sentence() -> None:
    registered = set(rules.permissions.permissions)
    assert registered == {str(permission) for permission in Permission}
    assert set(SENTENCES) == set(Permission)
    assert all(sentence.endswith(".") for sentence in SENTENCES.values())


@pytest.mark.parametrize("permission", Permission)
def test_nobody_and_the_switched_off_may_nothing(permission: Permission, world: World) -> None:
    former = factories.make_user("former", Role.ADMINISTRATOR, is_active=False)
    factories.make_partition_admin(world.own_partition, "former")
    factories.make_manager(world.own_project, "former")
    for user in (AnonymousUser(), former):
        for thing in (None, *world.things(permission)):
            assert not user.has_perm(permission, thing)


def test_a_former_manager_may_nothing_any_more(world: World) -> None:
    assert factories.make_viewer("pam").has_perm(Permission.PROJECT_CHANGE, world.own_project)
    world.own_project.memberships.all().delete()
    pam = User.objects.get(username="pam")
    assert not pam.has_perm(Permission.PROJECT_CHANGE, world.own_project)
    assert not pam.has_perm(Permission.PROJECT_VIEW)


def test_names_are_compared_letter_by_letter(world: World) -> None:
    for name in ("Pam", "pa", "pam2"):
        assert not factories.make_viewer(name).has_perm(Permission.PROJECT_VIEW, world.own_project)


def test_without_a_thing_the_question_is_whether_there_is_any(people: dict[str, User]) -> None:
    may = {role: user.has_perm(Permission.PROJECT_VIEW) for role, user in people.items()}
    assert [role for role, yes in may.items() if not yes] == ["Viewer"]
    assert people["Partition administrator"].has_perm(Permission.POLICY_CHANGE)
    assert not people["Project manager"].has_perm(Permission.POLICY_CHANGE)
    # ... but the whole priority file is not a partition administrator's to export.
    assert not people["Partition administrator"].has_perm(Permission.CONFIG_EXPORT)


def test_a_list_asks_the_database_once(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    pam = factories.make_viewer("pam")
    with django_assert_num_queries(2):  # the managed projects; the administered partitions
        for _ in range(10):
            for project in (world.own_project, world.other_project):
                pam.has_perm(Permission.PROJECT_VIEW, project)
                pam.has_perm(Permission.PROJECT_CHANGE, project)
                pam.has_perm(Permission.PROJECT_DELETE, project)


def test_the_tables_of_django_give_nothing(world: World) -> None:
    from django.contrib.auth.models import Permission as Row

    vera = factories.make_viewer("vera")
    vera.user_permissions.set(Row.objects.all())
    assert not vera.has_perm("projects.change_project")
    assert not vera.has_perm(Permission.PROJECT_CHANGE, world.own_project)


def test_a_row_of_the_log_is_visible_to_whom_it_is_about(people: dict[str, User]) -> None:
    subject = Subject("project", "alpha", "alpha", cluster="dev", project="alpha")
    entry: AuditEntry = append(subject=subject)
    may = [role for role, user in people.items() if user.has_perm(Permission.AUDIT_VIEW, entry)]
    assert may == ["Administrator", "Auditor", "Project manager"]
