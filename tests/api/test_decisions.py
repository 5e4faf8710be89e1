"""Approving and rejecting over the API, and what enforcing would have done."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.steering.models import Plan, PlannedAction
from tests import factories
from tests.api.conftest import House
from tests.factories import EPOCH

VICTIM = {
    "job": "88",
    "name": "p2_train",
    "user": "bob",
    "how": "requeue",
    "start": EPOCH - 300,
    "restarts": 0,
    "user_level": "P1",
    "task_level": "unconfigured",
    "resources": "2 gpu, 4 cpu",
    "amounts": {"gpu": 2, "cpu": 4},
    "ran_s": 1800,
}


@pytest.fixture
def asked(house: House) -> Plan:
    """A plan of x that waits for dave, seen a moment ago."""
    house.plan.actions.all().delete()
    house.plan.delete()
    revision = factories.make_revision(house.x, 2, enforcement="approve")
    house.x.revision = revision
    house.x.save()
    # Ahead: on a busy machine a command takes longer than the seconds for which a look at the cluster is fresh.
    house.cluster.observed_at = timezone.now() + timedelta(minutes=10)
    house.cluster.save()
    return factories.make_plan(
        factories.make_cycle(house.cluster, 8),
        enforcement="approve",
        policy_revision=2,
        victims=[VICTIM],
        created_at=timezone.now() - timedelta(minutes=30),
        passed_over=[{"job": "77", "reason": "equal_or_higher"}],
        alternatives=[
            {
                "kind": "wait",
                "possible": True,
                "starts_at": EPOCH,
                "victims": [],
                "nodes": [],
                "explain": "",
            },
            {"kind": "spare", "possible": False, "victims": [], "nodes": [], "explain": "Nothing else."},
        ],
    )


def decide(client: APIClient, plan: Plan, decision: str = "approve", **changes: Any) -> Any:
    path = f"/api/v1/plans/{plan.pk}/decision/"
    seen = client.get(path).json()["seen"]
    return client.post(path, {"decision": decision, "seen": seen, "reason": "Deadline.", **changes})


def test_the_question_says_what_it_costs(asked: Plan, as_person: Callable[[str], APIClient]) -> None:
    question = as_person("vera").get(f"/api/v1/plans/{asked.pk}/decision/").json()

    assert question["asked"] is True
    assert question["changes"] == []
    # Half an hour when the plan was made, and half an hour of waiting.
    assert (round(question["work_lost"]["gpu_hours"], 1), round(question["work_lost"]["cpu_hours"], 1)) == (
        2.0,
        4.0,
    )
    assert question["consequence"] == (
        "Stops 1 job of bob, loses 2 GPU-hours and 4 CPU-hours and starts 101 (ann) on n1."
    )
    assert (question["stops"], question["shrinks"]) == (1, 0)


def test_a_worker_that_is_given_up_is_no_stop(asked: Plan, as_person: Callable[[str], APIClient]) -> None:
    Plan.objects.filter(pk=asked.pk).update(victims=[VICTIM, {**VICTIM, "job": "41_3", "worker_of": "41"}])
    vera = as_person("vera")
    question = vera.get(f"/api/v1/plans/{asked.pk}/decision/").json()
    assert (question["stops"], question["shrinks"]) == (1, 1)
    assert question["consequence"].startswith("Stops 1 job of bob, takes 1 worker of bob, loses ")
    told = vera.get(f"/api/v1/plans/{asked.pk}/").json()["victims"]
    assert [each.get("worker_of") for each in told] == [None, "41"]


def test_the_plan_tells_what_else_there_was(asked: Plan, ada: APIClient) -> None:
    plan = ada.get(f"/api/v1/plans/{asked.pk}/").json()

    assert plan["passed_over"] == [{"job": "77", "reason": "equal_or_higher"}]
    assert [(each["kind"], each["possible"]) for each in plan["alternatives"]] == [
        ("wait", True),
        ("spare", False),
    ]
    assert plan["alternatives"][0]["starts_at"] == "2026-03-02T12:00:00Z"
    assert plan["work_lost"]["words"] == "2 GPU-hours and 4 CPU-hours"


def test_its_administrator_approves(asked: Plan, as_person: Callable[[str], APIClient]) -> None:
    answer = decide(as_person("dave"), asked)

    assert answer.status_code == 200
    plan = answer.json()
    assert (plan["state"], plan["decided_by"], plan["decision_reason"]) == ("approved", "dave", "Deadline.")
    assert plan["decided_at"]
    assert [action["kind"] for action in plan["actions"]] == [
        "prioritise",
        "signal",
        "requeue_hold",
        "release",
    ]
    entry = AuditEntry.objects.get(action="plan.approved")
    assert (entry.actor, entry.reason, entry.request_id) == ("dave", "Deadline.", answer["X-Request-ID"])


def test_twice_is_once_and_a_second_person_comes_too_late(
    asked: Plan, as_person: Callable[[str], APIClient]
) -> None:
    assert decide(as_person("dave"), asked).status_code == 200
    assert decide(as_person("dave"), asked).status_code == 200
    late = decide(as_person("ada"), asked, "reject")

    assert (late.status_code, late.json()["error"]["code"]) == (409, "changed_since")
    assert late.json()["error"]["message"] == f"Plan {asked.pk} is out of date. dave approved it."
    assert AuditEntry.objects.filter(action="plan.approved").count() == 1
    assert PlannedAction.objects.filter(kind="requeue_hold").count() == 1


def test_rejecting(asked: Plan, as_person: Callable[[str], APIClient]) -> None:
    answer = decide(as_person("dave"), asked, "reject", reason="Bob is nearly done.")

    assert (answer.status_code, answer.json()["state"]) == (200, "rejected")
    assert answer.json()["outcome"] == "dave rejected it: Bob is nearly done."
    assert not PlannedAction.objects.exists()


def test_what_changed_is_the_message(
    asked: Plan, house: House, as_person: Callable[[str], APIClient]
) -> None:
    house.cluster.jobs.filter(job_id="88").update(phase="ended")
    dave = as_person("dave")

    assert dave.get(f"/api/v1/plans/{asked.pk}/decision/").json()["changes"] == ["88 (bob) no longer runs."]
    refused = decide(dave, asked)
    assert refused.status_code == 409
    assert "88 (bob) no longer runs." in refused.json()["error"]["message"]
    asked.refresh_from_db()
    assert asked.state == "proposed"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": " "}, "reason"),
        ({"decision": "perhaps"}, "decision"),
        ({"seen": ""}, "seen"),
    ],
)
def test_a_wrong_answer_is_told_at_its_field(
    asked: Plan, ada: APIClient, body: dict[str, str], field: str
) -> None:
    refused = decide(ada, asked, **body)
    assert refused.status_code == 400
    assert set(refused.json()["error"]["fields"]) == {field}


def test_another_mark_is_another_plan(asked: Plan, ada: APIClient) -> None:
    assert decide(ada, asked, seen="0" * 16).status_code == 409


def test_only_who_administers_the_plans_own_partition_decides(
    asked: Plan, as_person: Callable[[str], APIClient]
) -> None:
    Plan.objects.filter(pk=asked.pk).update(partition="y")
    assert decide(as_person("dave"), asked).status_code == 403


def test_a_plan_that_is_not_there(ada: APIClient) -> None:
    path = "/api/v1/plans/999999/decision/"
    assert ada.get(path).status_code == ada.post(path, {}).status_code == 404


# --- A request that stands ----------------------------------------------------------------------------------------


def test_what_changed_is_told_version_by_version(asked: Plan, ada: APIClient) -> None:
    factories.renew_plan(asked, [{**VICTIM, "job": "90", "user": "carol"}], "88")
    plan = ada.get(f"/api/v1/plans/{asked.pk}/").json()
    question = ada.get(f"/api/v1/plans/{asked.pk}/decision/").json()

    changes = ["88 (bob) has ended.", "90 (carol) is stopped instead."]
    assert plan["since_opened"][:2] == question["since_opened"][:2] == changes
    assert (plan["version"], question["version"], plan["not_now"], plan["chosen"]) == (2, 2, "", "")
    assert [(each["number"], each["ended"]) for each in plan["versions"]] == [(1, []), (2, ["88"])]
    assert [each["victims"][0]["job"] for each in plan["versions"]] == ["88", "90"]


def test_what_costs_more_than_what_was_read_is_refused_with_the_difference(
    asked: Plan, house: House, ada: APIClient
) -> None:
    factories.make_running_job(house.cluster, "90")
    seen = ada.get(f"/api/v1/plans/{asked.pk}/decision/").json()["seen"]
    factories.renew_plan(asked, [VICTIM, {**VICTIM, "job": "90"}])

    refused = decide(ada, asked, seen=seen)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "changed_since")
    assert "90 (bob) is stopped as well." in refused.json()["error"]["message"]
    assert decide(ada, asked).json()["state"] == "approved"


def test_a_request_says_why_it_cannot_be_approved_now(asked: Plan, ada: APIClient) -> None:
    why = "101 (ann, P0) may not start yet: it is held by its user."
    Plan.objects.filter(pk=asked.pk).update(not_now=why)
    question = ada.get(f"/api/v1/plans/{asked.pk}/decision/").json()
    assert (question["asked"], question["not_now"], question["changes"]) == (True, why, [why])
    assert why in decide(ada, asked).json()["error"]["message"]
    assert decide(ada, asked, "reject").json()["state"] == "rejected"


def test_an_alternative_is_approved_instead(asked: Plan, house: House, ada: APIClient) -> None:
    factories.make_running_job(house.cluster, "90")
    spare = {
        "kind": "spare",
        "possible": True,
        "nodes": ["n2"],
        "explain": "",
        "placement": {"n2": {"cpu": 4}},
    }
    asked.alternatives = [{**spare, "victims": [{**VICTIM, "job": "90"}]}, *asked.alternatives]
    asked.save()
    marks = [each["instead"] for each in ada.get(f"/api/v1/plans/{asked.pk}/").json()["alternatives"]]
    assert marks[1:] == ["", ""]

    assert decide(ada, asked, instead="0" * 16).status_code == 409
    plan = decide(ada, asked, instead=marks[0]).json()
    assert (plan["state"], plan["chosen"], plan["victims"][0]["job"]) == ("approved", "spare", "90")


def test_tasks_of_one_array_are_one_question(asked: Plan, house: House, ada: APIClient) -> None:
    other = factories.make_plan(
        asked.cycle, "101_1", enforcement="approve", policy_revision=2, victims=[{**VICTIM, "job": "90"}]
    )
    Plan.objects.filter(pk=asked.pk).update(job_id="101_0")
    question = ada.get(f"/api/v1/plans/{other.pk}/decision/").json()
    assert question["plans"] == [asked.pk, other.pk]
    assert "Stops 2 jobs of bob" in question["consequence"]
    assert decide(ada, other, "reject").json()["id"] == asked.pk
    assert set(Plan.objects.values_list("state", flat=True)) == {"rejected"}


# --- The tally ---------------------------------------------------------------------------------------------------


def test_the_tally_of_shadow(asked: Plan, house: House, ada: APIClient) -> None:
    house.x.revisions.update(created_at=timezone.now() - timedelta(days=3))
    Plan.objects.filter(pk=asked.pk).update(enforcement="shadow", created_at=timezone.now())

    tally = ada.get("/api/v1/partitions/x/tally/?days=7").json()

    work = {"gpu_hours": 1.0, "npu_hours": 0.0, "cpu_hours": 2.0, "words": "1 GPU-hour and 2 CPU-hours"}
    assert (tally["partition"], tally["jobs"], tally["stops"], tally["work_lost"]) == ("x", 1, 1, work)
    none = {"gpu_hours": 0.0, "npu_hours": 0.0, "cpu_hours": 0.0, "words": tally["work_kept"]["words"]}
    (day,) = tally["days"]
    assert day == {
        "day": timezone.localdate().isoformat(), "jobs": 1, "stops": 1, "shrinks": 0, "work_lost": work,
        "work_kept": none,
    }  # fmt: skip
    assert [each["user"] for each in tally["beneficiaries"]] == ["ann"]
    assert [(each["user"], each["stops"]) for each in tally["victims"]] == [("bob", 1)]
    assert ada.get("/api/v1/partitions/y/tally/").json()["jobs"] == 0


@pytest.mark.parametrize("days", ["0", "-1", "x", "366", "1e3", "9" * 40, "²", ""])
def test_nonsense_of_days_is_refused(house: House, ada: APIClient, days: str) -> None:
    refused = ada.get("/api/v1/partitions/x/tally/", {"days": days})
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"days"})


def test_no_tally_of_a_partition_that_is_not_there(house: House, ada: APIClient) -> None:
    assert ada.get("/api/v1/partitions/nowhere/tally/").status_code == 404
