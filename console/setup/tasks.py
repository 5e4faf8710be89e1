"""Celery's door to the set-up: shells of a few lines."""

from celery import shared_task

from console.cluster.connect import configured_cluster
from console.setup.examining import examine_if_asked, is_examination_due
from console.setup.inviting import end_invitations


@shared_task(name="setup.examine")
def examine() -> None:
    """The doctor's round, if somebody has asked for it."""
    cluster = configured_cluster()
    if is_examination_due(cluster):
        examine_if_asked(cluster)


@shared_task(name="setup.end_invitations")
def end() -> None:
    """Take back what came with invitations that nobody has used."""
    end_invitations()
