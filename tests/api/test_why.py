"""`jobs/{job_id}/why/`: the page's answer for programs."""

from datetime import timedelta

from rest_framework.test import APIClient

from console.cluster.models import Job
from console.core import clock
from console.steering.models import Checkpoint, Plan, PlannedAction
from tests import factories
from tests.api.conftest import House
from tests.factories import EPOCH, NOW


def test_a_job_that_is_about_to_be_stopped(house: House, ada: APIClient) -> None:
    until = (clock.now() + timedelta(seconds=30)).replace(microsecond=0)
    PlannedAction.objects.update(not_before=until)
    told = ada.get("/api/v1/jobs/88/why/").json()
    assert (told["job_id"], told["user"], told["state"], told["plan"]) == (
        "88",
        "bob",
        "running",
        house.plan.pk,
    )
    assert told["headline"] == "It is about to be stopped, to make room for 101 (ann)."
    assert told["comes_back"] == {
        "stage": "stopping",
        "text": "Its time to save its state ends",
        "at": f"{until:%Y-%m-%dT%H:%M:%SZ}",
    }
    stop = {
        "plan": house.plan.pk,
        "job_id": "101",
        "user": "ann",
        "at": None,
        "stage": "stopping",
        "saved": "",
    }
    assert told["stopped_by"] == [stop]
    assert (told["stops"], told["most_stops"]) == (0, 3)
    assert house.plan.explain in told["lines"]
    assert any(line.startswith("Its time to save its state ends (") for line in told["lines"])
    texts = [line["text"] for part in told["parts"] for line in part["lines"]]
    assert len(texts) + len(told["parts"]) - 1 == len(told["lines"])


def test_a_stopped_job_that_saved_its_state_and_is_held(house: House, ada: APIClient) -> None:
    PlannedAction.objects.update(state="verified", issued_at=NOW)
    Job.objects.filter(job_id="88").update(phase="pending", held=True, start=0, restarts=1, alloc={})
    Checkpoint.objects.create(
        plan=house.plan, cluster=house.cluster, job_id="88", run_start=EPOCH - 300, run_restarts=0, user="bob",
        asked_at=NOW, acknowledged_at=NOW, via="comment", saved="epoch=10",
    )  # fmt: skip
    told = ada.get("/api/v1/jobs/88/why/").json()
    assert told["state"] == "held"
    assert told["comes_back"]["stage"] == "held"
    assert told["stopped_by"][0] | {"plan": 0} == {
        "plan": 0,
        "job_id": "101",
        "user": "ann",
        "at": "2026-03-02T12:00:00Z",
        "stage": "held",
        "saved": "epoch=10",
    }


def test_it_answers_for_what_the_cluster_has_forgotten(house: House, ada: APIClient) -> None:
    Job.objects.all().delete()
    told = ada.get("/api/v1/jobs/88/why/").json()
    assert (told["state"], told["partitions"]) == ("forgotten", ["x"])
    assert "about to be stopped" in told["headline"]
    assert Plan.objects.count() == 1


def test_no_such_job_and_the_number_of_an_array(house: House, ada: APIClient) -> None:
    for task in ("41_1", "41_2", "41_10"):
        factories.make_job(house.cluster, task)
    missing = ada.get("/api/v1/jobs/999/why/")
    assert (missing.status_code, missing.json()["error"]["message"]) == (404, "Giveway knows no such job.")
    array = ada.get("/api/v1/jobs/41/why/").json()["error"]["message"]
    assert array == "41 is a job array; ask about one of its tasks: 41_1, 41_2, 41_10."
    assert ada.get("/api/v1/jobs/41_2/why/").json()["job_id"] == "41_2"


def test_text_of_the_cluster_is_printable(house: House, ada: APIClient) -> None:
    hostile = "\x1b]0;owned\x07\r\nFrom: root"
    Job.objects.update(user=hostile, slurm_reason=hostile, explain=hostile, project=hostile)
    Plan.objects.update(user=hostile, explain=hostile)
    told = ada.get("/api/v1/jobs/88/why/").json()
    assert all(text.isprintable() for text in [told["headline"], *told["lines"]])
