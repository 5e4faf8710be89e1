"""Reading the log: who sees which rows, what a row says in words, and what it changed."""

import pytest
from django.contrib.auth.models import AnonymousUser

from console.accounts.models import Role, User
from console.accounts.permissions import Permission
from console.audit.models import AuditEntry
from console.audit.registry import ACTIONS
from console.audit.selectors import entry_differences, visible_entries
from console.audit.services import Context, Subject
from tests import factories
from tests.audit.rows import PROJECT, append

pytestmark = pytest.mark.django_db


def about(kind: str, name: str, cluster: str = "dev") -> Subject:
    return Subject(kind, name, name, cluster=cluster, **{kind: name})


@pytest.fixture
def rows() -> dict[str, AuditEntry]:
    """A row about each of: own project and partition, others', the same names in another cluster, an account."""
    changed = {"before": {"a": 1}, "after": {"a": 2}}
    policy = {**changed, "action": "policy.activated", "context": Context(policy_revision=2)}
    return {
        "alpha": append(subject=PROJECT),
        "beta": append(subject=about("project", "beta")),
        "alpha elsewhere": append(subject=about("project", "alpha", "prod")),
        "x": append(subject=about("partition", "x"), **policy),
        "y": append(subject=about("partition", "y"), **policy),
        "x elsewhere": append(subject=about("partition", "x", "prod"), **policy),
        "account": append(action="account.signed_in", subject=Subject("account", "pam", "pam")),
    }


def seen(user: User, rows: dict[str, AuditEntry]) -> set[str]:
    names = {entry.pk: name for name, entry in rows.items()}
    visible = {names[entry.pk] for entry in visible_entries(user)}
    has = {name for name, entry in rows.items() if user.has_perm(Permission.AUDIT_VIEW, entry)}
    assert has == visible  # one truth for lists and single rows
    return visible


def test_administrator_and_auditor_read_everything(rows: dict[str, AuditEntry]) -> None:
    assert seen(factories.make_administrator(), rows) == set(rows)
    assert seen(factories.make_auditor(), rows) == set(rows)


def test_a_viewer_reads_nothing(rows: dict[str, AuditEntry]) -> None:
    viewer = factories.make_viewer()
    assert seen(viewer, rows) == set()
    assert not viewer.has_perm(Permission.AUDIT_VIEW)


def test_a_manager_reads_about_own_projects_of_that_cluster(rows: dict[str, AuditEntry]) -> None:
    factories.make_manager(factories.make_project(factories.make_cluster(), "alpha"), "pam")
    pam = factories.make_viewer("pam")
    assert seen(pam, rows) == {"alpha"}
    assert pam.has_perm(Permission.AUDIT_VIEW)
    assert not pam.has_perm(Permission.AUDIT_VIEW_ALL)


def test_a_partition_administrator_reads_about_own_partitions(rows: dict[str, AuditEntry]) -> None:
    factories.make_partition_admin(factories.make_partition(factories.make_cluster(), "x"), "dave")
    assert seen(factories.make_viewer("dave"), rows) == {"x"}


def test_who_is_both_reads_both(rows: dict[str, AuditEntry]) -> None:
    cluster = factories.make_cluster()
    factories.make_partition_admin(factories.make_partition(cluster, "x"), "dave")
    factories.make_manager(factories.make_project(cluster, "alpha"), "dave")
    assert seen(factories.make_viewer("dave"), rows) == {"alpha", "x"}


def test_a_member_is_no_manager(rows: dict[str, AuditEntry]) -> None:
    factories.make_member(factories.make_project(factories.make_cluster(), "alpha"), "ann")
    assert seen(factories.make_viewer("ann"), rows) == set()


def test_nobody_and_the_switched_off_read_nothing(rows: dict[str, AuditEntry]) -> None:
    assert not visible_entries(AnonymousUser()).exists()
    assert not visible_entries(factories.make_user("otto", Role.AUDITOR, is_active=False)).exists()


def test_the_newest_row_is_first(rows: dict[str, AuditEntry]) -> None:
    sequences = [entry.sequence for entry in visible_entries(factories.make_auditor())]
    assert sequences == sorted(sequences, reverse=True)


def test_a_row_says_in_words_what_happened(rows: dict[str, AuditEntry]) -> None:
    assert rows["alpha"].sentence == "ada changed the project alpha (Alpha)."
    assert rows["alpha"].label == "Project changed"
    assert rows["x"].sentence == "ada put policy revision 2 of partition x in force."
    hostile = append(subject=Subject("project", "p", "{actor} {0}", cluster="dev", project="p"))
    assert hostile.sentence == "ada changed the project {actor} {0}."


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_has_words_that_fit_a_row(name: str) -> None:
    entry = AuditEntry(action=name, actor="ada", object_label="alpha", partition="x", reason="Because.")
    assert "{" not in entry.sentence and entry.sentence
    assert entry.label != name


def test_a_row_of_another_version_is_still_readable() -> None:
    entry = AuditEntry(action="tape.rewound", actor="ada", object_label="tape 7")
    assert (entry.sentence, entry.label) == ("ada: tape.rewound tape 7", "tape.rewound")


def test_what_a_row_changed_is_told_key_by_key() -> None:
    changed = append(before={"urgency": 3, "name": "A"}, after={"urgency": 5, "name": "A"})
    assert [str(each) for each in entry_differences(changed)] == ["urgency: 3 → 5"]
    made = append(action="project.created", before=None, after={"code": "alpha", "size": 4})
    assert [str(each) for each in entry_differences(made)] == ["code: added alpha", "size: added 4"]
    gone = append(action="project.deleted", before={"code": "alpha"}, after=None)
    assert [str(each) for each in entry_differences(gone)] == ["code: removed alpha"]
    assert entry_differences(append(action="account.signed_in", before=None, after=None)) == []
