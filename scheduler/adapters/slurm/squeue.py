"""The two questions to squeue: its table of jobs, and the ids of those that wait."""

from scheduler.adapters.slurm import rows
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmOutputError, unavailable


def squeue(runner: CommandRunner) -> list[str]:
    """The records of squeue. Raises `SlurmUnavailableError`."""
    table = rows.Table.fresh()
    answer = runner.run("squeue", *table.arguments)
    if answer.code != 0:
        raise unavailable("squeue", answer.err)
    try:
        return table.records(answer.out)
    except ValueError as error:
        raise SlurmOutputError(str(error)) from error


def waiting(runner: CommandRunner) -> frozenset[str]:
    """Ids of the jobs that wait, in Slurm's own short form. Raises `SlurmUnavailableError`."""
    answer = runner.run("squeue", "--noheader", "--all", "--local", "--states=PENDING", "--format=%i")
    if answer.code != 0:
        raise unavailable("squeue", answer.err)
    return frozenset(answer.out.split())
