"""How many tasks of a limited array can be planned for."""

from dataclasses import replace

from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.arrays import AT_THE_LIMIT, throttled, together
from scheduler.adapters.slurm.rows import FIELD, decode
from scheduler.model.jobs import JobState, ObservedJob
from tests.adapters.slurm.test_rows import FREE, OWN

TASK = ObservedJob("41_1", "work", "cy", JobState.PENDING, ("x",), 0, array_job_id="41", priority=1)


def _task(number: int, state: JobState = JobState.PENDING, priority: int = 1) -> ObservedJob:
    return replace(TASK, id=f"41_{number}", state=state, priority=priority)


def _free_to_start(*jobs: ObservedJob, limits: dict[str, int]) -> set[str]:
    seen = throttled(jobs, limits)
    assert [job.id for job in seen] == [job.id for job in jobs]
    assert {job.unplannable for job in seen} <= {"", AT_THE_LIMIT}
    return {job.id for job in seen if job.state is JobState.PENDING and not job.unplannable}


def test_the_first_tasks_up_to_the_limit() -> None:
    tasks = [_task(number) for number in (10, 9, 2, 1)]
    assert _free_to_start(*tasks, limits={"41": 2}) == {"41_1", "41_2"}


def test_tasks_that_run_or_are_ending_take_a_place() -> None:
    tasks = (_task(1, JobState.RUNNING), _task(2, JobState.COMPLETING), _task(3), _task(4))
    assert _free_to_start(*tasks, limits={"41": 3}) == {"41_3"}
    assert _free_to_start(*tasks, limits={"41": 1}) == set()


def test_the_one_that_was_put_first_in_line_keeps_its_place() -> None:
    assert _free_to_start(_task(1), _task(2, priority=4_000_000_000), limits={"41": 1}) == {"41_2"}


def test_other_jobs_and_arrays_without_a_limit_stay_as_they_are() -> None:
    other = replace(TASK, id="42_1", array_job_id="42")
    single = replace(TASK, id="43", array_job_id="")
    assert _free_to_start(_task(1), other, single, limits={"41": 1}) == {"41_1", "42_1", "43"}
    assert _free_to_start(other, single, limits={}) == {"42_1", "43"}


def test_tasks_of_one_record_are_named_together_and_those_apart_by_themselves() -> None:
    base = decode(FIELD.join([OWN, *FREE]))
    rows = [
        replace(base, id="41_1", raw_id="41", array_id="41"),
        replace(base, id="41_2", raw_id="57", array_id="41"),
        replace(base, id="41_3", raw_id="41", array_id="41"),
        replace(base, id="60", raw_id="60", array_id=""),
    ]

    assert together(rows) == ["41_2", "60", "41_[1,3]"]
    check("scontrol", ("update", f"JobId={','.join(together(rows))}", "Nice=-5"))
