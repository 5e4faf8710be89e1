"""Contract: a cluster that cannot be reached is said to be so, and nothing is changed."""

import pytest

from scheduler.model.actions import ActionKind, OutcomeKind
from scheduler.model.jobs import JobState
from scheduler.ports import ClusterUnavailableError
from tests.contract.harness import Harness, Work, apply_to, find, start


def test_an_unreachable_cluster_cannot_be_observed_or_described(harness: Harness) -> None:
    job = start(harness, Work())

    with harness.down():
        with pytest.raises(ClusterUnavailableError) as observing:
            harness.cluster.observe()
        with pytest.raises(ClusterUnavailableError):
            harness.cluster.describe()

    words = str(observing.value)
    assert words
    assert "\n" not in words
    seen = harness.wait_until(lambda seen: not seen.faults, "the cluster back")
    assert find(seen, job.id).run == job.run


def test_what_was_asked_of_an_unreachable_cluster_is_unknown_and_not_done(harness: Harness) -> None:
    jobs = [start(harness, Work(name=f"work-{number}")) for number in (1, 2)]

    with harness.down():
        outcomes = apply_to(harness, ActionKind.REQUEUE_HOLD, *jobs)

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.UNKNOWN, OutcomeKind.UNKNOWN]
    assert all(outcome.detail for outcome in outcomes)
    seen = harness.wait_until(lambda seen: not seen.faults, "the cluster back")
    for job in jobs:
        after = find(seen, job.id)
        assert (after.state, after.run) == (JobState.RUNNING, job.run)
