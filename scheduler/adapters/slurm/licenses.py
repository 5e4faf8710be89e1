"""Licences: a pending job that wants more of one than is free would not start, whatever room is made for it.

Slurm says "Licenses" only of a job that it has just tried to start.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from scheduler.adapters.slurm import values
from scheduler.model.jobs import JobState, ObservedJob

_WORD = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)")
_BETWEEN = re.compile("[,;|]")


def decode(record: str) -> tuple[str, int]:
    """A record of `scontrol --oneliner show licenses`: name, and how many are free and not reserved.

    Raises ValueError, KeyError when it does not decode.
    """
    words: dict[str, str] = dict(_WORD.findall(record))
    return words["LicenseName"], values.number(words["Free"]) - values.number(words.get("Reserved", "0"))


def free(records: Iterable[str]) -> dict[str, int]:
    """How many are free, by name. Of a licence whose record does not decode there is none."""
    left: dict[str, int] = {}
    for record in records:
        try:
            name, count = decode(record)
        except (ValueError, KeyError):
            continue  # no record, no licence: whoever wants one of these waits
        left[name] = count
    return left


def wanted(text: str) -> dict[str, int]:
    """`matlab:2,stata` as amounts. Of alternatives (`a|b`) all count: stricter than Slurm, never looser."""
    amounts: dict[str, int] = {}
    for part in _BETWEEN.split(text) if text else ():
        name, _, count = part.partition(":")
        amounts[name] = amounts.get(name, 0) + values.number(count or "1")
    return amounts


def respect(jobs: Sequence[ObservedJob], free: Callable[[], Mapping[str, int]]) -> list[ObservedJob]:
    """The jobs, with those marked that wait for licences. `free` is asked only when somebody wants some."""
    if not any(job.licenses and job.state is JobState.PENDING for job in jobs):
        return list(jobs)
    left = free()
    return [_waiting(job, left) if job.state is JobState.PENDING else job for job in jobs]


def _waiting(job: ObservedJob, free: Mapping[str, int]) -> ObservedJob:
    try:
        wish = wanted(job.licenses)
    except ValueError:
        why = f"its licences {job.licenses[:40]} are not understood"
        return replace(job, unplannable=job.unplannable or why)
    for name, count in wish.items():
        if count > free.get(name, 0):
            why = f"it waits for licences ({name[:40]})"
            return replace(job, unplannable=job.unplannable or why)
    return job
