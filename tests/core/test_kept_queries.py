"""A query whose SQL is kept answers with what the database has now, to each thread on its own connection."""

from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import Exists, OuterRef, QuerySet
from django.test.utils import CaptureQueriesContext

from console.accounts.models import User
from console.cluster.models import Cluster
from console.core import kept_queries
from console.core.kept_queries import AskedMoment
from console.partitions.models import Partition
from console.steering.models import Plan
from console.steering.selectors import numbers_to_decide
from tests import factories

HOUR = timedelta(hours=1)
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def named(name: str) -> QuerySet[Cluster]:
    return Cluster.objects.filter(name=name)


def nothing() -> QuerySet[Cluster]:
    return Cluster.objects.filter(pk__in=[])


def both_names(first: str, second: str) -> QuerySet[Cluster, tuple[Any, ...]]:
    return named(first).values_list("name").union(named(second).values_list("name"), all=True)


def with_clusters() -> QuerySet[Partition]:
    return Partition.objects.select_related("cluster")


def ended_with_a_job(
    cluster: int, since: AskedMoment, until: AskedMoment
) -> QuerySet[Plan, tuple[int, datetime | None]]:
    """One moment inside of another query and one outside; who asks names them in any order."""
    early = Plan.objects.filter(pk=OuterRef("pk"), ended_at__lt=until)
    return Plan.objects.filter(Exists(early), cluster=cluster, ended_at__gte=since).values_list(
        "pk", "ended_at"
    )


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


@pytest.mark.django_db
def test_each_moment_is_put_where_it_belongs_whenever_it_is_asked() -> None:
    cluster = factories.make_cluster()
    cycle = factories.make_cycle(cluster, 1)
    old = factories.make_plan(cycle, "7", ended_at=NOW - 3 * HOUR)
    new = factories.make_plan(cycle, "8", ended_at=NOW - HOUR)

    def asked(since: datetime, until: datetime) -> list[int]:
        with CaptureQueriesContext(connection) as queries:
            found = kept_queries.rows(ended_with_a_job, cluster.pk, until=until, since=since)
        assert len(queries) == 1
        return sorted(pk for pk, _ in found)

    assert asked(NOW - 2 * HOUR, NOW) == [new.pk]
    assert asked(NOW - 4 * HOUR, NOW) == [old.pk, new.pk]
    assert asked(NOW - 4 * HOUR, NOW - 2 * HOUR) == [old.pk]
    assert asked(NOW - 2 * HOUR, NOW) == [new.pk]
    assert kept_queries.rows(ended_with_a_job, cluster.pk + 1, since=NOW - 4 * HOUR, until=NOW) == []


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
