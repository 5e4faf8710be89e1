"""When running jobs are expected to end."""

from scheduler.preemption.universe import Runner

SHORTEST_RENEWAL = 60


def expected_end(runner: Runner, now: int) -> int | None:
    """The epoch second at which a running job is expected to end; None when nobody knows.

    A job that has passed its prediction gets a new one: as long again as it is overdue, at least a minute. So a job
    that is a little late is expected soon, and one that is hours late counts for less and less.
    """
    end = runner.job.predicted_end
    if end is None or end > now:
        return end
    return now + max(SHORTEST_RENEWAL, now - end)
