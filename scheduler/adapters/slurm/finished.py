"""Jobs that have ended within a span of time, from Slurm's accounting (`sacct`): what run times are learned from.

Names are hostile: a user may write a line of sacct's into the name of a job. So fields are parted by a text that is
drawn anew for each question; who does not know it cannot make a line. Nothing is changed.
"""

import os
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from scheduler.adapters.slurm import config as configs
from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.allowed import is_job_id
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.endings import STORAGE
from scheduler.adapters.slurm.errors import SlurmUnavailableError, not_understood
from scheduler.model.command_line import command_of
from scheduler.model.finished import FinishedRun, FinishedRuns
from scheduler.model.resource_kinds import count_accelerators

FIELDS = (
    "JobID", "User", "Account", "Partition", "QOS", "Submit", "Start", "End", "ReqTRES", "TimelimitRaw", "State",
    "JobName", "SubmitLine",
)  # fmt: skip
STATES = "CD,F,TO,CA,OOM,DL"
"""How a run ends by itself, or by a person. What a node or a preemption ended would have run longer."""
_LONGEST = 200
_MINUTE = 60


def look(
    since: int,
    until: int,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
    runner: CommandRunner | None = None,
) -> FinishedRuns:
    """The last runs of jobs that ended from `since` on and before `until` (epoch seconds); never raises for what Slurm
    answers."""
    runner = runner or CommandRunner(
        dict(os.environ if env is None else env), timeout_s, max_bytes=256 * 1024 * 1024
    )
    try:
        config = configs.words_of(runner.ask("scontrol", "--all", "show", "config"))
        if config.get("AccountingStorageType", "").strip() != STORAGE:
            return FinishedRuns(kept=False)
        mark = secrets.token_hex(8)
        out = runner.ask("sacct", "--noheader", "--parsable2", "--allocations", "--allusers", f"--state={STATES}",
            f"--starttime={_told(since)}", f"--endtime={_told(until)}", f"--delimiter={mark}",
            f"--format={','.join(FIELDS)}",
        )  # fmt: skip
    except SlurmUnavailableError as error:
        return FinishedRuns(kept=True, fault=str(error))
    except Exception as error:  # noqa: BLE001 - an answer that no decoder had foreseen
        return FinishedRuns(kept=True, fault=str(not_understood("Slurm's answer", error)))
    return decode(out, mark, since, until)


def decode(out: str, mark: str, since: int, until: int) -> FinishedRuns:
    """The runs in sacct's answer that ended within the span. Rows that are not understood are counted."""
    runs, strange = [], 0
    for record in _records(out, mark):
        try:
            run = _run(record.split(mark))
        except (ValueError, OverflowError):
            strange += 1
            continue
        if run is not None and since <= run.end < until:
            runs.append(run)
    return FinishedRuns(kept=True, runs=tuple(runs), strange=strange)


def _records(out: str, mark: str) -> Iterator[str]:
    """The rows of an answer: a name or a command may go over several lines."""
    record, whole = "", len(FIELDS) - 1
    for line in out.split("\n"):
        marks, before = line.count(mark), record.count(mark)
        if record and (not marks or (before < whole and before + marks == whole)):
            record += "\n" + line
            continue
        if record:
            yield record
        record = line
    if record:
        yield record


def _run(fields: list[str]) -> FinishedRun | None:
    """One line; None for a job that never ran. Raises `ValueError`."""
    if len(fields) != len(FIELDS):
        raise ValueError(f"{len(fields)} fields")
    job_id, user, account, partition, qos, submit, start, end, tres, limit, state, name, line = fields
    began, ended, submitted = values.moment(start), values.moment(end), values.moment(submit)
    if began is None:
        return None
    if not is_job_id(job_id) or ended is None or submitted is None or ended < began:
        raise ValueError(f"{job_id[:40]!r} is no run of a job")
    asked = values.tres(tres)
    return FinishedRun(
        job_id=job_id,
        user=user[:64],
        account=account[:64],
        name=name[:_LONGEST],
        partition=partition.split(",")[0][:64],
        qos=qos[:64],
        submit=submitted,
        start=began,
        end=ended,
        nodes=max(1, values.number(asked.get("node", "1"))),
        cpus=values.number(asked.get("cpu", "1")),
        gpus=count_accelerators(values.gres_of_tres(asked)),
        memory_mb=(values.memory(asked["mem"]) or 0) if "mem" in asked else 0,
        limit_s=int(limit) * _MINUTE if limit.isdecimal() and len(limit) < _LONGEST else None,
        state=(state.split() or [""])[0][:40],
        command=command_of(line),
    )


def _told(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")
