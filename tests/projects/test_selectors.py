"""Reading projects: who sees which, in few queries, and as the scheduler takes them."""

import pytest
from django.contrib.auth.models import AnonymousUser
from pytest_django.fixtures import DjangoAssertNumQueries

from console.projects.selectors import core_projects, visible_projects
from scheduler.model.policy import ProjectFacts as CoreProject
from scheduler.model.policy import TaskRule as CoreTaskPattern
from tests import factories

pytestmark = pytest.mark.django_db


def codes(user: object) -> list[str]:
    return [project.code for project in visible_projects(user)]


def test_who_sees_which() -> None:
    cluster = factories.make_cluster()
    factories.make_project(cluster, "beta")
    factories.make_manager(factories.make_project(cluster, "alpha"), "pam")
    factories.make_partition_admin(factories.make_partition(cluster), "dave")
    assert codes(factories.make_administrator()) == ["alpha", "beta"]
    assert codes(factories.make_auditor()) == ["alpha", "beta"]
    assert codes(factories.make_viewer("dave")) == ["alpha", "beta"]
    assert codes(factories.make_viewer("pam")) == ["alpha"]
    assert codes(factories.make_viewer("vera")) == []
    assert codes(AnonymousUser()) == []


def test_a_list_with_people_and_patterns_takes_the_same_queries_whatever_its_length(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    cluster = factories.make_cluster()
    ada = factories.make_administrator()
    for number in range(12):
        project = factories.make_project(cluster, f"p{number}")
        factories.make_member(project)
        factories.make_task_pattern(project)
    with django_assert_num_queries(4):
        for project in visible_projects(ada):
            assert project.waiting_request is None
            assert len(project.memberships.all()) == len(project.tasks.all()) == 1
            assert project.cluster.name == "dev"
    with django_assert_num_queries(3):
        assert len(core_projects(cluster)) == 12


def test_the_scheduler_gets_members_not_managers_and_only_of_its_cluster() -> None:
    cluster = factories.make_cluster()
    alpha = factories.make_project(cluster, "alpha")
    factories.make_member(alpha, "ann")
    factories.make_manager(alpha, "pam")
    factories.make_task_pattern(alpha, "alpha_eval*", importance=2.0)
    factories.make_task_pattern(alpha, "alpha_rel*", importance=1.0, level="P0")
    factories.make_project(factories.make_cluster("prod"), "beta")
    assert core_projects(cluster) == [
        CoreProject(
            code="alpha",
            size=40,
            grade=1,
            urgency=3,
            slurm_account="alpha",
            members=frozenset({"ann"}),
            tasks=(CoreTaskPattern("alpha_eval*", 2.0, None), CoreTaskPattern("alpha_rel*", 1.0, "P0")),
        )
    ]
