"""Limits hold for managers, whatever door they come through; an urgency beyond them waits for an administrator."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from console.accounts.models import User
from console.audit.models import AuditEntry
from console.core import clock
from console.core.concurrent_changes import ChangedSinceError
from console.projects.changing import (
    AlreadyDecidedError,
    ProjectChange,
    change_as,
    decide_request,
    withdraw_request,
)
from console.projects.limits import wants_approval
from console.projects.models import Project, ProjectRules, UrgencyRequest
from console.projects.rulebook import ManagerLimits, Rules, SizeGrade, encode_rules
from console.projects.services import ProjectData, TaskData, project_data
from scheduler.priority.deadline import Schedule, UrgencyStep
from tests import factories

pytestmark = pytest.mark.django_db

DAY = date(2099, 12, 31)
SCHEDULE = Schedule((UrgencyStep(30, 2.0), UrgencyStep(1, 5.0)), hold_days=2)


@pytest.fixture
def alpha() -> Project:
    """40 / 1 * 3."""
    project = factories.make_project(factories.make_cluster())
    factories.make_manager(project, "pam")
    factories.make_task_pattern(project)
    return project


@pytest.fixture
def pam(alpha: Project) -> User:
    return factories.make_viewer("pam")


@pytest.fixture
def ada() -> User:
    return factories.make_administrator()


def limit(**fields: Any) -> None:
    document = encode_rules(Rules(SCHEDULE, ManagerLimits(**fields)))
    ProjectRules.objects.update_or_create(pk=1, defaults={"document": document})


def change(person: User, project: Project, **fields: Any) -> ProjectChange:
    project = Project.objects.get(pk=project.pk)
    return change_as(
        person=person,
        project=project,
        data=replace(project_data(project), **fields),
        reason="Because.",
        version=project.version,
    )


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True))


def wrong(person: User, project: Project, **fields: Any) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as error:
        change(person, project, **fields)
    return dict(error.value.message_dict)


# --- What is refused --------------------------------------------------------------------------------------

ADMINISTRATORS = {"size_grade": SizeGrade.ADMINISTRATORS}
BOUNDS = {"size_grade": SizeGrade.BOUNDS, "size_min": 10, "size_max": 50, "grade_min": 1, "grade_max": 3}
NEW_TASK = (TaskData("alpha_eval*", 2.0), TaskData("alpha_x*", 9.0))
OWN_LEVEL = (TaskData("alpha_eval*", 2.0, "P0"),)
CASES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"managers": ("pam", "pat")}, "managers"),
    ({}, {"managers": ()}, "managers"),
    ({}, {"slurm_account": "beta"}, "slurm_account"),
    (ADMINISTRATORS, {"size": 41}, "size"),
    (ADMINISTRATORS, {"grade": 2}, "grade"),
    (BOUNDS, {"size": 51}, "size"),
    (BOUNDS, {"size": 9}, "size"),
    (BOUNDS, {"grade": 0.5}, "grade"),
    (BOUNDS, {"grade": 4}, "grade"),
    ({"importance_max": 5}, {"tasks": NEW_TASK}, "tasks"),
    ({"importance_max": 1}, {"tasks": (TaskData("alpha_eval*", 3.0),)}, "tasks"),
    ({"managers_set_levels": False}, {"tasks": OWN_LEVEL}, "tasks"),
]


@pytest.mark.parametrize(("limits", "fields", "field"), CASES)
def test_what_is_beyond_a_limit_is_refused_at_its_field_and_an_administrator_may(
    limits: dict[str, Any], fields: dict[str, Any], field: str, alpha: Project, pam: User, ada: User
) -> None:
    limit(**limits)
    before = project_data(alpha)
    assert list(wrong(pam, alpha, **fields)) == [field]
    assert (project_data(Project.objects.get()), actions()) == (before, [])
    change(ada, alpha, **fields)
    assert actions() == ["project.changed"]


@pytest.mark.parametrize(
    ("limits", "fields"),
    [
        ({"managers_set_managers": True}, {"managers": ("pam", "pat")}),
        ({"managers_set_account": True}, {"slurm_account": "beta"}),
        ({}, {"size": 4000.0, "grade": 0.1, "tasks": NEW_TASK}),
        (BOUNDS, {"size": 50.0, "grade": 3.0}),
        ({"importance_max": 5}, {"tasks": (TaskData("alpha_eval*", 5.0),)}),
        ({"importance_max": 1}, {"tasks": (TaskData("alpha_eval*", 1.5),)}),  # less than before
        ({}, {"tasks": OWN_LEVEL}),
        ({}, {"members": ("ann",)}),
    ],
)
def test_what_is_within_the_limits_is_done(
    limits: dict[str, Any], fields: dict[str, Any], alpha: Project, pam: User
) -> None:
    limit(**limits)
    changed = change(pam, alpha, **fields).project
    assert {name: getattr(project_data(changed), name) for name in fields} == fields


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"size": 1e9}, "size"),
        ({"grade": 0.000001}, "grade"),
        ({"tasks": (TaskData("*", 1e6),)}, "tasks"),
        ({"tasks": (TaskData("*", 2.5),)}, "tasks"),
        ({"tasks": (TaskData("*", 1.0, "P0"),)}, "tasks"),
        ({"urgency": 1001.0}, "urgency"),
    ],
)
def test_as_long_as_nobody_has_set_limits_managers_cannot_seize_a_level(
    fields: dict[str, Any], field: str, alpha: Project, pam: User
) -> None:
    assert not ProjectRules.objects.exists()
    assert list(wrong(pam, alpha, **fields)) == [field]
    assert (Project.objects.get().version, actions()) == (1, [])


def test_as_long_as_nobody_has_set_limits_managers_say_how_urgent_it_is(alpha: Project, pam: User) -> None:
    assert change(pam, alpha, urgency=5.0).project.urgency == 5
    assert change(pam, alpha, tasks=(TaskData("alpha_eval*", 0.5),)).request is None
    asked = change(pam, alpha, urgency=6.0)
    assert (asked.project.urgency, asked.request is not None) == (5, True)


@pytest.mark.parametrize(
    "document", [encode_rules(Rules(SCHEDULE, ManagerLimits())), {"steps": [], "hold_days": 2}]
)
def test_rules_that_were_stored_bind_as_they_did(document: dict[str, Any], alpha: Project, pam: User) -> None:
    """Whoever saved rules before there were others unless changed meant what stood there, or meant nothing by it."""
    ProjectRules.objects.create(pk=1, document=document, version=2)
    changed = change(pam, alpha, size=1e9, grade=0.5, urgency=1000.0, tasks=OWN_LEVEL).project
    assert (changed.size, changed.urgency) == (1e9, 1000)


def test_what_was_beyond_a_limit_before_may_stay(alpha: Project, pam: User) -> None:
    limit(**{**BOUNDS, "size_max": 20}, importance_max=1, urgency_limit=1, managers_set_levels=False)
    changed = change(pam, alpha, name="Alpha the second").project
    assert (changed.name, changed.size, changed.urgency) == ("Alpha the second", 40, 3)


def test_everything_that_is_wrong_is_told_at_once(alpha: Project, pam: User) -> None:
    limit(**ADMINISTRATORS, urgency_limit=4)
    faults = wrong(pam, alpha, size=41, name="", managers=("x",), urgency=-1)
    assert sorted(faults) == ["managers", "name", "size", "urgency"]
    assert not UrgencyRequest.objects.exists()


# --- What waits -------------------------------------------------------------------------------------------


def test_an_urgency_above_the_limit_waits_and_the_rest_is_changed(alpha: Project, pam: User) -> None:
    limit(urgency_limit=4)
    outcome = change(pam, alpha, urgency=5, name="Alpha now", members=("ann",))
    assert outcome.request is not None
    fresh = Project.objects.get()
    assert (fresh.urgency, fresh.name, fresh.version) == (3, "Alpha now", 2)
    assert (outcome.request.urgency, outcome.request.asked_by, outcome.request.reason) == (
        5, "pam", "Because.",
    )  # fmt: skip
    assert actions() == ["project.changed", "urgency_request.asked"]


def test_approved_the_project_has_it_and_both_are_in_the_log(alpha: Project, pam: User, ada: User) -> None:
    limit(urgency_limit=4)
    request = change(pam, alpha, urgency_by="deadline", deadline=DAY).request
    assert request is not None
    decide_request(actor="ada", request=request, approve=True, reason="The customer comes.")
    fresh = Project.objects.get()
    assert (fresh.urgency_by, fresh.deadline, fresh.urgency) == ("deadline", DAY, 3)
    request.refresh_from_db()
    assert (request.state, request.decided_by, request.decision_reason) == (
        "approved", "ada", "The customer comes.",
    )  # fmt: skip
    assert actions() == ["urgency_request.asked", "project.changed", "urgency_request.approved"]
    assert {row.actor for row in AuditEntry.objects.all()[:2]} == {"ada"}


def test_shortened_the_project_has_the_earlier_deadline_and_the_log_has_both(
    alpha: Project, pam: User
) -> None:
    limit(urgency_limit=4)
    request = change(pam, alpha, urgency_by="deadline", deadline=DAY).request
    assert request is not None
    for wrong in (DAY, clock.today() - timedelta(days=1)):
        with pytest.raises(ValidationError) as error:
            decide_request(actor="ada", request=request, approve=True, reason="Sooner.", until=wrong)
        assert list(error.value.message_dict) == ["until"]
    earlier = DAY - timedelta(days=1)
    decide_request(actor="ada", request=request, approve=True, reason="Sooner.", until=earlier)
    assert (Project.objects.get().urgency_by, Project.objects.get().deadline) == ("deadline", earlier)
    row = AuditEntry.objects.get(action="urgency_request.approved")
    told = (row.before or {}, row.after or {})
    assert [each["deadline"] for each in told] == [DAY.isoformat(), earlier.isoformat()]
    request.refresh_from_db()
    assert (request.state, request.deadline) == ("approved", earlier)


def test_what_follows_no_deadline_is_not_shortened(alpha: Project, pam: User) -> None:
    limit(urgency_limit=4)
    request = change(pam, alpha, urgency=5).request
    assert request is not None
    with pytest.raises(ValidationError) as error:
        decide_request(actor="ada", request=request, approve=True, reason="So.", until=clock.today())
    assert list(error.value.message_dict) == ["until"]
    assert Project.objects.get().urgency == 3


@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_needs_a_reason_and_is_made_once(alpha: Project, pam: User, approve: bool) -> None:
    limit(urgency_limit=4)
    request = change(pam, alpha, urgency=5).request
    assert request is not None
    with pytest.raises(ValidationError) as error:
        decide_request(actor="ada", request=request, approve=approve, reason=" ")
    assert list(error.value.message_dict) == ["reason"]
    decide_request(actor="ada", request=request, approve=approve, reason="So.")
    for again in (True, False):
        with pytest.raises(AlreadyDecidedError):
            decide_request(actor="ada", request=request, approve=again, reason="So.")
    with pytest.raises(AlreadyDecidedError):
        withdraw_request(actor="pam", request=request, reason="No.")
    assert Project.objects.get().urgency == (5 if approve else 3)


def test_rejected_or_withdrawn_the_project_keeps_its_own(alpha: Project, pam: User) -> None:
    limit(urgency_limit=4)
    first = change(pam, alpha, urgency=5).request
    assert first is not None
    decide_request(actor="ada", request=first, approve=False, reason="Others wait too.")
    second = change(pam, alpha, urgency=5).request
    assert second is not None and second.pk != first.pk
    withdraw_request(actor="pam", request=second, reason="Not needed.")
    assert Project.objects.get().urgency == 3
    assert actions() == [
        "urgency_request.asked", "urgency_request.rejected",
        "urgency_request.asked", "urgency_request.withdrawn",
    ]  # fmt: skip


def test_one_request_waits_and_the_newer_takes_its_place(alpha: Project, pam: User) -> None:
    limit(urgency_limit=4)
    first = change(pam, alpha, urgency=5).request
    assert change(pam, alpha, urgency=5).request == first, "the same again is the same request"
    newer = change(pam, alpha, urgency=6).request
    assert newer is not None
    states = list(UrgencyRequest.objects.order_by("id").values_list("urgency", "state"))
    assert states == [(5, "withdrawn"), (6, "waiting")]


def test_an_administrator_waits_for_nobody(alpha: Project, ada: User) -> None:
    limit(urgency_limit=4)
    assert change(ada, alpha, urgency=9).request is None
    assert Project.objects.get().urgency == 9


def test_an_old_version_asks_for_nothing(alpha: Project, pam: User) -> None:
    limit(urgency_limit=4)
    with pytest.raises(ChangedSinceError):
        change_as(
            person=pam,
            project=alpha,
            data=replace(project_data(alpha), urgency=5),
            reason="Because.",
            version=7,
        )
    assert not UrgencyRequest.objects.exists()


NOW = ProjectData("alpha", "Alpha", 40, 1, 3)
HIGH = replace(NOW, urgency=9)
DATED = replace(NOW, urgency_by="deadline", deadline=DAY)


@pytest.mark.parametrize(
    ("before", "after", "waits"),
    [
        (NOW, replace(NOW, urgency=4), False),
        (NOW, replace(NOW, urgency=4.5), True),
        (HIGH, replace(NOW, urgency=8), False),  # lower than before
        (HIGH, replace(NOW, urgency=10), True),
        (NOW, DATED, True),  # the schedule goes to 5
        (HIGH, DATED, False),  # never above what it has
        (DATED, NOW, False),
        (DATED, replace(DATED, deadline=date(2100, 1, 31)), True),
        (DATED, replace(DATED, urgency=2), False),  # the same curve, lower
        (DATED, replace(DATED, name="Other"), False),
        (NOW, replace(NOW, deadline=DAY), False),  # by hand, only a note
        (DATED, replace(NOW, urgency=5), True),
    ],
)
def test_what_may_rise_above_the_limit_waits(before: ProjectData, after: ProjectData, waits: bool) -> None:
    assert wants_approval(before, after, Rules(SCHEDULE, ManagerLimits(urgency_limit=4))) is waits
    assert (
        not wants_approval(before, after, Rules(SCHEDULE, ManagerLimits(urgency_limit=5)))
        or after.urgency > 5
    )
    assert not wants_approval(before, after, Rules(SCHEDULE, ManagerLimits()))
