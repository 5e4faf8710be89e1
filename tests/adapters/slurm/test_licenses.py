"""Which pending jobs wait for licences."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from scheduler.adapters.slurm.read import decode, respect_licenses, wanted
from scheduler.model.jobs import JobState, ObservedJob

JOB = ObservedJob("7", "urgent", "cy", JobState.PENDING, ("x",), 0, licenses="matlab:2")


def _waits(job: ObservedJob, free: Mapping[str, int]) -> str:
    return respect_licenses([job], lambda: free)[0].unplannable


def test_a_record_as_slurm_prints_it() -> None:
    record = "LicenseName=matlab Total=10 Used=3 Free=7 Reserved=2 Remote=no"
    assert decode(record) == ("matlab", 5)
    with pytest.raises(KeyError):
        decode("LicenseName=matlab Total=2")


def test_what_a_job_wants() -> None:
    assert wanted("matlab:2,stata") == {"matlab": 2, "stata": 1}
    assert wanted("a@server:2|b:1") == {"a@server": 2, "b": 1}
    assert wanted("") == {}
    with pytest.raises(ValueError, match="no number"):
        wanted("matlab:many")


def test_a_job_waits_while_fewer_are_free_than_it_wants() -> None:
    assert _waits(JOB, {"matlab": 2}) == ""
    assert _waits(JOB, {"matlab": 1}) == "it waits for licences (matlab)"
    assert _waits(JOB, {}) == "it waits for licences (matlab)"
    assert _waits(replace(JOB, unplannable="another reason"), {}) == "another reason"


def test_nobody_asks_for_licences_that_nobody_wants() -> None:
    def unexpected() -> Mapping[str, int]:
        raise AssertionError("asked in vain")

    jobs = [replace(JOB, licenses=""), replace(JOB, state=JobState.RUNNING)]
    assert respect_licenses(jobs, unexpected) == jobs
