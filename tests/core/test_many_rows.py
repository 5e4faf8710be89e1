"""Many rows are deleted in portions: who writes meanwhile waits for one of them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.cluster.connect import configured_cluster
from console.core import clock, many_rows
from console.core.many_rows import delete_rows
from console.steering.models import Cycle

pytestmark = pytest.mark.django_db


def test_all_of_them_go_and_no_other_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, now, pauses = configured_cluster(), clock.now(), list[float]()
    monkeypatch.setattr(many_rows, "PORTION", 3)
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
    assert pauses == [many_rows.PAUSE_S] * 2, "others have their turn between two of them"


def test_nothing_to_delete_is_one_question() -> None:
    with CaptureQueriesContext(connection) as asked:
        assert delete_rows(Cycle.objects.filter(number__lte=7)) == 0
    assert len(asked) == 1
