"""Contract: a quick look tells of jobs as they are now, and of what Giveway itself has changed; a whole one of all."""

from scheduler.model.actions import Action, ActionKind, OutcomeKind, keep_value
from tests.contract.harness import Harness, Work, fill, find, start, wait_pending

LONG_S = 300


def test_jobs_are_as_they_are_now(harness: Harness) -> None:
    harness.cluster.observe()
    running = start(harness, Work())
    before = harness.cluster.observe()
    job = harness.submit(Work())
    seen = harness.cluster.observe(quick=True)
    assert job in seen.jobs_by_id and find(seen, running.id).run == running.run
    assert [node.name for node in seen.nodes] == [node.name for node in before.nodes]


def test_a_whole_look_after_it_tells_of_nodes_as_they_are_now(harness: Harness) -> None:
    harness.cluster.observe()
    harness.drain("n1")
    quick = harness.cluster.observe(quick=True)
    seen = harness.cluster.observe()
    assert [node.name for node in seen.nodes if not node.up] == ["n1"]
    assert not seen.is_quick
    assert quick.is_quick or not quick.nodes[0].up, "one that may be older says so"


def test_what_giveway_has_kept_is_seen_at_once(harness: Harness) -> None:
    fill(harness, "n1", "n2", "n3", "n4")
    job = wait_pending(harness, Work("ann", "large", nodes=2, cpus=1))
    until = harness.cluster.observe().taken_at + LONG_S
    [outcome] = harness.cluster.apply(
        [Action(ActionKind.KEEP, job.run, value=keep_value(until, ("n1", "n2")))]
    )
    assert outcome.kind is OutcomeKind.DONE
    assert [kept.job_id for kept in harness.cluster.observe(quick=True).kept] == [job.id]
