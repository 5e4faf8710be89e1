"""The two questions to squeue: its table of jobs, and the ids of those that wait."""

from scheduler.adapters.slurm import rows
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmOutputError


def squeue(runner: CommandRunner) -> list[str]:
    """The records of squeue. Raises `SlurmUnavailableError`."""
    table = rows.Table.fresh()
    out = runner.ask("squeue", *table.arguments)
    try:
        return table.records(out)
    except ValueError as error:
        raise SlurmOutputError(str(error)) from error


def waiting(runner: CommandRunner) -> frozenset[str]:
    """Ids of the jobs that wait, in Slurm's own short form. Raises `SlurmUnavailableError`."""
    out = runner.ask("squeue", "--noheader", "--all", "--local", "--states=PENDING", "--format=%i")
    return frozenset(out.split())
