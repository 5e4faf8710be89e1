"""What jobs that wait or run were told to run: program and script, from accounting, else from the queue.

Accounting keeps the line by which a job was submitted; the queue tells the script alone, and nothing of `--wrap`.
Arguments are not given on. Nothing is changed.
"""

import os
import secrets
from collections.abc import Mapping, Sequence

from scheduler.adapters.slurm import config as configs
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.endings import STORAGE
from scheduler.model.command_line import command_of, program_of

AT_ONCE = 300
_NOTHING = "(null)"


def look(
    job_ids: Sequence[str],
    env: Mapping[str, str] | None = None,
    timeout_s: float = 20.0,
    runner: CommandRunner | None = None,
) -> dict[str, str]:
    """By job, of those of which it is known. Tasks of an array have one command. Raises `SlurmUnavailableError`."""
    runner = runner or CommandRunner(dict(os.environ if env is None else env), timeout_s)
    wanted = list(dict.fromkeys(map(_array, job_ids)))
    if not wanted:
        return {}
    config = configs.words_of(runner.ask("scontrol", "--all", "show", "config"))
    accounted = config.get("AccountingStorageType", "").strip() == STORAGE
    known: dict[str, str] = {}
    for first in range(0, len(wanted), AT_ONCE):
        part = wanted[first : first + AT_ONCE]
        known |= _accounted(runner, part) if accounted else _queued(runner, part)
    return {job_id: known[_array(job_id)] for job_id in job_ids if known.get(_array(job_id))}


def _array(job_id: str) -> str:
    return job_id.partition("_")[0]


def _accounted(runner: CommandRunner, job_ids: Sequence[str]) -> dict[str, str]:
    mark = secrets.token_hex(8)
    out = runner.ask("sacct", "--noheader", "--parsable2", "--allocations", "--allusers", f"--delimiter={mark}",
        "--format=JobID,SubmitLine", f"--jobs={','.join(job_ids)}",
    )  # fmt: skip
    rows = (line.split(mark) for line in out.split("\n") if mark in line)
    return {_array(row[0]): command_of(row[1]) for row in rows}


def _queued(runner: CommandRunner, job_ids: Sequence[str]) -> dict[str, str]:
    mark = "g" + secrets.token_hex(5)
    # Who has left the queue meanwhile makes it fail; the others are told all the same.
    answer = runner.run(
        "squeue", "--noheader", "--array", "--all", "--local", f"--Format=JobArrayID:|,Command:{mark};",
        "--states=all", f"--jobs={','.join(job_ids)}",
    )  # fmt: skip
    rows = (record.partition("|") for record in answer.out.split(f"{mark};\n"))
    return {_array(job_id): program_of(line.split()) for job_id, _, line in rows if line != _NOTHING}
