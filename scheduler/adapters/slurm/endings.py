"""What became of jobs that are in the queue no more: of squeue while slurmctld remembers them, then of sacct.

slurmctld forgets an ended job after MinJobAge. Where the site keeps an account (slurmdbd), sacct tells of it for ever;
of a job that was requeued it has a row per run, of which the last one counts.
"""

import pwd
from collections.abc import Collection, Iterator
from dataclasses import replace

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.allowed import is_job_id
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import Meaning, SlurmUnavailableError, meaning_of, unavailable
from scheduler.model.endings import Ending, EndKind

STORAGE = "accounting_storage/slurmdbd"
AT_ONCE = 500
_FORMAT = "--Format=JobArrayID:|,State:|,exit_code:|,StartTime:|,EndTime:|"
_SACCT_FORMAT = "--format=JobID,State,ExitCode,Start,End"
_FIELDS = 5
_KINDS = {
    "COMPLETED": EndKind.COMPLETED,
    "CANCELLED": EndKind.CANCELLED,
    **dict.fromkeys(("TIMEOUT", "DEADLINE"), EndKind.TIMED_OUT),
    **dict.fromkeys(
        (
            "FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "LAUNCH_FAILED",
            "RECONFIG_FAIL",
        ),
        EndKind.FAILED,
    ),
    **dict.fromkeys(
        (
            "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING",
            "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "STAGE_OUT", "EXPEDITING",
        ),
        EndKind.ALIVE,
    ),
}  # fmt: skip
_UNANSWERED = Ending(EndKind.UNTOLD)


def look(runner: CommandRunner, job_ids: Collection[str], *, storage: str) -> dict[str, Ending]:
    """The endings of jobs, as far as somebody remembers them. `storage`: the AccountingStorageType.

    Raises `SlurmUnavailableError` when slurmctld does not answer; what slurmdbd does not answer is `untold`.
    """
    wanted = sorted(job_id for job_id in set(job_ids) if is_job_id(job_id))
    found: dict[str, Ending] = {}
    for first in range(0, len(wanted), AT_ONCE):
        found.update(_remembered(runner, wanted[first : first + AT_ONCE]))
    forgotten = [job_id for job_id in wanted if job_id not in found]
    if forgotten and storage.strip() == STORAGE:
        for first in range(0, len(forgotten), AT_ONCE):
            found.update(_accounted(runner, forgotten[first : first + AT_ONCE]))
    return {job_id: found[job_id] for job_id in wanted if job_id in found}


def _remembered(runner: CommandRunner, job_ids: list[str]) -> dict[str, Ending]:
    answer = runner.run(
        "squeue", "--noheader", "--array", "--all", "--local", "--states=all", _FORMAT, f"--jobs={','.join(job_ids)}"
    )  # fmt: skip
    if answer.code != 0:
        if meaning_of(answer.err) is Meaning.NOT_FOUND:
            return {}
        raise unavailable("squeue", answer.err)
    return dict(_decoded(answer.out))


def _accounted(runner: CommandRunner, job_ids: list[str]) -> dict[str, Ending]:
    try:
        answer = runner.run(
            "sacct", "--noheader", "--parsable2", "--allocations", "--allusers", "--duplicates", _SACCT_FORMAT,
            f"--jobs={','.join(job_ids)}",
        )  # fmt: skip
    except SlurmUnavailableError:
        return dict.fromkeys(job_ids, _UNANSWERED)
    if answer.code != 0:
        return dict.fromkeys(job_ids, _UNANSWERED)
    return {job_id: _once_over(ending) for job_id, ending in _decoded(answer.out)}


def _once_over(ending: Ending) -> Ending:
    """An ending that slurmdbd has in full, else an untold one.

    A short job has ended when slurmctld sends its beginning: slurmdbd has the last state then, but no end and no exit
    code before the next message.
    """
    if ending.end is None and ending.kind is not EndKind.ALIVE:
        return replace(ending, kind=EndKind.UNTOLD)
    return ending


def _decoded(out: str) -> Iterator[tuple[str, Ending]]:
    """Job and ending per line, in their order. A line that does not begin with a job's number tells of none."""
    for line in out.splitlines():
        fields = line.split("|")
        if not is_job_id(fields[0]):
            continue
        try:
            yield fields[0], _ending(*fields[1:_FIELDS])
        except (ValueError, TypeError):
            yield fields[0], Ending(EndKind.UNTOLD, "".join(c for c in line[:40] if c.isprintable()))


def _ending(state: str, status: str, start: str, end: str) -> Ending:
    word, _, by = state.partition(" by ")
    exit_code, signal = _exit(status)
    return Ending(
        _KINDS.get(word.split("+")[0].strip(), EndKind.UNTOLD),
        word.strip()[:40],
        exit_code=exit_code,
        signal=signal,
        by=_user(by.strip()),
        start=values.moment(start),
        end=values.moment(end),
    )


def _exit(status: str) -> tuple[int, int]:
    """Exit code and signal: `3:0` since 23.02, before that a wait status such as `768`."""
    code, mark, signal = status.partition(":")
    if mark:
        return int(code), int(signal)
    return int(status) >> 8, int(status) & 0x7F


def _user(uid: str) -> str:
    """The name of a user that sacct tells by number; the number where this machine does not know it."""
    if not uid.isdecimal():
        return uid[:64]
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except (KeyError, OverflowError):
        return uid[:20]
