"""A job tells that it has saved its state: with its own token or through its user's account, and nobody else's."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import signing
from rest_framework.test import APIClient

from console.api.jobs import PerJobThrottle
from console.audit.models import AuditEntry
from console.cluster.models import Job
from console.steering.checkpoints import LIFETIME, SALT
from console.steering.models import Checkpoint
from tests import factories
from tests.api.conftest import House
from tests.factories import EPOCH, NOW

ACKNOWLEDGE = "/api/v1/checkpoints/"


@pytest.fixture
def asked(house: House) -> Checkpoint:
    """88, bob's victim, has been asked to save its state."""
    return Checkpoint.objects.create(
        plan=house.plan,
        cluster=house.cluster,
        job_id="88",
        run_start=EPOCH - 300,
        run_restarts=0,
        user="bob",
        asked_at=NOW,
    )


@pytest.fixture
def bob(house: House) -> APIClient:
    """The victim's user, whose account here has another name."""
    person = factories.make_user("robert", cluster_user="bob")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {factories.make_token(person)}")
    return client


def token_of(client: APIClient, job: str = "88") -> str:
    response = client.post(f"/api/v1/jobs/{job}/checkpoint-token/")
    assert response.status_code == 200, response.content
    token: str = response.json()["token"]
    return token


def tell(body: dict[str, Any], client: APIClient | None = None) -> Any:
    return (client or APIClient()).post(ACKNOWLEDGE, body)


def error_of(response: Any) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["message"]


def test_a_job_acknowledges_with_its_token_without_signing_in(asked: Checkpoint, bob: APIClient) -> None:
    response = tell({"token": token_of(bob), "saved": "epoch=10"})

    assert response.status_code == 200
    assert (response.json()["via"], response.json()["saved"]) == ("api", "epoch=10")
    asked.refresh_from_db()
    assert asked.acknowledged_at and asked.saved == "epoch=10"
    told = AuditEntry.objects.get(action="checkpoint.acknowledged")
    assert (told.actor, told.job_id, told.plan) == ("bob", "88", asked.plan_id)
    assert told.request_id


def test_its_signed_in_user_may_acknowledge_too(asked: Checkpoint, bob: APIClient) -> None:
    assert tell({"job_id": "88", "saved": "epoch=10"}, bob).status_code == 200
    assert AuditEntry.objects.get(action="checkpoint.acknowledged").actor == "robert"


@pytest.mark.parametrize("role", ["vera", "dave", "otto", "ada"])
def test_nobody_else_may(asked: Checkpoint, as_person: Callable[[str], APIClient], role: str) -> None:
    client = as_person(role)
    assert tell({"job_id": "88"}, client).status_code == 403
    assert client.post("/api/v1/jobs/88/checkpoint-token/").status_code == 403
    asked.refresh_from_db()
    assert asked.acknowledged_at is None


def test_the_first_acknowledgement_counts_and_repeating_it_is_harmless(
    asked: Checkpoint, bob: APIClient
) -> None:
    token = token_of(bob)
    first, again = (tell({"token": token, "saved": saved}) for saved in ("epoch=10", "epoch=11"))

    assert first.json() == again.json()
    assert again.json()["saved"] == "epoch=10"
    assert AuditEntry.objects.filter(action="checkpoint.acknowledged").count() == 1


def test_a_job_that_was_not_asked_is_told_so(house: House, bob: APIClient) -> None:
    assert error_of(tell({"token": token_of(bob)})) == (
        409,
        "no_checkpoint_asked",
        "No checkpoint is asked of job 88.",
    )


def test_a_checkpoint_from_which_the_job_has_resumed_is_over(asked: Checkpoint, bob: APIClient) -> None:
    token = token_of(bob)
    Checkpoint.objects.update(resumed_at=NOW, resumed_restarts=1)
    assert error_of(tell({"token": token}))[:2] == (409, "no_checkpoint_asked")


def test_the_token_of_another_job_is_refused(asked: Checkpoint, bob: APIClient, house: House) -> None:
    factories.make_running_job(house.cluster, "89", user="bob")
    status, _, message = error_of(tell({"token": token_of(bob, "89"), "job_id": "88"}))
    assert (status, "token of job 89, not of 88" in message) == (400, True)
    assert error_of(tell({"token": token_of(bob, "89")}))[1] == "no_checkpoint_asked"
    asked.refresh_from_db()
    assert asked.acknowledged_at is None


@pytest.mark.parametrize(
    "changed", [{"submit": EPOCH + 900}, {"user": "eve"}, {"submit": EPOCH - 9999, "restarts": 1}]
)
def test_a_later_job_with_the_same_id_is_another_job(
    asked: Checkpoint, bob: APIClient, changed: dict[str, Any]
) -> None:
    token = token_of(bob)
    Job.objects.filter(job_id="88").update(**changed)
    assert "an earlier job" in error_of(tell({"token": token}))[2]


def test_a_token_outlives_the_requeues_of_its_job(asked: Checkpoint, bob: APIClient) -> None:
    """A requeue is a new submission to Slurm."""
    token = token_of(bob)
    Job.objects.filter(job_id="88").update(restarts=2, submit=EPOCH + 5000)
    assert tell({"token": token}).status_code == 200


def test_a_token_is_good_for_thirty_days(
    asked: Checkpoint, bob: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = token_of(bob)
    then = time.time() + (LIFETIME + timedelta(seconds=2)).total_seconds()
    monkeypatch.setattr("django.core.signing.time.time", lambda: then)
    assert "has run out" in error_of(tell({"token": token}))[2]


@pytest.mark.parametrize("forge", [lambda token: token[:-2] + "xx", lambda token: "nonsense", lambda _: ""])
def test_a_forged_token_is_refused(asked: Checkpoint, bob: APIClient, forge: Callable[[str], str]) -> None:
    assert error_of(tell({"token": forge(token_of(bob))}))[0] == 400


def test_what_the_console_signs_for_other_ends_is_no_checkpoint_token(asked: Checkpoint) -> None:
    says = {"cluster": "dev", "job": "88", "user": "bob", "submit": EPOCH, "restarts": 0}
    assert error_of(tell({"token": signing.dumps(says, salt="else")}))[0] == 400
    assert tell({"token": signing.dumps({"job": "88"}, salt=SALT)}).status_code == 400


def test_a_token_is_good_for_nothing_else(asked: Checkpoint, bob: APIClient) -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token_of(bob)}")
    assert client.get("/api/v1/jobs/88/").status_code == 401


def test_too_long_words_are_refused_and_hostile_ones_cleaned(asked: Checkpoint, bob: APIClient) -> None:
    token = token_of(bob)
    assert set(tell({"token": token, "saved": "x" * 201}).json()["error"]["fields"]) == {"saved"}
    assert tell({"token": token, "saved": "<b>\x1b[31m\nepoch"}).json()["saved"] == "<b> [31m epoch"


def test_nobody_signed_in_and_no_token_is_unauthorised(asked: Checkpoint, bob: APIClient) -> None:
    assert tell({"job_id": "88"}).status_code == 401
    assert error_of(tell({}, bob))[0] == 400
    assert tell({"job_id": "4711"}, bob).status_code == 404


def test_a_job_that_has_ended_gets_no_token(house: House, bob: APIClient) -> None:
    Job.objects.filter(job_id="88").update(phase="ended")
    assert error_of(bob.post("/api/v1/jobs/88/checkpoint-token/"))[:2] == (409, "job_ended")


def test_tries_are_counted_per_job_and_guesses_per_address(
    asked: Checkpoint, bob: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PerJobThrottle, "THROTTLE_RATES", {"checkpoint": "2/min"})
    token = token_of(bob)
    assert [tell({"token": "guess"}).status_code for _ in range(3)] == [400, 400, 429]
    assert [tell({"token": token}).status_code for _ in range(3)] == [200, 200, 429]
    assert int(tell({"token": token})["Retry-After"]) > 0


def test_a_plan_tells_what_its_victims_saved(house: House, ada: APIClient) -> None:
    Checkpoint.objects.create(
        plan=house.plan, cluster=house.cluster, job_id="88", run_start=EPOCH - 300, run_restarts=0,
        user="bob", asked_at=NOW, acknowledged_at=NOW, via="api", saved="epoch=10",
    )  # fmt: skip
    (told,) = ada.get(f"/api/v1/plans/{house.plan.pk}/").json()["checkpoints"]
    assert (told["job_id"], told["via"], told["saved"], told["resumed_at"]) == ("88", "api", "epoch=10", None)
