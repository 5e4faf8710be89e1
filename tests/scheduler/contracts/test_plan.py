"""Contract A, the output."""

import json

from scheduler.contracts.plan import encode_plan
from scheduler.model.plan import DecidedVictim, Decision, DecisionKind, How, PlanningResult
from scheduler.model.reasons import Reason
from scheduler.preemption.planner import plan
from tests.builders import NOW, ending, one_node, pending, running, snapshot


def test_every_kind_of_decision_has_the_keys_of_the_contract() -> None:
    jobs = [
        running("101", cpu=6, user=2),
        ending("103", cpu=2),
        pending("102", one_node(5), user=1),
        pending("104", one_node(2), user=2),
        pending("105", one_node(1), user=3),
        pending("106", one_node(1), user=4),
    ]
    document = encode_plan(plan(snapshot(jobs)))
    assert document["schema"] == "giveway.plan/1"
    shapes = [(d["job"], d["action"], sorted(d)) for d in document["decisions"]]
    made = ["action", "explain", "job", "nodes", "reason"]
    assert shapes == [
        ("102", "preempt", sorted([*made, "victims"])),
        ("104", "start", made),
        ("105", "start", made),
        ("106", "queue", ["action", "explain", "job", "reason"]),
    ]
    assert document["decisions"][0]["victims"] == [{"job": "101", "how": "requeue"}]
    assert document["decisions"][0]["nodes"] == ["n1"]
    json.dumps(document)


def test_waiting_says_until_when() -> None:
    document = encode_plan(plan(snapshot([ending("103", cpu=8), pending("102", one_node(5), user=1)])))
    (decision,) = document["decisions"]
    assert decision["action"] == "wait"
    assert decision["at"] == NOW
    assert decision["nodes"] == ["n1"]


def test_a_cancelled_victim_says_so() -> None:
    made = PlanningResult(
        "x",
        (
            Decision(
                "1",
                DecisionKind.PREEMPT,
                Reason.LOWER_USER,
                "…",
                nodes=("n1",),
                victims=(DecidedVictim("2", How.CANCEL),),
            ),
        ),
    )
    assert encode_plan(made)["decisions"][0]["victims"] == [{"job": "2", "how": "cancel"}]


def test_no_pending_jobs_no_decisions() -> None:
    assert encode_plan(plan(snapshot([running("1")]))) == {"schema": "giveway.plan/1", "decisions": []}
