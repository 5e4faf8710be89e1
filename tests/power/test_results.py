"""What a measurement tells by its token, over the API."""

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.core import clock
from console.power.measuring import measure
from console.power.models import Measurement, MeasurementState, Processor
from console.power.tokens import make_token
from tests.factories import make_administrator
from tests.factories import make_token as make_api_token
from tests.power.conftest import Site

AT = "/api/v1/measurements/"


@pytest.fixture
def running(site: Site) -> Measurement:
    """A measurement of two GPUs that has been submitted."""
    (row,) = measure(site.partition.cluster, site.bench)
    return row


def tell(row: Measurement, device: int, **said: Any) -> Any:
    body = {"token": make_token(row.pk), "device": device, **said}
    return APIClient().post(AT, body, format="json")


def test_it_goes_on_until_all_processors_are_told(running: Measurement) -> None:
    first = tell(running, 0, seconds=12.5, driver="535", firmware="")
    assert (first.status_code, first.json()) == (200, {"go_on": True})
    assert b'"go_on":true' in first.content, "what the script looks for"
    assert tell(running, 1, seconds=13).json() == {"go_on": False}
    running.refresh_from_db()
    assert running.state == MeasurementState.DONE
    assert list(Processor.objects.values_list("device", "figure", "driver")) == [
        (0, 12.5, "535"),
        (1, 13.0, ""),
    ]
    row = AuditEntry.objects.filter(action="power.measured").first()
    assert row is not None
    assert row.partition == "x"


def test_each_processor_is_told_of_once(running: Measurement) -> None:
    tell(running, 0, seconds=12.5)
    again = tell(running, 0, seconds=1)
    assert (again.status_code, Processor.objects.get().figure) == (409, 12.5)
    assert tell(running, 2, seconds=1).status_code == 409, "it has two"


@pytest.mark.parametrize("state", [MeasurementState.WITHDRAWN, MeasurementState.DONE, MeasurementState.ASKED])
def test_one_that_is_over_tells_nothing_any_more(running: Measurement, state: str) -> None:
    Measurement.objects.filter(pk=running.pk).update(state=state)
    assert tell(running, 0, seconds=12.5).status_code == 409
    assert not Processor.objects.exists()


def test_while_it_runs_it_asks_whether_to_go_on(running: Measurement) -> None:
    running.cluster.observed_at = clock.now()
    running.cluster.save()
    assert tell(running, 0, asks=True).json() == {"go_on": True}
    Measurement.objects.filter(pk=running.pk).update(state=MeasurementState.WITHDRAWN)
    assert tell(running, 0, asks=True).json() == {"go_on": False}
    assert not Processor.objects.exists()


@pytest.mark.parametrize("ago", [timedelta(seconds=61), None])
def test_it_does_not_where_there_are_no_cycles_to_see_who_waits(
    running: Measurement, ago: timedelta | None
) -> None:
    running.cluster.observed_at = clock.now() - ago if ago else None
    running.cluster.save()
    assert tell(running, 0, asks=True).json() == {"go_on": False}


def test_a_failure_ends_it_in_the_words_of_the_benchmark(running: Measurement) -> None:
    assert tell(running, 0, failed="exit code 1: no GPU").json() == {"go_on": False}
    running.refresh_from_db()
    assert (running.state, running.outcome) == (MeasurementState.FAILED, "exit code 1: no GPU")


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"asks": False},
        {"seconds": 3, "failed": "both"},
        {"seconds": 3, "asks": True},
        {"seconds": 0},
        {"seconds": -3},
        {"seconds": "fast"},
        {"seconds": 1e12},
    ],
)
def test_what_makes_no_sense_is_refused(running: Measurement, said: dict[str, Any]) -> None:
    assert tell(running, 0, **said).status_code == 400
    assert not Processor.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"figures": [], "reason": "None"},
        {"figures": [{"node": "n1", "resource": "gpu", "seconds": 3}]},
        {"figures": [{"node": "n9", "resource": "gpu", "seconds": 3}], "reason": "Elsewhere"},
        {"figures": [{"node": "n1", "resource": "gpu", "device": 32768, "seconds": 3}], "reason": "Far"},
    ],
)
def test_figures_from_elsewhere_are_refused_where_they_make_no_sense(
    site: Site, body: dict[str, Any]
) -> None:
    client = APIClient(HTTP_AUTHORIZATION=f"Token {make_api_token(make_administrator())}")
    assert client.post("/api/v1/partitions/x/power/", body, format="json").status_code == 400
    assert not Processor.objects.exists()


def test_a_forged_token_tells_nothing(running: Measurement) -> None:
    forged = make_token(running.pk)[:-3] + "abc"
    answer = APIClient().post(AT, {"token": forged, "device": 0, "seconds": 1}, format="json")
    assert answer.status_code == 400
    assert b"no measurement token of this console" in answer.content
    assert not Processor.objects.exists()
