"""Putting a job back into the queue that did not survive its checkpoint signal.

A batch script that does not catch the signal is ended by it: Slurm counts the job as failed and forgets it. Slurm still
requeues such a job for a while (MinJobAge). Only one that just this signal ended, in just the run that was meant, is
put back; one that ended by itself, or that somebody cancelled, is left in peace. A script that is `exec srun …`, or
ends with what it has called, tells the signal that ended its program as its own exit code: 128 and the signal's number.

The same is done where slurmctld has answered a requeue, and died before it had written that down: the node has stopped
the job, and that is all that the next slurmctld hears of it. It counts the run as failed, or, where the script ends
well when it is told to, as completed. A requeue that it remembers would have begun another run.

To leave it in peace is to give the job up, so two looks have to agree on that. What is not understood is "unknown": the
job is looked at again.
"""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.adapters.slurm import look, values
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import shortened
from scheduler.adapters.slurm.jobs import state_of_word
from scheduler.adapters.slurm.look import LookResult
from scheduler.adapters.slurm.rows import Table
from scheduler.model.actions import REQUEUED, TO_ALL, TO_STEPS, Action, ActionOutcome, OutcomeKind

# Slurm's own fields only: nothing a user writes can stand in them.
_FIELDS = ("JobArrayID", "JobID", "HetJobID", "State", "StartTime", "RestartCnt", "exit_code", "Reason")
_STATUS = re.compile(r"\d{1,5}")
_EXIT_AND_SIGNAL = re.compile(r"(\d{1,5}):(\d{1,3})")
_RAISED = re.compile(r"RaisedSignal:(\d{1,3})(?:\(.*\))?")
_ENDED_BY_SIGNAL = "FAILED"
_ENDED_BY_ITS_STOP = frozenset({_ENDED_BY_SIGNAL, "COMPLETED"})
_SHELLS = 128
"""A shell's exit code for a program that a signal ended is so much, and the signal's number."""
FORGOTTEN = ActionOutcome(OutcomeKind.GONE, "slurmctld knows the job no more, so it cannot be put back")


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a job ended, as squeue tells it: in which run, in which state, by which signal (0: by none), exit code."""

    state: str
    start: int
    restarts: int
    status: str
    signal: int
    code: int

    @property
    def words(self) -> str:
        return f"{self.state}, exit code {self.status}"


def answers(runner: CommandRunner, actions: Mapping[int, Action]) -> dict[int, ActionOutcome]:
    """Outcomes of those whose job must not be put back, or not yet. Raises `SlurmUnavailableError`."""
    seen = _endings(runner, {action.run.job_id for action in actions.values()})
    first = {number: said for number, action in actions.items() if (said := _verdict(action, seen))}
    given_up = {number for number, said in first.items() if said.kind is OutcomeKind.GONE}
    again = _endings(runner, {actions[number].run.job_id for number in given_up})
    return {number: _agreed(said, _verdict(actions[number], again)) if number in given_up else said
            for number, said in first.items()}  # fmt: skip


def _agreed(first: ActionOutcome, second: ActionOutcome | None) -> ActionOutcome:
    if second == first:
        return first
    return ActionOutcome(OutcomeKind.UNKNOWN, f"two looks at how the job ended do not agree: {first.detail}")


def _verdict(action: Action, seen: LookResult[_Ending]) -> ActionOutcome | None:
    """Why a job is not put back; None when it is to be."""
    job_id = action.run.job_id
    if job_id in seen.odd:
        return ActionOutcome(OutcomeKind.UNKNOWN, shortened(f"how it ended is not known: {seen.odd[job_id]}"))
    ending = seen.jobs.get(job_id)
    if ending is None:
        return FORGOTTEN
    if (ending.start, ending.restarts) != (action.run.start, action.run.restarts):
        return ActionOutcome(OutcomeKind.GONE, f"that run is over; the job has ended since ({ending.words})")
    if action.value == REQUEUED:
        if ending.state in _ENDED_BY_ITS_STOP:
            return None
        return ActionOutcome(OutcomeKind.GONE, f"the job ended, but not by its stop ({ending.words})")
    if ending.state != _ENDED_BY_SIGNAL or _number(action.value) not in (
        ending.signal,
        ending.code - _SHELLS,
    ):
        return ActionOutcome(OutcomeKind.GONE, f"the job ended, but not by the signal ({ending.words})")
    return None


def _number(name: str) -> int:
    """The signal's number, -1 for one that this system does not know. Whom it was sent does not matter."""
    name = name.removesuffix(TO_STEPS).removesuffix(TO_ALL)
    if name.isascii() and name.isdecimal():
        return int(name)
    member = getattr(signal.Signals, f"SIG{name}", None)
    return int(member) if member is not None else -1


def _endings(runner: CommandRunner, job_ids: set[str]) -> LookResult[_Ending]:
    table = Table.fresh()
    *own, last = _FIELDS
    wish = f"--Format={','.join([*(f'{name}:|' for name in own), f'{last}:{table.mark};'])}"
    return look.through(runner, table, ("--noheader", "--array", "--all", "--local", wish), job_ids, _decode)


def _decode(record: str) -> tuple[str, _Ending]:
    fields = record.split("|", len(_FIELDS) - 1)
    if len(fields) != len(_FIELDS):
        raise ValueError(f"its row has {len(fields)} fields, not {len(_FIELDS)}")
    task, own, het, state, start, restarts, status, reason = fields
    if state_of_word(state) is not None:
        raise ValueError(f"it has not ended: it is {state}")
    ending = _Ending(
        state,
        values.moment(start) or 0,
        values.number(restarts),
        status,
        signal_of(status, reason),
        _exit_code(status),
    )
    return own if values.text(het) else task, ending


def _exit_code(status: str) -> int:
    """What a script ended with, from what `signal_of` reads; 0 where that does not say."""
    if match := _EXIT_AND_SIGNAL.fullmatch(status):
        return int(match[1])
    return int(status) >> 8 if _STATUS.fullmatch(status) else 0


def signal_of(status: str, reason: str) -> int:
    """Which signal ended a script, 0 for none: from Slurm's exit code, else from its reason. Raises ValueError.

    Slurm 22.05 prints a wait status (`10`, with a memory dump `138`; `768` is `exit 3`), 24.11 and later
    exit and signal (`0:10`, `3:0`) and a reason beside it, `RaisedSignal:10(User defined signal 1)`.
    """
    if match := _EXIT_AND_SIGNAL.fullmatch(status):
        return int(match[2])
    if _STATUS.fullmatch(status):
        return int(status) & 0x7F
    if match := _RAISED.fullmatch(reason):
        return int(match[1])
    raise ValueError(f"its exit code {status[:40]!r} is not understood")
