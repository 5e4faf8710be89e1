"""Urgency by deadline, from the schedule that administrators set to what the scheduler takes at every cycle."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import override_settings
from pytest_django.fixtures import DjangoAssertNumQueries

from console.audit.models import AuditEntry
from console.cluster.models import Cluster
from console.core import clock
from console.core.concurrent_changes import ChangedSinceError
from console.projects.models import Project, ProjectRules, rules_in_force
from console.projects.rule_changes import change_rules, rules_row
from console.projects.rulebook import (
    DEFAULT_SCHEDULE,
    ManagerLimits,
    Rules,
    SizeGrade,
    decode_rules,
    encode_rules,
)
from console.projects.selectors import core_projects, project_document, visible_projects, with_rules
from console.projects.services import ProjectData, create_project, project_data
from scheduler.priority.deadline import Schedule, UrgencyStep
from tests import factories

pytestmark = pytest.mark.django_db

SCHEDULE = Schedule((UrgencyStep(30, 2.0), UrgencyStep(7, 4.0)), hold_days=1)
DATA = ProjectData("alpha", "Alpha", 10, 1, 1, urgency_by="deadline", deadline=date(2026, 12, 31))


@pytest.fixture
def cluster() -> Cluster:
    return factories.make_cluster()


def it_is(monkeypatch: pytest.MonkeyPatch, *moment: int) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(*moment, tzinfo=UTC))  # type: ignore[misc,arg-type]


def set_rules(**fields: Any) -> ProjectRules:
    rules = replace(Rules(SCHEDULE), **fields)
    return change_rules(actor="ada", rules=rules, reason="So agreed.", version=rules_row().version)


def taken(cluster: Cluster) -> float:
    return core_projects(cluster)[0].urgency


def test_the_scheduler_takes_what_counts_today_and_nothing_has_to_be_written(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_rules()
    alpha = create_project(actor="ada", cluster=cluster, data=DATA, reason="New.")
    rows = AuditEntry.objects.count()
    for moment, urgency in (
        ((2026, 11, 30, 23, 59), 1),
        ((2026, 12, 1, 0, 0), 2),
        ((2026, 12, 24, 0, 0), 4),
        ((2027, 1, 1, 23, 59), 4),
        ((2027, 1, 2, 0, 0), 1),
    ):
        it_is(monkeypatch, *moment)
        assert taken(cluster) == urgency, moment
        fresh = Project.objects.get(pk=alpha.pk)
        assert (fresh.urgency, fresh.urgency_now, fresh.score) == (1, urgency, 10 * urgency)
    assert AuditEntry.objects.count() == rows
    assert project_document(alpha)["urgency"] == 1, "the file keeps what is set, not what it comes to"


def test_a_day_begins_where_the_installation_is(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules()
    create_project(actor="ada", cluster=cluster, data=DATA, reason="New.")
    it_is(monkeypatch, 2026, 11, 30, 17, 0)
    assert taken(cluster) == 1
    with override_settings(TIME_ZONE="Asia/Shanghai"):
        assert taken(cluster) == 2, "it is the first of December there"


def test_a_new_schedule_counts_at_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    it_is(monkeypatch, 2026, 12, 30, 12, 0)
    create_project(actor="ada", cluster=cluster, data=DATA, reason="New.")
    assert taken(cluster) == DEFAULT_SCHEDULE.top
    set_rules()
    assert taken(cluster) == 4
    set_rules(schedule=Schedule())
    assert taken(cluster) == 1


def test_by_hand_a_deadline_is_only_a_note(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    it_is(monkeypatch, 2026, 12, 31, 12, 0)
    create_project(actor="ada", cluster=cluster, data=replace(DATA, urgency_by="hand"), reason="New.")
    assert taken(cluster) == 1


def test_queries_do_not_grow_with_deadlines(
    cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(8):
        factories.make_project(cluster, f"p{number}", urgency_by="deadline", deadline=date(2026, 12, 31))
    ada = factories.make_administrator()
    with django_assert_num_queries(4):
        assert len(core_projects(cluster)) == 8
    with django_assert_num_queries(5):  # projects, people, patterns, requests, rules
        assert all(project.score for project in with_rules(visible_projects(ada)))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"deadline": None}, "deadline"),
        ({"deadline": date(1999, 12, 31)}, "deadline"),
        ({"deadline": date(2200, 1, 1)}, "deadline"),
        ({"deadline": "soon"}, "deadline"),
        ({"urgency_by": "moon"}, "urgency_by"),
    ],
)
def test_what_makes_no_deadline_is_told_by_field(
    cluster: Cluster, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as error:
        create_project(actor="ada", cluster=cluster, data=replace(DATA, **fields), reason="New.")
    assert sorted(error.value.message_dict) == [field]
    assert not Project.objects.exists()


def test_the_data_of_a_project_are_what_was_given(cluster: Cluster) -> None:
    assert project_data(create_project(actor="ada", cluster=cluster, data=DATA, reason="New.")) == DATA


# --- The rules ------------------------------------------------------------------------------------------


def test_every_revision_of_the_rules_is_in_the_log_with_before_and_after() -> None:
    assert (rules_in_force(), rules_row().version) == (Rules(), 1)
    assert set_rules().version == 2
    entry = AuditEntry.objects.get(action="project_rules.changed")
    assert (entry.actor, entry.reason) == ("ada", "So agreed.")
    assert entry.before == encode_rules(Rules())
    assert entry.after == encode_rules(Rules(SCHEDULE))
    assert set_rules().version == 2, "the same again changes nothing"
    assert AuditEntry.objects.count() == 1


def test_an_old_tab_does_not_undo_newer_rules() -> None:
    set_rules()
    with pytest.raises(ChangedSinceError):
        change_rules(actor="ada", rules=Rules(), reason="Back.", version=1)
    assert rules_in_force().schedule == SCHEDULE


LIMITS = ManagerLimits(4, SizeGrade.BOUNDS, 1, 50, 1, 5, 3.5, False, True, True)


def test_rules_are_read_as_they_were_written() -> None:
    rules = Rules(SCHEDULE, LIMITS)
    assert decode_rules(encode_rules(rules)) == rules
    set_rules(limits=LIMITS)
    assert rules_in_force() == rules


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (Rules(Schedule((UrgencyStep(-1, 2.0),))), "steps"),
        (Rules(Schedule((UrgencyStep(3651, 2.0),))), "steps"),
        (Rules(Schedule((UrgencyStep(7, 0.0),))), "steps"),
        (Rules(Schedule((UrgencyStep(7, float("nan")),))), "steps"),
        (Rules(Schedule((UrgencyStep(7, 1001.0),))), "steps"),
        (Rules(Schedule((UrgencyStep(7, 2.0), UrgencyStep(7, 3.0)))), "steps"),
        (Rules(Schedule((UrgencyStep(30, 3.0), UrgencyStep(7, 2.0)))), "steps"),
        (Rules(Schedule(tuple(UrgencyStep(n, 2.0) for n in range(51)))), "steps"),
        (Rules(Schedule(hold_days=-1)), "hold_days"),
        (Rules(Schedule(hold_days=366)), "hold_days"),
        (Rules(limits=ManagerLimits(urgency_limit=0)), "urgency_limit"),
        (Rules(limits=ManagerLimits(size_min=2, size_max=1)), "size_max"),
        (Rules(limits=ManagerLimits(grade_max=float("inf"))), "grade_max"),
        (Rules(limits=ManagerLimits(importance_max=-1)), "importance_max"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_field(rules: Rules, field: str) -> None:
    with pytest.raises(ValidationError) as error:
        change_rules(actor="ada", rules=rules, reason="Why not.", version=1)
    assert sorted(error.value.message_dict) == [field]
    assert (rules_in_force(), AuditEntry.objects.count()) == (Rules(), 0)


def test_rules_need_a_reason() -> None:
    with pytest.raises(ValidationError) as error:
        change_rules(actor="ada", rules=Rules(SCHEDULE), reason=" ", version=1)
    assert sorted(error.value.message_dict) == ["reason"]
