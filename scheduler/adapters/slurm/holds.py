"""Whose a hold or a begin time is: Giveway takes back its own, and leaves those of others.

Tried on 22.05.8, 24.11.5 and 26.05.5. From a requeue in held state until the first release the reason is a text ("job
requeued in held state"), whatever else is changed, reconfigured or restarted. Its code is JobHeldUser, and JobHeldAdmin
once an administrator has held the job too; only `squeue --json` tells that. A user's own `scontrol hold` of a job that
is held already changes nothing that anybody could see. After `scontrol release` and `scontrol hold` the reason is
JobHeldUser or JobHeldAdmin. A job that was held while it ran keeps that hold, and its reason, over a plain requeue.
EligibleTime is the begin time, of a held job too.
"""

from collections.abc import Mapping

from scheduler.adapters.slurm import reasons
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import HELD_BY_ADMIN, HELD_BY_USER, Action, ActionOutcome, OutcomeKind

REQUEUE_DELAY_S = 121
"""How long Slurm itself lets a requeued job wait, where the site has not set another time (`config`)."""
BEGIN_TIME = "BeginTime"
BY_USER, BY_ADMIN = "jobhelduser", "jobheldadmin"
"""Slurm's reasons for a hold, in small letters."""


def held_by_another(action: Action, reason: str) -> ActionOutcome | None:
    """The refusal of a release, going by the reason (or its code) for which a job is held; None: the hold is ours."""
    said = reason.lower()
    if said == BY_USER:
        return ActionOutcome(OutcomeKind.REFUSED, HELD_BY_USER)
    if said == BY_ADMIN and action.of_stop:
        return ActionOutcome(OutcomeKind.REFUSED, HELD_BY_ADMIN)
    return None


def held_by_admins(
    runner: CommandRunner, actions: Mapping[str, Action], seen: Mapping[str, QueueRow]
) -> dict[str, ActionOutcome]:
    """The refusals for jobs that an administrator has held over our stop, by the jobs of these releases.

    Where Slurm does not tell, a job is let go: it must not stay held by a stop of ours.
    """
    asked = {
        seen[job_id].raw_id: job_id
        for job_id, action in actions.items()
        if action.of_stop and seen[job_id].priority == 0 and reasons.is_text(seen[job_id].reason)
    }
    told = reasons.codes(runner, asked)
    refused = ActionOutcome(OutcomeKind.REFUSED, HELD_BY_ADMIN)
    return {asked[raw]: refused for raw, code in told.items() if raw in asked and code.lower() == BY_ADMIN}


def is_held_while_it_runs(row: QueueRow) -> bool:
    """Whether somebody holds the next run of a job that runs: a plain requeue keeps that hold as it is."""
    return row.priority == 0 and row.reason.lower() in {BY_USER, BY_ADMIN}


def is_delayed(row: QueueRow, delay_s: int) -> bool:
    """Whether the time for which a job waits is no later than what Slurm itself puts between two runs.

    A requeued job's submit time is that of its return. A begin time that is farther off was set by somebody.
    """
    begins = row.submit if row.eligible is None else row.eligible
    return row.restarts > 0 and begins <= row.submit + delay_s
