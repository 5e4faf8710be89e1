"""A look at named jobs right before something is done to them: what is known of each, and what is not.

No job is taken for gone because its row is missing: an answer may be cut between two rows. Slurm has to say so itself,
asked for that job alone. A row that is not understood is its own job's matter; one that cannot even be given to a job
leaves open those that were not found.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from scheduler.adapters.slurm import rows
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import (
    Meaning,
    SlurmOutputError,
    SlurmUnavailableError,
    meaning_of,
    shortened,
    unavailable,
)
from scheduler.adapters.slurm.rows import QueueRow, Table

T = TypeVar("T")

ONE_BY_ONE = 24
"""At most so many missing jobs are asked for alone; the others stay unknown until the next try."""
ALL_STATES = "--states=all"
"""Also jobs that have ended, as long as slurmctld knows them: an end is told, not guessed."""


@dataclass(frozen=True, slots=True)
class LookResult(Generic[T]):
    """What a look has found: jobs by id, what is not understood of others in words; Slurm knows none of the rest."""

    jobs: Mapping[str, T]
    odd: Mapping[str, str] = field(default_factory=dict)

    def gone(self, job_id: str) -> bool:
        """Whether Slurm has said that it knows no such job."""
        return job_id not in self.jobs and job_id not in self.odd


def at_jobs(runner: CommandRunner, job_ids: Iterable[str]) -> LookResult[QueueRow]:
    """These jobs as they are now, ended ones included. Raises `SlurmUnavailableError`."""
    table = Table.fresh()
    return through(runner, table, table.arguments, set(job_ids), _by_id)


def _by_id(record: str) -> tuple[str, QueueRow]:
    row = rows.decode(record)
    return row.id, row


def through(
    runner: CommandRunner,
    table: Table,
    arguments: Iterable[str],
    wanted: set[str],
    decode: Callable[[str], tuple[str, T]],
) -> LookResult[T]:
    """Ask squeue for these jobs in any format whose rows end with the table's mark. Raises `SlurmUnavailableError`."""
    if not wanted:
        return LookResult({})
    answer = runner.run("squeue", *arguments, ALL_STATES, f"--jobs={','.join(sorted(wanted))}")
    if answer.code != 0 and meaning_of(answer.err) is not Meaning.NOT_FOUND:
        raise unavailable("squeue", answer.err)
    found: dict[str, T] = {}
    odd: dict[str, str] = {}
    nameless = ""
    for record in _records(table, answer.out) if answer.code == 0 else ():
        try:
            job_id, job = decode(record)
        except ValueError as error:
            words = f"{rows.name_of(record)} does not decode: {error}"
            theirs = wanted & set(record.replace(rows.FIELD, "|").split("|", 2)[:2])
            odd |= dict.fromkeys(theirs, words)
            nameless = nameless if theirs else words
            continue
        if job_id in wanted and found.setdefault(job_id, job) != job:
            odd[job_id] = f"squeue tells two things of job {job_id}"
    for job_id in odd:
        found.pop(job_id, None)
    missing = sorted(wanted - found.keys() - odd.keys())
    return LookResult(
        found, odd | (dict.fromkeys(missing, nameless) if nameless else _not_gone(runner, missing))
    )


def _records(table: Table, out: str) -> list[str]:
    try:
        return table.records(out)
    except ValueError as error:
        raise SlurmOutputError(str(error)) from error


def _not_gone(runner: CommandRunner, missing: list[str]) -> dict[str, str]:
    """Those of the missing jobs that Slurm does not say are gone, with why that is not known."""
    late = f"squeue left it out, with {len(missing)} jobs"
    left = dict.fromkeys(missing[ONE_BY_ONE:], late)
    for job_id in missing[:ONE_BY_ONE]:
        try:
            answer = runner.run("scontrol", "--oneliner", "--all", "show", "job", job_id)
        except SlurmUnavailableError as error:
            left[job_id] = str(error)
            continue
        # Of a task that is over while its array is not, scontrol says it in the other output.
        said = answer.err + answer.out
        if answer.code == 0:
            left[job_id] = "squeue left it out, and scontrol knows it"
        elif meaning_of(said) is not Meaning.NOT_FOUND and f"Job {job_id} not found" not in said:
            left[job_id] = f"whether it is there is not known: {shortened(said) or 'scontrol gave no reason'}"
    return left
