"""squeue's table of jobs."""

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
