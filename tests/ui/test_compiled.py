"""Queries whose SQL is made once: they answer what the query itself would, each time anew."""

import pytest
from django.db import connection
from django.db.models import Max, QuerySet
from django.test.utils import CaptureQueriesContext

from console.cluster.models import Job
from console.core import compiled
from console.core.compiled import rows_of
from tests import factories
from tests.ui.conftest import House


def jobs(name: str) -> QuerySet[Job]:
    return Job.objects.filter(partition=name).order_by("job_id")


def test_what_is_answered_is_of_now(house: House) -> None:
    def asked() -> QuerySet[Job, tuple[object, ...]]:
        return jobs("x").values_list("job_id", "explain", "alloc", "ended_at", "held")

    for number in range(3):
        factories.make_running_job(
            house.cluster, str(700 + number), explain="It runs.", alloc={"n1": {"cpu": number}}
        )
        assert rows_of(("jobs", "x"), asked) == list(asked()), "converted as Django does"
    Job.objects.filter(job_id="700").delete()
    assert "700" not in {row[0] for row in rows_of(("jobs", "x"), asked)}


def test_the_sql_is_made_once(house: House) -> None:
    made = []

    def asked() -> QuerySet[Job, tuple[object, ...]]:
        made.append(1)
        return jobs("x").values_list("job_id").annotate(Max("submit"))

    with CaptureQueriesContext(connection) as queries:
        assert rows_of("once", asked) == rows_of("once", asked) == list(asked())
    assert (len(made), len(queries)) == (2, 3)


def test_what_can_find_nothing_asks_nothing(house: House) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert rows_of("nobody", lambda: jobs("x").filter(pk__in=()).values_list("pk")) == []
    assert not queries


def test_no_more_are_kept_than_a_bound(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MOST_KEPT", 3)
    for name in "abcdexyz":
        rows = rows_of(("bound", name), lambda name=name: jobs(name).values_list("job_id"))  # type: ignore[misc]
        assert rows == list(jobs(name).values_list("job_id"))
    assert len(compiled._made) <= 3
