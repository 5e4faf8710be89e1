"""Celery's door to steering: shells of a few lines."""

from datetime import timedelta

from celery import shared_task

from console.accounts.sessions import forget_ended_sessions
from console.cluster.connect import configured_cluster
from console.cluster.services import forget_ended_jobs
from console.steering.cycle import run_cycle
from console.steering.housekeeping import forget_old_cycles


@shared_task(name="steering.steer")
def steer() -> None:
    """One cycle of the attached cluster; nothing when one is under way already."""
    run_cycle(configured_cluster())


@shared_task(name="steering.housekeep")
def housekeep() -> None:
    """Forget what nobody will ask about again: ended sessions, and after a week ended jobs and cycles without plans."""
    forget_ended_sessions()
    week = timedelta(days=7)
    forget_ended_jobs(week)
    forget_old_cycles(week)
