"""The few jobs of the made-up week that were stopped and did not come back: their incidents, as people closed them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from console.core import clock
from console.launch.past.played import PlayedPlan, PlayedWeek
from console.steering.journal import record_incident
from console.steering.models import Fate, Incident, IncidentKind, Victim
from scheduler.model.jobs import RunKey
from scheduler.model.sentence import say

AFTER_S = 18
"""So soon after its return such a job failed."""
CLOSED_AFTER_S = 47 * 60
AMONG = (0.35, 0.75)
"""Where in the week they are: far apart, for two within an hour would have paused the partition."""
CLOSED_BY = "dave"
REASON = "Its script did not find its checkpoint: the folder had been cleaned up. Its user has corrected it."


class LaterTelling(NamedTuple):
    """Something that is to be told at a moment, between plans."""

    at: int
    tell: Callable[[], None]


def mark_mishaps(week: PlayedWeek) -> None:
    """Let the first victim after each of these parts of the week fail when it comes back; before the week is closed."""
    for part in AMONG:
        first = int(week.begin + part * (week.until - week.begin))
        for plan in week.plans:
            if plan.at >= first and (run := _that_came_back(week, plan)):
                failed = week.jobs[run.job_id].runs[-1]
                failed.ended = plan.failed[run] = failed.start + AFTER_S
                break


def _that_came_back(week: PlayedWeek, plan: PlayedPlan) -> RunKey | None:
    """A victim whose next run was its last one."""
    for run in plan.victims:
        last = week.jobs[run.job_id].runs[-1]
        if last.restarts == run.restarts + 1 and last.ended and last.ended > last.start + AFTER_S:
            return run
    return None


def later_of_mishap(victim: Victim, failed: int) -> Iterator[LaterTelling]:
    """Its incident is opened when the job is seen to have failed, and closed by a person."""
    victim.fate, victim.words = Fate.LOST, say("fate.failed_again", state="FAILED")
    victim.settled_at = clock.from_epoch(failed)
    made: list[Incident] = []

    def open_it() -> None:
        victim.save()
        incident = Incident.objects.create(
            victim=victim,
            kind=IncidentKind.AT_ONCE,
            cluster=victim.cluster,
            partition=victim.plan.partition,
            job_id=victim.job_id,
            job_name=victim.job_name,
            user=victim.user,
            plan=victim.plan_id,
            beneficiary=victim.plan.job_id,
            words=victim.words,
            opened_at=clock.now(),
        )
        made.append(incident)
        record_incident(incident, "incident.opened", reason=incident.words)

    def close_it() -> None:
        (incident,) = made
        incident.closed_at, incident.closed_by, incident.close_reason = clock.now(), CLOSED_BY, REASON
        incident.save(update_fields=["closed_at", "closed_by", "close_reason"])
        record_incident(incident, "incident.closed", reason=REASON, actor=CLOSED_BY)

    yield LaterTelling(failed + 2, open_it)
    yield LaterTelling(failed + CLOSED_AFTER_S, close_it)
