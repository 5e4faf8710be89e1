"""scontrol asked about the jobs that squeue does not tell exactly: few one by one, many in one call for all."""

from collections.abc import Callable, Iterable

from scheduler.adapters.slurm import details
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.details import AmbiguousTextError, JobDetails
from scheduler.adapters.slurm.errors import Meaning, meaning_of, unavailable
from scheduler.adapters.slurm.rows import QueueRow

ONE_BY_ONE = 12
"""Up to so many jobs are asked for one by one; more in one call for all (5 ms each; 450 ms for all of 10,000)."""
FEW = 500
"""Where the whole queue is no longer, one call for all is cheaper from the second job on: it is two requests, and one
for a job is three."""


def texts(runner: CommandRunner, wanted: Iterable[QueueRow], queue: int) -> dict[str, JobDetails]:
    """What scontrol says of these jobs, by their own numbers; a job that is not there any more is left out.

    `queue`: how many jobs there are in all. Raises `SlurmUnavailableError`.
    """
    left = {row.raw_id: row for row in wanted}
    found: dict[str, JobDetails] = {}
    if len(left) > (1 if queue <= FEW else ONE_BY_ONE):
        text = _scontrol(runner)
        places = details.places(text)
        for row in left.values():
            _keep(found, row, lambda row: details.find(text, row, places.get(row.raw_id, ())))
        # Imitated, or changed between the two calls: rare, so a few more are worth their calls.
        left = {raw: row for raw, row in left.items() if raw not in found}
    for row in list(left.values())[:ONE_BY_ONE]:
        _keep(found, row, lambda row: details.find_alone(_scontrol(runner, row.id), row))
    return found


def _keep(
    found: dict[str, JobDetails], row: QueueRow, search: Callable[[QueueRow], JobDetails | None]
) -> None:
    try:
        text = search(row)
    except AmbiguousTextError:
        return
    if text is not None:
        found[row.raw_id] = text


def _scontrol(runner: CommandRunner, *job_id: str) -> str:
    answer = runner.run("scontrol", "--oneliner", "--details", "--all", "show", "job", *job_id)
    if answer.code == 0:
        return answer.out
    if job_id and meaning_of(answer.err) is Meaning.NOT_FOUND:
        return ""
    raise unavailable("scontrol show job", answer.err)
