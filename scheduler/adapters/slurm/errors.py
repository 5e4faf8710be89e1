"""What Slurm's commands say when they do not do what was asked, and what each of it means for us.

Every message known from slurmctld 22.05, 24.11 and 26.05 stands once, in `MESSAGES`. A message that is not listed is
not understood: whether the change was made is unknown then, and the job is looked at again. It is no refusal, for a
stop that is taken for refused although it took effect would leave its job held.
"""

import re
import traceback
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from scheduler.model.actions import ActionOutcome, OutcomeKind
from scheduler.ports import ClusterUnavailableError

MAX_DETAIL = 200
MAX_MESSAGE = 1 << 20
"""Characters of an error output that are looked at."""


class SlurmUnavailableError(ClusterUnavailableError):
    """slurmctld or its commands cannot be reached; the message says why in one sentence."""


class SlurmTimeoutError(SlurmUnavailableError):
    """A command did not end in time. For a change this means: nobody knows whether it was made."""


class SlurmOutputError(SlurmUnavailableError):
    """A command answered with more than can be believed, or with a table that is cut off."""


class CommandNotAllowedError(ValueError):
    """A programming error: the command or one of its arguments is not on the allow-list. Nothing was run."""


class Meaning(StrEnum):
    """What a message of Slurm comes down to."""

    ALREADY = "already"
    NOT_FOUND = "not_found"
    REFUSED = "refused"
    NOT_YET = "not_yet"
    UNREACHABLE = "unreachable"
    NOT_UNDERSTOOD = "not_understood"


_OUTCOMES = {
    Meaning.ALREADY: OutcomeKind.ALREADY,
    Meaning.NOT_FOUND: OutcomeKind.GONE,
    Meaning.REFUSED: OutcomeKind.REFUSED,
    Meaning.NOT_YET: OutcomeKind.UNKNOWN,
    Meaning.UNREACHABLE: OutcomeKind.UNKNOWN,
    Meaning.NOT_UNDERSTOOD: OutcomeKind.UNKNOWN,
}

# Lower case; the first entry that is contained in a message decides.
MESSAGES: tuple[tuple[str, Meaning], ...] = (
    ("nothing modified", Meaning.ALREADY),
    ("job/step already completing or completed", Meaning.ALREADY),
    # requeuehold of a job that is pending: it is off its nodes, as wished
    ("job is pending execution", Meaning.ALREADY),
    ("invalid job id specified", Meaning.NOT_FOUND),
    ("invalid job array specification", Meaning.NOT_FOUND),
    # release, or a new begin time, for a job that runs
    ("job is no longer pending execution", Meaning.ALREADY),
    ("job has already finished", Meaning.NOT_FOUND),
    # --no-requeue
    ("requested operation is presently disabled", Meaning.REFUSED),
    # salloc, srun
    ("only batch jobs are accepted or processed", Meaning.REFUSED),
    ("job not heterogeneous job leader", Meaning.REFUSED),
    ("job is in held state", Meaning.REFUSED),
    # their next start is the crontab's, whoever asks
    ("cannot modify scrontab jobs", Meaning.REFUSED),
    ("access/permission denied", Meaning.REFUSED),
    # of a running job that is to be shrunk: a node that it does not have, or not the one of its script
    ("invalid node name specified", Meaning.REFUSED),
    ("user not found on host", Meaning.REFUSED),
    ("invalid user id", Meaning.REFUSED),
    ("requested partition configuration not available", Meaning.REFUSED),
    ("requested node configuration is not available", Meaning.REFUSED),
    # of a reservation: it is not there; another one has the nodes, if only one that has just ended; a job is in it
    ("requested reservation is invalid", Meaning.NOT_FOUND),
    ("requested reservation overlaps", Meaning.NOT_YET),
    ("requested reservation is in use", Meaning.NOT_YET),
    ("start time cannot be after end time", Meaning.REFUSED),
    ("job update not available right now", Meaning.NOT_YET),
    ("job can not be altered now, try again later", Meaning.NOT_YET),
    ("slurmd is not running", Meaning.NOT_YET),
    ("transport endpoint is not connected", Meaning.UNREACHABLE),
    ("unable to contact slurm controller", Meaning.UNREACHABLE),
    ("unable to establish control machine address", Meaning.UNREACHABLE),
    ("unable to establish configuration source", Meaning.UNREACHABLE),
    ("connection refused", Meaning.UNREACHABLE),
    ("connection timed out", Meaning.UNREACHABLE),
    ("socket timed out", Meaning.UNREACHABLE),
    ("zero bytes were transmitted or received", Meaning.UNREACHABLE),
    ("slurm backup controller in standby mode", Meaning.UNREACHABLE),
    ("protocol authentication error", Meaning.UNREACHABLE),
    ("authentication credential", Meaning.UNREACHABLE),
    ("munge encode failed", Meaning.UNREACHABLE),
    ("could not establish a configuration source", Meaning.UNREACHABLE),
    ("incompatible versions of client and server code", Meaning.UNREACHABLE),
    ("communication connection failure", Meaning.UNREACHABLE),
    ("communication shutdown failure", Meaning.UNREACHABLE),
    ("message send failure", Meaning.UNREACHABLE),
    ("message receive failure", Meaning.UNREACHABLE),
    ("resource temporarily unavailable", Meaning.UNREACHABLE),
)

# scontrol: "Invalid job id specified for job 777"; an array task: "46_2: Job is pending execution" (26.05: "46_[2]"),
# several of them: "46_31-33,71: Job has already finished", and beside it of the others "46_36,56-63: No error";
# scancel: "error: Kill job error on job id 777: Invalid job id specified".
_NAMED = (
    re.compile(r"^(?P<text>.+?) for job (?P<id>\d+(?:_\d+)?)$"),
    re.compile(r"^Kill job error on job id (?P<id>\d+(?:_\d+)?): (?P<text>.+)$"),
    re.compile(r"^(?P<id>\d+_(?:[\d,-]+|\[[\d,-]+\])): (?P<text>.+)$"),
)
_WELL = "no error"
_MOST_TASKS = 10_000
"""A range of more names nobody: the whole call is looked at again."""
_NO_BRACKETS = str.maketrans("", "", "[]")
_PREFIX = re.compile(r"^(?:scontrol|scancel|squeue): (?:error: |fatal: )?|^error: ")


@dataclass(frozen=True, slots=True)
class Complaints:
    """The messages of one call: those that name a job, and those that are about the whole call."""

    named: dict[str, str]
    general: tuple[str, ...] = ()


def meaning_of(message: str) -> Meaning:
    """What a message means."""
    lowered = message[:MAX_MESSAGE].lower()
    return next((meaning for text, meaning in MESSAGES if text in lowered), Meaning.NOT_UNDERSTOOD)


def shortened(message: str) -> str:
    """A message fit for storing: one line of printable characters, bounded."""
    message = message[: MAX_MESSAGE >> 4]
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return line if len(line) <= MAX_DETAIL else line[: MAX_DETAIL - 1] + "…"


def outcome_of(message: str) -> ActionOutcome:
    """The outcome that a message of Slurm stands for."""
    return ActionOutcome(_OUTCOMES[meaning_of(message)], shortened(message))


def complaints(stderr: str) -> Complaints:
    """Sort the lines of an error output by the job they name."""
    named: dict[str, str] = {}
    general: list[str] = []
    for line in stderr[:MAX_MESSAGE].splitlines():
        text = _PREFIX.sub("", line.strip())
        match = next((m for pattern in _NAMED if (m := pattern.match(text))), None)
        if match:
            tasks = _tasks(match["id"].translate(_NO_BRACKETS))
            if not tasks:
                general.append(text)
            for job_id in tasks if match["text"].lower() != _WELL else ():
                # The first word on a job is the reason; what follows it is an echo.
                named.setdefault(job_id, match["text"])
        elif text:
            general.append(text)
    return Complaints(named, tuple(general))


def _tasks(job_id: str) -> list[str]:
    """`46_31-33,71` one by one; nothing where that is no list of tasks."""
    array, _, places = job_id.partition("_")
    found: list[str] = []
    for part in places.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal()):
            return [] if places else [job_id]
        if len(found) + int(last) - int(first) >= _MOST_TASKS:
            return []
        found += [f"{array}_{task}" for task in range(int(first), int(last) + 1)]
    return found


def not_understood(program: str, error: Exception) -> SlurmOutputError:
    """The error for an answer that no decoder had foreseen: what went wrong with it, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    words = shortened(f"{type(error).__name__}{place}: {error}")
    return SlurmOutputError(f"{program} is not understood ({words})")


def unavailable(program: str, stderr: str) -> SlurmUnavailableError:
    """The error for a read that failed."""
    words = shortened(stderr) or "it gave no reason"
    return SlurmUnavailableError(f"{program} failed: {words}")
