"""The worked examples of document 000, as data (tests/vectors/patent-priority.json)."""

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Mode
from scheduler.preemption.planner import plan
from tests.builders import HOUR, anywhere, node, on_nodes, one_node, pending, running, snapshot

VECTORS = Path(__file__).parents[2] / "vectors" / "patent-priority.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))


def title(case: dict[str, Any]) -> str:
    return f"{case['source']} {case['name']}"


def outcome(case: dict[str, Any], *, on_one_node: bool) -> dict[str, Any]:
    """Per pending job: the victims, sorted, or the action where there are none."""

    def request(wants: dict[str, int]) -> Any:
        return one_node(per_node=wants) if on_one_node else anywhere(spread=wants)

    def levels(job: dict[str, Any]) -> dict[str, Any]:
        return {"user": job.get("user"), "task": job.get("task"), "of": job["of"]}

    jobs = [
        *(running(j["id"], {"n1": j["holds"]}, ran=j["hours"] * HOUR, **levels(j)) for j in case["running"]),
        *(pending(j["id"], request(j["wants"]), waited=j["waited"], **levels(j)) for j in case["pending"]),
    ]
    made = plan(snapshot(jobs, [node("n1", total=case["has"])], mode=Mode(case["mode"])))
    return {
        decision.job: sorted(victim.job for victim in decision.victims) or decision.action.value
        for decision in made.decisions
    }


@pytest.mark.parametrize("case", CASES, ids=title)
def test_the_documents_example_counts_processors_anywhere(case: dict[str, Any]) -> None:
    assert outcome(case, on_one_node=False) == case["expect"]


@pytest.mark.parametrize("case", CASES, ids=title)
def test_the_same_example_asked_for_on_one_node(case: dict[str, Any]) -> None:
    """With one node in the partition, counting by node must come to the same."""
    assert outcome(case, on_one_node=True) == case["expect"]


def test_every_example_of_the_document_is_there() -> None:
    assert [case["source"] for case in CASES] == [
        "¶77", "¶79", "¶81", "¶83", "¶98", "¶131", "¶176", "¶91", "¶92, ¶110", "¶92", "¶58", "¶186", "¶201",
    ]  # fmt: skip


def test_room_scattered_over_nodes_starts_no_job_that_needs_one_node() -> None:
    """Six CPUs on six nodes are of no use to a job that needs six on one: nobody is stopped for nothing."""
    scattered = [running(str(i), f"n{i}", 1, user=3) for i in range(1, 7)]
    urgent = pending("J", one_node(6), user=0)
    places = [node(f"n{i}", 1) for i in range(1, 7)]
    (decision,) = plan(snapshot([*scattered, urgent], [*places, node("n7", 6, up=False)])).decisions
    assert decision.action is DecisionKind.QUEUE
    (spread,) = plan(snapshot([*scattered, pending("J", anywhere(6), user=0)], places)).decisions
    assert len(spread.victims) == 6
    (several,) = plan(snapshot([*scattered, pending("J", on_nodes(6, 1), user=0)], places)).decisions
    assert len(several.victims) == 6
