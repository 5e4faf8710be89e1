"""Contract: a glance shows who waits, and nothing else."""

import pytest

from scheduler.model.jobs import JobState
from scheduler.ports import ClusterUnavailableError
from tests.contract.harness import Harness, Work, fill, start, wait_for, wait_pending

WHOLE = Work(partitions=("x",), cpus=8)


def test_a_glance_shows_a_new_job_until_it_runs(harness: Harness) -> None:
    filler = fill(harness, "n1")["n1"]
    assert harness.cluster.glance() == frozenset()

    job = wait_pending(harness, WHOLE)
    assert harness.cluster.glance() == {job.id}

    harness.cancel(filler.id)
    wait_for(harness, JobState.RUNNING, job.id)
    assert harness.cluster.glance() == frozenset()


def test_running_jobs_are_not_in_a_glance(harness: Harness) -> None:
    start(harness, Work())
    assert harness.cluster.glance() == frozenset()


def test_a_cluster_that_does_not_answer_has_no_glance(harness: Harness) -> None:
    with harness.down(), pytest.raises(ClusterUnavailableError):
        harness.cluster.glance()
