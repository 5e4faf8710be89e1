"""A project's own reports: where its people and job names stand, what it ran, waited, lost and gained."""

from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import DjangoAssertNumQueries

from console.cluster.models import JobPhase
from console.core import clock
from console.projects.models import Project
from console.reports.levels import project_levels, sample_of
from console.reports.project_work import project_work
from console.steering.models import Checkpoint
from tests import factories
from tests.factories import EPOCH, NOW

HOUR = 3600


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def alpha(db: None) -> Project:
    """40 / 1 * 3 = 120: P0 from 60, P1 from 20."""
    project = factories.make_project(factories.make_cluster())
    factories.make_member(project, "ann")
    factories.make_member(project, "carol")
    factories.make_partition(project.cluster, "x")
    bare: dict[str, Any] = {"quotas": {}, "user_overrides": {}, "task_overrides": {}}
    factories.make_partition(project.cluster, "y", levels=[{"name": "Top", "min_score": 200}], **bare)
    return project


# --- Levels -----------------------------------------------------------------------------------------------


def test_members_have_their_level_in_each_partition_with_its_origin(alpha: Project) -> None:
    factories.make_running_job(alpha.cluster, "88", user="ann", project="alpha")
    factories.make_job(alpha.cluster, "101", user="ann", project="alpha")
    factories.make_job(alpha.cluster, "102", user="ann", project="beta")
    x, y = project_levels(alpha)
    assert [(m.user, m.name, m.running, m.waiting) for m in x.members] == [
        ("ann", "P0", 1, 1),
        ("carol", "P0", 0, 0),
    ]
    assert x.members[0].origin == "alpha: 40 ÷ 1 × 3 = 120 → P0"
    assert x.members[1].origin == "override by the partition"
    assert [(m.user, m.index) for m in y.members] == [("ann", None), ("carol", None)]


def test_patterns_have_their_task_level_in_each_partition(alpha: Project) -> None:
    factories.make_task_pattern(alpha, "alpha_eval*", importance=2.0)
    factories.make_task_pattern(alpha, "alpha_low", importance=0.2)
    factories.make_task_pattern(alpha, "release_*", importance=0.01)
    x, y = project_levels(alpha)
    assert [(p.pattern, p.name) for p in x.patterns] == [
        ("alpha_eval*", "P0"),
        ("alpha_low", "P1"),
        ("release_*", "P0"),  # by the partition's override
    ]
    assert [(p.pattern, p.index) for p in y.patterns] == [
        ("alpha_eval*", 0),
        ("alpha_low", None),
        ("release_*", None),
    ]


def test_another_project_of_the_same_user_does_not_get_in_the_way(alpha: Project) -> None:
    other = factories.make_project(alpha.cluster, "omega", size=1.0)
    factories.make_member(other, "ann")
    [ann] = project_levels(other)[0].members
    assert ann.origin.startswith("omega: 1 ÷ 1 × 3")


def test_what_a_deadline_makes_of_the_urgency_today_counts(alpha: Project) -> None:
    alpha.urgency, alpha.urgency_by, alpha.deadline = 0.1, "deadline", NOW.date()
    alpha.save()
    assert project_levels(alpha)[0].members[0].origin == "alpha: 40 ÷ 1 × 5 = 200 → P0"


def test_levels_take_the_same_queries_however_many_members_there_are(
    alpha: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        factories.make_member(alpha, f"user{number}")
    alpha = Project.objects.select_related("cluster").prefetch_related("memberships", "tasks").get()
    with django_assert_num_queries(5):  # projects with people and patterns, jobs, partitions
        project_levels(alpha)


@given(st.text("ab*?[]!-", min_size=1, max_size=8))
def test_a_sample_fits_its_pattern_or_is_the_pattern(pattern: str) -> None:
    assert fnmatchcase(sample_of(pattern), pattern) or sample_of(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "sample"),
    [("alpha_*", "alpha_"), ("a?c", "axc"), ("run[12]*", "run1"), ("x[!a]y", "x~y"), ("plain", "plain")],
)
def test_samples_are_short_names(pattern: str, sample: str) -> None:
    assert sample_of(pattern) == sample


# --- Work -------------------------------------------------------------------------------------------------


def run(alpha: Project, job_id: str, *, hours: float, ended: float | None = None, **fields: Any) -> None:
    """A job that began so many hours ago on 4 CPUs, and ended so many hours ago if at all."""
    over = {"phase": JobPhase.ENDED, "ended_at": NOW - timedelta(hours=ended)} if ended is not None else {}
    start = EPOCH - int(hours * HOUR)
    values = {"project": "alpha", "start": start, "submit": start - HOUR, **over, **fields}
    factories.make_running_job(alpha.cluster, job_id, **values)


def stop(project: Project, beneficiary: str, victim: str, *, hours: float = 2.0, **plan: Any) -> Any:
    """A plan that started `beneficiary` an hour ago by stopping `victim`, which had run on 8 CPUs and 2 GPUs."""
    at = NOW - timedelta(hours=1)
    told = {
        "job": victim,
        "user": "bob",
        "start": EPOCH - HOUR - int(hours * HOUR),
        "restarts": 0,
        "amounts": {"cpu": 8, "gpu": 2},
        "ran_s": int(hours * HOUR),
    }
    fields = {"state": "verified", "victims": [told], "created_at": at, "started_at": at, **plan}
    made = factories.make_plan(_cycle(project), beneficiary, **fields)
    factories.make_action(
        made, state="verified", job_id=victim, run_start=told["start"], issued_at=at, verified_at=at
    )
    return made


def _cycle(project: Project) -> Any:
    return project.cluster.cycles.first() or factories.make_cycle(project.cluster)


def test_what_ran_is_counted_within_the_time_asked_for(alpha: Project) -> None:
    run(alpha, "1", hours=3)
    run(alpha, "2", hours=30, ended=20)  # 4 hours of it within the last day
    run(alpha, "3", hours=90, ended=50)
    run(alpha, "4", hours=1, project="beta")
    day = project_work(alpha, 1)
    assert (day.ran_jobs, day.ran) == (2, {"cpu": 4 * (3 + 4) * HOUR})
    week = project_work(alpha, 7)
    assert (week.ran_jobs, week.ran) == (3, {"cpu": 4 * (3 + 10 + 40) * HOUR})


def test_a_job_waits_once_however_many_partitions_it_names(alpha: Project) -> None:
    for partition in ("x", "y"):
        factories.make_job(alpha.cluster, "7", partition=partition, project="alpha", submit=EPOCH - 600)
    factories.make_job(alpha.cluster, "8", project="alpha", submit=EPOCH - 60)
    waiting = project_work(alpha).waiting
    assert (waiting.jobs, waiting.median_s, waiting.longest_s) == (2, 330, 600)


def test_who_started_in_this_time_had_waited(alpha: Project) -> None:
    run(alpha, "1", hours=3)
    run(alpha, "2", hours=5, submit=EPOCH - 9 * HOUR)
    run(alpha, "3", hours=80, submit=EPOCH - 500 * HOUR)
    started = project_work(alpha, 1).started
    assert (started.jobs, started.median_s, started.longest_s) == (2, 2.5 * HOUR, 4 * HOUR)


def test_what_was_lost_by_being_stopped_is_the_projects_own(alpha: Project) -> None:
    run(alpha, "1", hours=0.5)
    run(alpha, "2", hours=0.5, project="beta")
    stop(alpha, "900", "1", hours=2)
    stop(alpha, "901", "2", hours=5)
    found = project_work(alpha)
    assert (found.stopped.runs, found.stopped.lost) == (1, {"gpu": 4.0 * HOUR, "cpu": 16.0 * HOUR})
    assert (found.stopped.kept, found.helped, found.others.runs) == ({}, 0, 0)


def test_what_a_checkpoint_kept_is_not_lost(alpha: Project) -> None:
    run(alpha, "1", hours=0.5)
    plan = stop(alpha, "900", "1", hours=2)
    action = plan.actions.get()
    Checkpoint.objects.create(
        cluster=alpha.cluster,
        plan=plan,
        job_id="1",
        run_start=action.run_start,
        run_restarts=0,
        asked_at=NOW - timedelta(hours=1),
        acknowledged_at=NOW - timedelta(hours=1),
    )
    stopped = project_work(alpha).stopped
    assert (stopped.lost, stopped.kept) == ({}, {"gpu": 4.0 * HOUR, "cpu": 16.0 * HOUR})


def test_what_it_gained_is_counted_with_what_others_lost(alpha: Project) -> None:
    run(alpha, "1", hours=1)
    run(alpha, "2", hours=1)
    stop(alpha, "1", "500", hours=3)
    stop(alpha, "2", "501", hours=3, started_at=None, state="undone")
    found = project_work(alpha)
    assert (found.helped, found.others.runs) == (1, 1)
    assert found.others.lost == {"gpu": 6.0 * HOUR, "cpu": 24.0 * HOUR}
    assert found.stopped.runs == 0


def test_what_is_older_than_the_time_asked_for_is_left_out(alpha: Project) -> None:
    run(alpha, "1", hours=1)
    plan = stop(alpha, "900", "1")
    old = datetime(2026, 2, 20, tzinfo=UTC)
    plan.actions.update(issued_at=old)
    assert project_work(alpha).stopped.runs == 0


def test_work_takes_the_same_queries_however_many_jobs_there_are(
    alpha: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        run(alpha, str(number), hours=1)
        stop(alpha, f"9{number}", str(number))
    run(alpha, "helped", hours=1)
    stop(alpha, "helped", "500")
    with django_assert_num_queries(6):  # jobs, plans; for each kind of stops: actions, checkpoints
        assert project_work(alpha).stopped.runs == 30
