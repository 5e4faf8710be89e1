"""Jobs that Giveway holds until all of their group fit (`PlanKind.WHOLE`): decided on as if they were not held."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from console.steering.models import Plan, PlanKind
from console.steering.served import jobs_served
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation

HELD_BY_USER = "jobhelduser"
"""Slurm's reason, in small letters, of a job that its own user holds."""


def held_together(plans: Iterable[Plan]) -> frozenset[str]:
    """The jobs that open plans hold until all fit, or were holding until a moment ago."""
    return frozenset(job_id for plan in plans if plan.kind == PlanKind.WHOLE for job_id in jobs_served(plan))


def is_held_by_user(job: ObservedJob | None) -> bool:
    """Whether the job's own user holds it, whoever else does."""
    return job is not None and job.held and job.slurm_reason.lower() == HELD_BY_USER


def let_go(job: ObservedJob) -> ObservedJob:
    """The job as it would be without our hold; one that its user holds is left as it is."""
    if not job.held or job.state is not JobState.PENDING or is_held_by_user(job):
        return job
    return replace(job, held=False, slurm_reason="", reason_code="")


def jobs_let_go(jobs: Mapping[str, ObservedJob], held: frozenset[str]) -> Mapping[str, ObservedJob]:
    """The same of all that we hold."""
    ours = {job_id: let_go(jobs[job_id]) for job_id in held if job_id in jobs}
    return {**jobs, **ours} if ours else jobs


def all_let_go(observation: Observation, held: frozenset[str]) -> Observation:
    """The look without our holds."""
    if not held:
        return observation
    return replace(
        observation, jobs=tuple(let_go(job) if job.id in held else job for job in observation.jobs)
    )
