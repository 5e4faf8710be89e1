"""Projects are created, changed and deleted through services: checked, audited, and never over a newer change."""

from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.audit.models import AuditEntry
from console.audit.services import SYSTEM
from console.cluster.models import Cluster
from console.core.concurrent_changes import ChangedSinceError
from console.projects import services
from console.projects.models import MemberRole, Project
from console.projects.selectors import people, project_document
from console.projects.services import (
    ProjectData,
    TaskData,
    change_project,
    create_project,
    delete_project,
    project_data,
)
from tests import factories

pytestmark = pytest.mark.django_db

ALPHA = ProjectData(
    code="alpha",
    name="Alpha",
    size=40,
    grade=1,
    urgency=3,
    slurm_account="alpha",
    members=("bob", "ann"),
    managers=("pam",),
    tasks=(TaskData("alpha_eval*", 2.0), TaskData("alpha_rel*", level="P0")),
)
DOCUMENT = {
    "code": "alpha",
    "name": "Alpha",
    "size": 40,
    "grade": 1,
    "urgency": 3,
    "slurm_account": "alpha",
    "managers": ["pam"],
    "members": ["ann", "bob"],
    "tasks": [{"pattern": "alpha_eval*", "importance": 2}, {"pattern": "alpha_rel*", "level": "P0"}],
}


@pytest.fixture
def cluster() -> Cluster:
    return factories.make_cluster()


@pytest.fixture
def alpha(cluster: Cluster) -> Project:
    return create_project(actor="ada", cluster=cluster, data=ALPHA, reason="New.")


def change(
    project: Project, *, version: int | None = None, reason: str = "Because.", **fields: Any
) -> Project:
    return change_project(
        actor="pam",
        project=project,
        data=replace(project_data(project), **fields),
        reason=reason,
        version=project.version if version is None else version,
        request_id="r1",
    )


def fresh(project: Project) -> Project:
    return Project.objects.get(pk=project.pk)


def wrong_fields(error: pytest.ExceptionInfo[ValidationError]) -> list[str]:
    return sorted(error.value.message_dict)


def test_a_new_project_is_as_it_was_given_and_in_the_log(alpha: Project) -> None:
    assert project_document(fresh(alpha)) == DOCUMENT
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.object_id, entry.project, entry.cluster, entry.reason) == (
        "project.created", "ada", "alpha", "alpha", "dev", "New.",
    )  # fmt: skip
    assert (entry.before, entry.after) == (None, DOCUMENT)


def test_the_same_code_may_be_in_another_cluster_but_not_twice_in_one(
    alpha: Project, cluster: Cluster
) -> None:
    create_project(actor="ada", cluster=factories.make_cluster("prod"), data=ALPHA, reason="New.")
    with pytest.raises(ValidationError, match="There is a project alpha already") as error:
        create_project(actor="ada", cluster=cluster, data=ALPHA, reason="New.")
    assert wrong_fields(error) == ["code"]
    assert AuditEntry.objects.count() == 2


def test_somebody_quicker_is_told_like_somebody_earlier(
    alpha: Project, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one's row appears between the look and the write."""
    monkeypatch.setattr("django.db.models.query.QuerySet.exists", lambda self: False)
    with pytest.raises(ValidationError, match="There is a project alpha already"):
        create_project(actor="ada", cluster=cluster, data=ALPHA, reason="New.")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"code": ""}, "code"),
    ({"code": "al pha"}, "code"),
    ({"code": "-x"}, "code"),
    ({"code": "x" * 65}, "code"),
    ({"name": ""}, "name"),
    ({"name": "two\nlines"}, "name"),
    ({"name": "nul\x00"}, "name"),
    ({"size": 0}, "size"),
    ({"size": -1}, "size"),
    ({"size": float("nan")}, "size"),
    ({"size": float("inf")}, "size"),
    ({"size": "many"}, "size"),
    ({"size": None}, "size"),
    ({"grade": 0}, "grade"),
    ({"urgency": 1e16}, "urgency"),
    ({"slurm_account": "x" * 65}, "slurm_account"),
    ({"slurm_account": "a\x00"}, "slurm_account"),
    ({"members": ("ann", "ann")}, "members"),
    ({"members": ("ann bob",)}, "members"),
    ({"members": ("ann,bob",)}, "members"),
    ({"members": ("",)}, "members"),
    ({"managers": ("x" * 151,)}, "managers"),
    ({"tasks": (TaskData("a*"), TaskData("a*", 2.0))}, "tasks"),
    ({"tasks": (TaskData(""),)}, "tasks"),
    ({"tasks": (TaskData("a*", 0.0),)}, "tasks"),
    ({"tasks": (TaskData("a*", float("inf")),)}, "tasks"),
    ({"tasks": (TaskData("a\n*"),)}, "tasks"),
    ({"tasks": (TaskData("a*", level="x" * 41),)}, "tasks"),
]


@pytest.mark.parametrize(("fields", "field"), WRONG)
def test_what_makes_no_project_is_told_by_field(fields: dict[str, Any], field: str, cluster: Cluster) -> None:
    with pytest.raises(ValidationError) as error:
        create_project(actor="ada", cluster=cluster, data=replace(ALPHA, **fields), reason="New.")
    assert wrong_fields(error) == [field]
    assert not Project.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(("fields", "field"), [each for each in WRONG if each[1] != "code"])
def test_a_wrong_change_changes_nothing(fields: dict[str, Any], field: str, alpha: Project) -> None:
    with pytest.raises(ValidationError) as error:
        change(alpha, **fields)
    assert wrong_fields(error) == [field]
    assert project_document(fresh(alpha)) == DOCUMENT
    assert AuditEntry.objects.count() == 1


def test_everything_that_is_wrong_is_told_at_once(cluster: Cluster) -> None:
    wrong = replace(ALPHA, size=0, name="", members=("a b",))
    with pytest.raises(ValidationError) as error:
        create_project(actor="ada", cluster=cluster, data=wrong, reason="New.")
    assert wrong_fields(error) == ["members", "name", "size"]


def test_a_change_tells_before_and_after_and_grows_the_version(alpha: Project) -> None:
    changed = change(alpha, urgency=5, members=("ann", "cy"), tasks=(TaskData("alpha_eval*", 3.0),))
    assert changed.version == fresh(alpha).version == 2
    after = {
        **DOCUMENT,
        "urgency": 5,
        "members": ["ann", "cy"],
        "tasks": [{"pattern": "alpha_eval*", "importance": 3}],
    }
    assert project_document(fresh(alpha)) == after
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.action, entry.actor, entry.request_id) == ("project.changed", "pam", "r1")
    assert (entry.before, entry.after) == (DOCUMENT, after)


def test_nothing_to_change_writes_nothing(alpha: Project) -> None:
    same = change(alpha, members=("ann", "bob"), size=40.0)
    assert same.version == 1
    assert AuditEntry.objects.count() == 1


def test_an_old_version_is_refused(alpha: Project) -> None:
    change(alpha, urgency=5)
    with pytest.raises(ChangedSinceError, match="project alpha was changed") as error:
        change(alpha, version=1, urgency=7)
    assert (error.value.seen, error.value.current) == (1, 2)
    assert fresh(alpha).urgency == 5
    assert AuditEntry.objects.count() == 2


def test_the_code_stays(alpha: Project) -> None:
    with pytest.raises(ValidationError) as error:
        change(alpha, code="beta")
    assert wrong_fields(error) == ["code"]


@pytest.mark.parametrize("reason", ["", " \n "])
def test_people_say_why(reason: str, alpha: Project, cluster: Cluster) -> None:
    calls = [
        lambda: change(alpha, reason=reason, urgency=5),
        lambda: delete_project(actor="ada", project=alpha, reason=reason, version=1),
        lambda: create_project(actor="ada", cluster=cluster, data=replace(ALPHA, code="b"), reason=reason),
    ]
    for call in calls:
        with pytest.raises(ValidationError) as error:
            call()
        assert wrong_fields(error) == ["reason"]
    create_project(actor=SYSTEM, cluster=cluster, data=replace(ALPHA, code="b"), reason=reason)


def test_a_deleted_project_stays_in_the_log(alpha: Project) -> None:
    delete_project(actor="ada", project=alpha, reason="Done.", version=1)
    assert not Project.objects.exists()
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.action, entry.object_id, entry.before, entry.after) == (
        "project.deleted",
        "alpha",
        DOCUMENT,
        None,
    )
    with pytest.raises(ChangedSinceError, match="project alpha was deleted") as error:
        change(alpha, urgency=5)
    assert error.value.current is None
    with pytest.raises(ChangedSinceError):
        delete_project(actor="ada", project=alpha, reason="Done.", version=1)


def test_a_project_changed_meanwhile_is_not_deleted(alpha: Project) -> None:
    change(alpha, urgency=5)
    with pytest.raises(ChangedSinceError):
        delete_project(actor="ada", project=alpha, reason="Done.", version=1)
    assert Project.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_without_its_audit_row_there_is_no_change(alpha: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(**_: object) -> None:
        raise IntegrityError("no more room")

    monkeypatch.setattr(services, "record", full_disk)
    with pytest.raises(IntegrityError):
        change(alpha, urgency=5, members=("cy",), tasks=())
    with pytest.raises(IntegrityError):
        delete_project(actor="ada", project=alpha, reason="Done.", version=1)
    assert project_document(fresh(alpha)) == DOCUMENT
    assert fresh(alpha).version == 1


names = st.lists(st.sampled_from(["ann", "bob", "cy", "dee"]), unique=True, max_size=4).map(tuple)
tasks = st.lists(
    st.builds(
        TaskData,
        st.sampled_from(["a*", "b*", "c*"]),
        st.sampled_from([0.5, 1.0, 2.0]),
        st.sampled_from(["", "P0"]),
    ),
    unique_by=lambda task: task.pattern,
    max_size=3,
).map(tuple)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(members=names, managers=names, wanted=tasks)
def test_whatever_was_there_a_change_leaves_exactly_what_is_wanted(
    members: tuple[str, ...], managers: tuple[str, ...], wanted: tuple[TaskData, ...], alpha: Project
) -> None:
    change(fresh(alpha), members=members, managers=managers, tasks=wanted)
    now = fresh(alpha)
    assert set(people(now, MemberRole.MEMBER)) == set(members)
    assert set(people(now, MemberRole.MANAGER)) == set(managers)
    assert set(project_data(now).tasks) == set(wanted)
