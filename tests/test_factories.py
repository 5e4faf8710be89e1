"""The factories make rows that the database's constraints accept, with nothing beside them."""

import pytest

from tests import factories

pytestmark = pytest.mark.django_db


def test_every_factory_makes_its_row() -> None:
    cluster = factories.make_cluster()
    partition = factories.make_partition(cluster, mode="task")
    project = factories.make_project(cluster)
    plan = factories.make_plan(factories.make_cycle(cluster))
    made = [
        factories.make_administrator(),
        factories.make_auditor(),
        factories.make_viewer(),
        factories.make_partition_admin(partition),
        factories.make_manager(project),
        factories.make_member(project),
        factories.make_task_pattern(project),
        factories.make_revision(partition, 2),
        factories.make_observed_partition(cluster),
        factories.make_node(cluster),
        factories.make_job(cluster),
        factories.make_running_job(cluster),
        factories.make_action(plan),
    ]
    assert all(row.pk for row in made)
    assert partition.revision is not None and partition.revision.document["mode"] == "task"
    assert project.score == 120
