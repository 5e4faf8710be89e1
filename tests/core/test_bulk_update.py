"""Many rows at a time: written in one statement; deleted in portions, so that who writes meanwhile waits for one."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.cluster.connect import configured_cluster
from console.core import bulk_update, clock
from console.core.bulk_update import delete_rows, update_rows
from console.forecasts.models import JobForecast
from console.steering.models import Cycle
from tests import factories

pytestmark = pytest.mark.django_db


def test_all_of_them_go_and_no_other_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, now, pauses = configured_cluster(), clock.now(), list[float]()
    monkeypatch.setattr(bulk_update, "PORTION", 3)
    monkeypatch.setattr("time.sleep", pauses.append)
    for number in range(1, 10):
        Cycle.objects.create(cluster=cluster, number=number, started_at=now - timedelta(hours=10 - number))

    with CaptureQueriesContext(
        connection,
    ) as asked:
        gone = delete_rows(Cycle.objects.filter(number__lte=7))

    assert gone == 7
    assert set(Cycle.objects.values_list("number", flat=True)) == {8, 9}
    deleted = [query["sql"] for query in asked if query["sql"].startswith("DELETE")]
    assert len(deleted) == 3
    assert pauses == [bulk_update.PAUSE_S] * 2, "others have their turn between two of them"


def test_nothing_to_delete_is_one_question() -> None:
    with CaptureQueriesContext(connection) as asked:
        assert delete_rows(Cycle.objects.filter(number__lte=7)) == 0
    assert len(asked) == 1


def test_numbers_texts_and_json_are_written_to_their_rows_and_no_others() -> None:
    cluster = factories.make_cluster()
    one, two, three = (factories.make_forecast(cluster, str(number)) for number in range(3))
    update_rows(
        JobForecast,
        ("ran_s", "inner", "version"),
        [(7, [1, 2], "a", one.pk), (None, [], "b", two.pk)],
    )
    told = JobForecast.objects.order_by("pk").values_list("ran_s", "inner", "version")
    assert list(told) == [(7, [1, 2], "a"), (None, [], "b"), (None, three.inner, three.version)]


def test_rows_are_deleted_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_update, "PORTION", 2)
    cluster = factories.make_cluster()
    for number in range(6):
        factories.make_forecast(cluster, str(number), submit=number)
    with CaptureQueriesContext(connection) as asked:
        assert delete_rows(JobForecast.objects.filter(submit__lt=3)) == 3
    assert sum(query["sql"].startswith("DELETE") for query in asked) == 2
    monkeypatch.setattr(bulk_update, "DELETING_S", 0.0)
    assert delete_rows(JobForecast.objects.all()) == 2, "the rest has its turn the next time"
    assert JobForecast.objects.count() == 1
