"""Incidents over the API: listed, filtered, closed with a reason by who may; and the fates of a plan's victims."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from console.steering.models import Fate, Incident, Victim
from tests.api.conftest import House


@pytest.fixture
def incident(house: House) -> Incident:
    """Job 88 of bob was stopped by the house's plan, and is lost."""
    now = timezone.now()
    victim = Victim.objects.create(
        plan=house.plan, cluster=house.cluster, job_id="88", run_start=100, run_restarts=2, user="bob",
        fate=Fate.LOST, words="It is gone.", sent_at=now,
    )  # fmt: skip
    return Incident.objects.create(
        cluster=house.cluster, partition="x", victim=victim, kind="gone", job_id="88", user="bob",
        plan=house.plan.pk, beneficiary=house.plan.job_id, words="It is gone.", opened_at=now,
    )  # fmt: skip


def test_an_incident_names_the_run_the_plan_and_whom_it_was_for(incident: Incident, ada: APIClient) -> None:
    told = ada.get(f"/api/v1/incidents/{incident.pk}/").json()
    assert (told["job_id"], told["run_restarts"], told["kind"]) == ("88", 2, "gone")
    assert (told["plan"], told["beneficiary"], told["closed_at"]) == (
        incident.plan,
        incident.beneficiary,
        None,
    )


@pytest.mark.parametrize(
    ("query", "count"),
    [("open=true", 1), ("open=false", 0), ("partition=y", 0), ("job_id=88&kind=gone", 1), ("user=ann", 0)],
)
def test_the_list_is_filtered(incident: Incident, ada: APIClient, query: str, count: int) -> None:
    assert len(ada.get(f"/api/v1/incidents/?{query}").json()["results"]) == count


def test_closing_needs_a_reason_and_the_right(
    incident: Incident, as_person: Callable[[str], APIClient]
) -> None:
    address = f"/api/v1/incidents/{incident.pk}/close/"
    assert as_person("dave").post(address, {}).status_code == 400
    assert [as_person(who).post(address, {"reason": "seen"}).status_code for who in ("vera", "otto")] == [
        403,
        403,
    ]
    misspelt = as_person("dave").post(address, {"reason": "n1 had a broken fan", "raeson": "n1"})
    assert misspelt.status_code == 400 and set(misspelt.json()["error"]["fields"]) == {"raeson"}
    closed = as_person("dave").post(address, {"reason": "n1 had a broken fan"})
    assert closed.status_code == 200
    assert (closed.json()["closed_by"], closed.json()["close_reason"]) == ("dave", "n1 had a broken fan")
    again = as_person("ada").post(address, {"reason": "late"})
    assert again.json()["close_reason"] == "n1 had a broken fan"


def test_a_plan_tells_the_fate_of_each_victim(incident: Incident, house: House, ada: APIClient) -> None:
    fates = ada.get(f"/api/v1/plans/{house.plan.pk}/").json()["fates"]
    assert [(row["job_id"], row["fate"], row["words"]) for row in fates] == [("88", "lost", "It is gone.")]
