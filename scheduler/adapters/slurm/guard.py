"""What may become of an action, given the job as it is right now: the table that keeps later runs safe. Pure.

An action names one run of a job (id, start, restarts). A requeued job has the same id: before anything is
done the job is looked at again, and what is aimed at a run that is over is answered, not carried out.
"""

import re
from collections.abc import Callable, Mapping

from scheduler.adapters.slurm import holds, values
from scheduler.adapters.slurm.allowed import is_node_list, is_user, kept_for
from scheduler.adapters.slurm.jobs import state_of
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import (
    BY_NICE,
    MOST_NICE,
    NOT_HELD,
    Action,
    ActionKind,
    ActionOutcome,
    OutcomeKind,
    is_for_next,
    kept_of,
)
from scheduler.model.jobs import JobState
from scheduler.model.sentence import Listed, say

HIGHEST_PRIORITY = 2**32 - 3
"""Slurm keeps the two numbers above for itself."""
_NODES = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_MOMENT = re.compile(r"[1-9]\d{0,9}", re.ASCII)

_GONE = ActionOutcome(OutcomeKind.GONE, "Invalid job id specified")
_STILL_COMPLETING = ActionOutcome(
    OutcomeKind.UNKNOWN, "the job is still completing; try again when it is pending"
)


def verdict(
    action: Action, row: QueueRow | None, delay_s: int = holds.REQUEUE_DELAY_S
) -> ActionOutcome | None:
    """The outcome of an action that need not or must not be carried out; None when it is to be carried out.

    `delay_s`: how long this cluster lets a requeued job wait.
    """
    try:
        state = None if row is None else state_of(row)
    except ValueError as error:
        return ActionOutcome(OutcomeKind.UNKNOWN, str(error))
    if row is None or state is None:
        return _GONE
    if action.kind is ActionKind.RELEASE:
        return _release(action, row, state, delay_s)
    return _VERDICTS[action.kind](action, row, state)


def _same_run(action: Action, row: QueueRow) -> bool:
    return (action.run.start, action.run.restarts) == (row.start or 0, row.restarts)


def _over(row: QueueRow) -> ActionOutcome:
    return ActionOutcome(
        OutcomeKind.GONE, f"that run is over; the job is now {row.state}, restarted {row.restarts} times"
    )


def _signal(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is not JobState.RUNNING or not _same_run(action, row):
        return _over(row)
    if not row.batch:
        return ActionOutcome(OutcomeKind.REFUSED, "the job has no batch script that could be signalled")
    return None


def _stop(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    # A requeue counts the restart at once, and sets a new start time while the job is still completing.
    requeued_since = row.restarts == action.run.restarts + 1
    if state is JobState.RUNNING:
        return None if _same_run(action, row) else _over(row)
    if state is JobState.COMPLETING and (requeued_since or _same_run(action, row)):
        return ActionOutcome(OutcomeKind.ALREADY, "Job/step already completing or completed")
    if action.kind is ActionKind.REQUEUE_HOLD and requeued_since:
        if row.priority == 0:
            return ActionOutcome(OutcomeKind.ALREADY, "it is back in the queue, held")
        if action.value == NOT_HELD and state is JobState.PENDING:
            return ActionOutcome(OutcomeKind.ALREADY, "it is back in the queue")
    return _over(row)


def _recover(action: Action, row: QueueRow, state: JobState) -> ActionOutcome:
    """The job is there, so it has not ended: nothing to put back. (`recover` looks after those that have.)"""
    if state is JobState.COMPLETING:
        return _STILL_COMPLETING
    if row.restarts == action.run.restarts + 1 and state is JobState.PENDING and row.priority == 0:
        return ActionOutcome(OutcomeKind.ALREADY, "it is back in the queue, held")
    return _over(row)


def _allow_requeue(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is JobState.COMPLETING or (state is JobState.RUNNING and not _same_run(action, row)):
        return _over(row)
    return ActionOutcome(OutcomeKind.ALREADY, "it is requeueable already") if row.requeue else None


def _release(action: Action, row: QueueRow, state: JobState, delay_s: int) -> ActionOutcome | None:
    if state is JobState.RUNNING:
        return ActionOutcome(OutcomeKind.ALREADY, "it runs already")
    if state is JobState.COMPLETING:
        # The new begin time would silently be lost, and the job would wait out Slurm's two minutes.
        return _STILL_COMPLETING
    if row.priority == 0:
        return holds.held_by_another(action, row.reason)
    if row.reason == holds.BEGIN_TIME and holds.is_delayed(row, delay_s):
        return None
    return ActionOutcome(OutcomeKind.ALREADY, "it is not held")


def _hold(_action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is JobState.RUNNING:
        # Slurm would accept it and hold a later requeue of the running job.
        return ActionOutcome(OutcomeKind.GONE, "Job is no longer pending execution")
    if row.priority == 0:
        return ActionOutcome(OutcomeKind.ALREADY, "it is held already")
    return _STILL_COMPLETING if state is JobState.COMPLETING else None


def _priority(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is JobState.RUNNING:
        return ActionOutcome(OutcomeKind.ALREADY, "it runs already")
    if state is JobState.COMPLETING:
        return _STILL_COMPLETING
    if action.kind is ActionKind.RESTORE_PRIORITY:
        # Recalculating is done by a release, which must not undo somebody's hold.
        return (
            ActionOutcome(OutcomeKind.ALREADY, "it is held; a release computes its priority")
            if row.priority == 0
            else None
        )
    if row.priority == 0:
        return ActionOutcome(OutcomeKind.REFUSED, "Job is in held state, pending scheduler release")
    return ActionOutcome(OutcomeKind.ALREADY) if str(row.priority) == action.value else None


def _place(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    """Under priority/basic a new nice lets a held job go: nothing is done to one that is held."""
    if state is JobState.RUNNING:
        return ActionOutcome(OutcomeKind.ALREADY, "it runs already")
    if state is JobState.COMPLETING:
        return _STILL_COMPLETING
    if row.priority == 0:
        return ActionOutcome(OutcomeKind.REFUSED, "Job is in held state, pending scheduler release")
    return ActionOutcome(OutcomeKind.ALREADY) if str(row.nice) == action.value else None


def _resize(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is JobState.COMPLETING:
        return _STILL_COMPLETING
    if state is JobState.RUNNING or row.restarts != action.run.restarts:
        return _over(row)
    if row.priority != 0 or row.restarts == 0:
        return _refused(say("resize.not_held"))
    if row.het_id:
        return _refused(say("resize.part"))
    whole = row.per_job or row.per_socket
    return _refused(say("resize.as_a_whole", what=whole)) if whole else None


def _shrink(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is not JobState.RUNNING or not _same_run(action, row):
        return _over(row)
    has, keeps = set(values.nodes(row.node_list)), set(action.value.split(","))
    if keeps == has:
        return ActionOutcome(OutcomeKind.ALREADY)
    if not keeps < has:
        return _refused(say("resize.nodes", nodes=Listed(sorted(has))))
    if row.state != "RUNNING":
        return _refused(say("resize.not_running", state=row.state))
    if not row.batch:
        return _refused(say("resize.no_script"))
    if row.het_id:
        return _refused(say("resize.part"))
    asked = (row.per_job, row.per_node, row.per_socket, row.per_task)
    return _refused(say("resize.gres")) if any("gres" in text for text in (*asked, row.tres)) else None


def _keep(action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is JobState.RUNNING and not is_for_next(action.value):
        return ActionOutcome(OutcomeKind.ALREADY, "it runs already")
    if state is JobState.COMPLETING:
        return _STILL_COMPLETING
    if row.reservation and not kept_for(row.reservation):
        return _refused(f"the job waits for the reservation {row.reservation[:60]}")
    return None if is_user(row.user) else _refused("the name of its user cannot be told to scontrol")


def _begin(_action: Action, row: QueueRow, state: JobState) -> ActionOutcome | None:
    if state is JobState.RUNNING:
        return ActionOutcome(OutcomeKind.ALREADY, "it runs already")
    if state is JobState.COMPLETING:
        return _STILL_COMPLETING
    # One record of an array is many jobs, and of a heterogeneous job only a part.
    return _refused(say("begin.part")) if row.array_id or row.het_id else None


def _refused(why: str) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.REFUSED, why)


_VERDICTS: Mapping[ActionKind, Callable[[Action, QueueRow, JobState], ActionOutcome | None]] = {
    ActionKind.SIGNAL: _signal,
    ActionKind.REQUEUE_HOLD: _stop,
    ActionKind.CANCEL: _stop,
    ActionKind.ALLOW_REQUEUE: _allow_requeue,
    ActionKind.RECOVER: _recover,
    ActionKind.HOLD: _hold,
    ActionKind.PRIORITISE: _priority,
    ActionKind.RESTORE_PRIORITY: _priority,
    ActionKind.PLACE: _place,
    ActionKind.RESIZE: _resize,
    ActionKind.SHRINK: _shrink,
    ActionKind.KEEP: _keep,
    ActionKind.BEGIN: _begin,
}


def malformed(action: Action) -> ActionOutcome | None:
    """The outcome of an action whose value no cluster could carry out, None for a good one."""
    if action.kind is ActionKind.PLACE:
        return (
            None
            if _is_nice(action.value)
            else ActionOutcome(OutcomeKind.REFUSED, f"a nice is a number from -{MOST_NICE} to {MOST_NICE}")
        )
    if action.kind is ActionKind.RESIZE and not _NODES.fullmatch(action.value):
        return ActionOutcome(OutcomeKind.REFUSED, "a number of nodes is a number from 1 to 99999")
    if action.kind is ActionKind.SHRINK and not is_node_list(action.value):
        return ActionOutcome(OutcomeKind.REFUSED, "these are no names of nodes with commas between them")
    if action.kind is ActionKind.KEEP:
        return _malformed_keep(action.value)
    if action.kind is ActionKind.BEGIN and not _MOMENT.fullmatch(action.value):
        return ActionOutcome(OutcomeKind.REFUSED, "a moment is a number of seconds")
    value = action.value.removeprefix(BY_NICE) if action.kind is ActionKind.RELEASE else action.value
    placed = action.kind is ActionKind.PRIORITISE or (action.kind is ActionKind.RELEASE and action.value)
    number = value.isascii() and value.isdecimal() and len(value) <= len(str(HIGHEST_PRIORITY))
    if placed and not (number and 0 < int(value) <= HIGHEST_PRIORITY):
        return ActionOutcome(OutcomeKind.REFUSED, f"a priority is a number from 1 to {HIGHEST_PRIORITY}")
    return None


def _malformed_keep(value: str) -> ActionOutcome | None:
    try:
        _until, nodes = kept_of(value)
    except ValueError as error:
        return _refused(str(error))
    return None if is_node_list(",".join(nodes)) else _refused("these are no names of nodes")


def _is_nice(value: str) -> bool:
    digits = value.removeprefix("-")
    short = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(MOST_NICE))
    return short and int(digits) <= MOST_NICE
