"""Putting a job back into the queue that did not survive its checkpoint signal.

A batch script that does not catch the signal is ended by it: Slurm counts the job as failed and forgets it. Slurm still
requeues such a job for a while (MinJobAge). Only one that just this signal ended, in just the run that was meant, is
put back; one that ended by itself, or that somebody cancelled, is left in peace.
"""

import signal
from collections.abc import Mapping

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.commands import Runner
from scheduler.adapters.slurm.errors import Meaning, SlurmOutputError, meaning_of, unavailable
from scheduler.model.actions import Action, Outcome, OutcomeKind

# Slurm's own fields only: nothing a user writes can stand in them.
_FORMAT = "--Format=JobArrayID:|,StartTime:|,RestartCnt:|,exit_code:|"
_FIELDS = 5  # the last separator is followed by an empty text
_ENDED_OTHERWISE = Outcome(OutcomeKind.GONE, "the job ended, but not by the signal")


def answers(runner: Runner, actions: Mapping[int, Action]) -> dict[int, Outcome]:
    """Outcomes of those whose job must not be put back. Raises `SlurmUnavailableError`."""
    ended = _ended(runner, {action.run.job_id for action in actions.values()})
    return {
        number: _ENDED_OTHERWISE
        for number, action in actions.items()
        if (action.run.start, action.run.restarts, _number(action.value)) != ended.get(action.run.job_id)
    }


def _number(name: str) -> int:
    """The signal's number, 0 for one that this system does not know."""
    member = getattr(signal.Signals, f"SIG{name}", None)
    return int(member) if member is not None else 0


def _ended(runner: Runner, job_ids: set[str]) -> dict[str, tuple[int | None, int, int]]:
    """Failed jobs that slurmctld still knows, by id: start, restarts, and the signal that ended the script."""
    answer = runner.run(
        "squeue", "--noheader", "--array", "--all", "--local", "--states=FAILED", _FORMAT,
        f"--jobs={','.join(sorted(job_ids))}",
    )  # fmt: skip
    if answer.code != 0:
        if meaning_of(answer.err) is Meaning.NOT_FOUND:
            return {}
        raise unavailable("squeue", answer.err)
    found = {}
    for line in answer.out.splitlines():
        fields = line.split("|")
        if len(fields) != _FIELDS:
            raise SlurmOutputError(f"squeue printed a line that does not decode: {line[:80]!r}")
        job_id, start, restarts, status = fields[:4]
        found[job_id] = (values.moment(start), values.number(restarts), values.number(status))
    return found
