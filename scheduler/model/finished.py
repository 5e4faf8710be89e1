"""A job that has ended, as the cluster's accounting tells it: what run times are learned from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The last run of a job that is over. Text is hostile input. Times are epoch seconds, memory is in MB.

    `nodes`, `cpus`, `gpus` (accelerators of whichever kind), `memory_mb`: what was asked for, of all nodes
    together. `state`: Slurm's own word.
    `command`: program and script (`command_line.command_of`).
    """

    job_id: str
    user: str
    account: str
    name: str
    partition: str
    qos: str
    submit: int
    start: int
    end: int
    nodes: int
    cpus: int
    gpus: int
    memory_mb: int
    limit_s: int | None = None
    state: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class FinishedRuns:
    """What accounting tells of a span of time.

    `kept`: whether there is accounting at all. `strange`: how many lines could not be read; `fault`: why nothing could.
    """

    kept: bool
    runs: tuple[FinishedRun, ...] = ()
    strange: int = 0
    fault: str = ""
