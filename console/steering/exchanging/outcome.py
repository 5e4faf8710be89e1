"""How an exchange ends: whether somebody still has to start again, and where both run."""

from collections.abc import Collection, Iterator, Mapping

from console.core import clock
from console.steering.exchanging.sets import (
    is_exchange,
    room_of_runner,
    run_of_runner,
    runner_of,
    was_stopped,
)
from console.steering.models import Plan
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import Listed, join, say

Jobs = Mapping[str, ObservedJob]


def is_awaited(plan: Plan, jobs: Jobs) -> bool:
    """Whether the job that was stopped for an exchange is still waited for to run again, until the plan's deadline: its
    set is kept for so long."""
    if not is_exchange(plan) or plan.undo_reason or not was_stopped(plan):
        return False
    job = jobs.get(runner_of(plan)["job"])
    late = plan.deadline is None or clock.now() > plan.deadline
    return job is not None and job.state is not JobState.RUNNING and not late


def where_they_run(plan: Plan, jobs: Jobs) -> str:
    """The words for where both run, and whether that is as planned. Who is not seen running is left out."""
    return join(*_words(plan, jobs))


def _words(plan: Plan, jobs: Jobs) -> Iterator[str]:
    job, runner = jobs.get(plan.job_id), jobs.get(runner_of(plan)["job"])
    if job is not None and job.state is JobState.RUNNING:
        yield _landed(job, plan.placement.keys())
    again = runner is not None and runner.state is JobState.RUNNING and runner.run != run_of_runner(plan)
    if runner is not None and again:
        yield _landed(runner, room_of_runner(plan).keys())


def _landed(job: ObservedJob, planned: Collection[str]) -> str:
    nodes = Listed(sorted(job.alloc))
    if set(job.alloc) == set(planned):
        return say("exchange.landed", job=job.id, nodes=nodes)
    return say("exchange.elsewhere", job=job.id, nodes=nodes, planned=Listed(sorted(planned)))
