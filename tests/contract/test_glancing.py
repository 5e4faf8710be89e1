"""Contract: two glances differ when somebody has come or something was changed, and are the same when nothing was."""

import pytest

from scheduler.model.jobs import JobState
from scheduler.ports import ClusterUnavailableError
from tests.contract.harness import Harness, Work, fill, start, wait_for, wait_pending

WHOLE = Work(partitions=("x",), cpus=8)


def test_nothing_moves_while_nothing_happens_however_often_it_is_looked_at(harness: Harness) -> None:
    start(harness, Work())
    before = harness.cluster.glance()
    harness.cluster.observe()
    harness.cluster.describe()
    assert harness.cluster.glance().same(before)


def test_a_submission_is_told_apart_from_what_else_moves(harness: Harness) -> None:
    filler = fill(harness, "n1")["n1"]
    before = harness.cluster.glance()
    job = wait_pending(harness, WHOLE)
    came = harness.cluster.glance()
    assert came.submitted != before.submitted

    harness.cancel(filler.id)
    wait_for(harness, JobState.RUNNING, job.id)
    ran = harness.cluster.glance()
    assert ran.submitted == came.submitted and not ran.same(came)


def test_a_cluster_that_does_not_answer_has_no_glance(harness: Harness) -> None:
    with harness.down(), pytest.raises(ClusterUnavailableError):
        harness.cluster.glance()
