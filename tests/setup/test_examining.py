"""The doctor on a page: pages ask in the database, the worker answers there."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from console.cluster.models import Cluster
from console.core import clock
from console.health.doctor.findings import Finding, fail, ok
from console.setup import examining
from console.setup.examining import examine_if_asked, is_examination_due
from console.setup.models import EXAMINED_EVERY, Examination
from console.setup.services import request_examination
from scheduler.model.sentence import Sentence
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return factories.make_cluster()


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> list[int]:
    """Counts the doctor's rounds; in the first one somebody asks again."""
    count: list[int] = []

    def examine() -> Iterator[Finding]:
        count.append(1)
        if len(count) == 1:
            request_examination(cluster)
        yield ok("worker", "doctor.worker.runs", n="1.0")
        yield fail("database", "doctor.database.away", said="postgres://u:secret@h/d is away")

    monkeypatch.setattr(examining, "examine", examine)
    return count


def test_it_is_examined_once_at_first_and_then_when_somebody_asks(
    cluster: Cluster, rounds: list[int]
) -> None:
    assert is_examination_due(cluster)
    assert examine_if_asked(cluster)
    row = Examination.objects.get()
    assert (row.worst, [each["level"] for each in row.findings]) == ("FAIL", ["OK", "FAIL"])
    assert row.findings[1]["what"]["code"] == "doctor.database.away"
    assert row.told[1]["fix"].startswith("Start it, and see")
    assert "secret" not in str(row.findings)
    assert row.waits, "somebody asked while it was examined"
    assert examine_if_asked(cluster)
    assert not is_examination_due(cluster)
    assert not examine_if_asked(cluster)
    assert len(rounds) == 2


def test_what_was_found_long_ago_is_looked_at_again(
    cluster: Cluster, rounds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a new installation it was said for ever that its audit log was not verified yet."""
    examine_if_asked(cluster)
    examine_if_asked(cluster)
    assert not is_examination_due(cluster)
    later = clock.now() + EXAMINED_EVERY + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert is_examination_due(cluster)
    assert examine_if_asked(cluster)
    assert len(rounds) == 3
    assert Examination.objects.get().examined_at == later


def test_the_real_doctor_is_stored(cluster: Cluster) -> None:
    examine_if_asked(cluster)
    row = Examination.objects.get()
    assert {"check", "level", "what", "fix"} == set(row.findings[0])
    assert all(isinstance(each["what"], Sentence) or each["check"] == "settings" for each in row.told)
    assert {"database", "worker"} <= {each["check"] for each in row.findings}
