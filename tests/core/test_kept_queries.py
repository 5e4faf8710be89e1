"""A query whose SQL is kept answers with what the database has now, to each thread on its own connection."""

from threading import Thread
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from console.accounts.models import User
from console.cluster.models import Cluster
from console.core import kept_queries
from console.partitions.models import Partition
from console.steering.selectors import numbers_to_decide
from tests import factories


def named(name: str) -> QuerySet[Cluster]:
    return Cluster.objects.filter(name=name)


def nothing() -> QuerySet[Cluster]:
    return Cluster.objects.filter(pk__in=[])


def both_names(first: str, second: str) -> QuerySet[Cluster, tuple[Any, ...]]:
    return named(first).values_list("name").union(named(second).values_list("name"), all=True)


def with_clusters() -> QuerySet[Partition]:
    return Partition.objects.select_related("cluster")


@pytest.mark.django_db
def test_the_sql_is_kept_and_the_answer_is_not() -> None:
    assert kept_queries.rows(named, "dev") == []
    cluster = factories.make_cluster()
    assert kept_queries.rows(named, "dev") == [cluster]
    Cluster.objects.update(version=9)
    with CaptureQueriesContext(connection) as asked:
        assert [row.version for row in kept_queries.rows(named, "dev")] == [9]
    assert len(asked) == 1


@pytest.mark.django_db
def test_another_key_is_another_query() -> None:
    factories.make_cluster()
    assert len(kept_queries.rows(named, "dev")) == 1
    assert kept_queries.rows(named, "other") == []
    assert kept_queries.rows(both_names, "dev", "other") == [("dev",)]
    assert kept_queries.rows(nothing) == []


@pytest.mark.django_db
def test_rows_have_what_was_joined_to_them() -> None:
    partition = factories.make_partition(factories.make_cluster(), "x")
    kept_queries.rows(with_clusters)
    with CaptureQueriesContext(connection) as asked:
        assert [row.cluster.name for row in kept_queries.rows(with_clusters)] == [partition.cluster.name]
    assert len(asked) == 1


@pytest.mark.django_db(transaction=True)
def test_each_thread_asks_on_its_own_connection() -> None:
    cluster = factories.make_cluster()
    found: list[tuple[list[Cluster], int]] = []
    kept_queries.rows(named, "dev")

    def ask() -> None:
        with CaptureQueriesContext(connection) as asked:
            rows = kept_queries.rows(named, "dev")
        found.append((rows, len(asked)))
        connections.close_all()

    thread = Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [([cluster], 1)]


@pytest.mark.django_db
def test_who_loses_a_partition_is_asked_about_nothing_there_any_more() -> None:
    partition = factories.make_partition(factories.make_cluster(), "x")
    cycle = factories.make_cycle(partition.cluster, 1)
    factories.make_plan(cycle, "7", state="proposed", enforcement="approve", policy_revision=1)

    dave = factories.make_user("dave")

    def asked() -> int:
        return numbers_to_decide(User.objects.get(pk=dave.pk), "dev")["plans"]

    assert asked() == 0
    admin = factories.make_partition_admin(partition)
    assert asked() == 1
    admin.delete()
    assert asked() == 0
