"""Nodes that a person takes out of service through Giveway, and only these are put back by it."""

from scheduler.model.actions import OutcomeKind
from scheduler.model.jobs import JobState
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation
from tests.contract.harness import Harness, Work, start, state_of

REASON = "giveway: drain 7 by ann: n1 GPU 2 is 18 % slower"


def node_of(seen: Observation, name: str = "n1") -> SnapshotNode:
    return {node.name: node for node in seen.nodes}[name]


def test_a_drained_node_takes_no_jobs_says_why_and_comes_back(harness: Harness) -> None:
    job = start(harness, Work(only_nodes=("n1",)))
    assert harness.nodes.drain("n1", REASON).kind is OutcomeKind.DONE
    seen = harness.wait_until(lambda seen: not node_of(seen).up, "n1 drained")
    assert node_of(seen).state_reason.startswith(REASON)
    assert state_of(seen, job.id) is JobState.RUNNING, "who runs there goes on"
    assert harness.nodes.drain("n1", REASON).kind is OutcomeKind.ALREADY
    assert harness.nodes.put_back("n1", REASON).kind is OutcomeKind.DONE
    harness.wait_until(lambda seen: node_of(seen).up, "n1 back")
    assert harness.nodes.put_back("n1", REASON).kind is OutcomeKind.ALREADY


def test_what_somebody_else_has_drained_stays_as_it_is(harness: Harness) -> None:
    harness.drain("n1")
    refused = harness.nodes.drain("n1", REASON)
    assert (refused.kind, refused.detail) == (OutcomeKind.REFUSED, "maintenance")
    refused = harness.nodes.put_back("n1", REASON)
    assert (refused.kind, refused.detail) == (OutcomeKind.REFUSED, "maintenance")
    seen = harness.wait_until(lambda seen: not node_of(seen).up, "n1 drained")
    assert node_of(seen).state_reason.startswith("maintenance")


def test_it_may_be_drained_again_for_another_reason(harness: Harness) -> None:
    harness.nodes.drain("n1", REASON)
    harness.nodes.put_back("n1", REASON)
    assert harness.nodes.drain("n1", REASON.replace("7", "8")).kind is OutcomeKind.DONE
    assert harness.nodes.put_back("n1", REASON).kind is OutcomeKind.REFUSED
    assert harness.nodes.put_back("n1", REASON.replace("7", "8")).kind is OutcomeKind.DONE


def test_there_is_no_such_node(harness: Harness) -> None:
    assert harness.nodes.drain("n77", REASON).kind is OutcomeKind.GONE
    assert harness.nodes.put_back("n77", REASON).kind is OutcomeKind.GONE


def test_without_an_answer_nobody_knows(harness: Harness) -> None:
    # Slurm keeps the reason of a drain that is over.
    before = node_of(harness.wait_until(lambda seen: node_of(seen).up, "n1 takes jobs"))
    with harness.down():
        assert harness.nodes.drain("n1", REASON).kind is OutcomeKind.UNKNOWN
    seen = harness.wait_until(lambda seen: node_of(seen).up, "n1 as it was")
    assert node_of(seen).state_reason == before.state_reason
