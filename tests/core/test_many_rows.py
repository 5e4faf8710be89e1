"""Many rows at a time: written in one statement, deleted in portions."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.core import many_rows
from console.core.many_rows import delete_rows, update_rows
from console.forecasts.models import JobForecast
from tests import factories

pytestmark = pytest.mark.django_db


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


def test_rows_are_deleted_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_rows, "AT_ONCE", 2)
    cluster = factories.make_cluster()
    for number in range(6):
        factories.make_forecast(cluster, str(number), submit=number)
    with CaptureQueriesContext(connection) as asked:
        assert delete_rows(JobForecast.objects.filter(submit__lt=3)) == 3
    assert sum(query["sql"].startswith("DELETE") for query in asked) == 2
    monkeypatch.setattr(many_rows, "DELETING_S", 0.0)
    assert delete_rows(JobForecast.objects.all()) == 2, "the rest has its turn the next time"
    assert JobForecast.objects.count() == 1
