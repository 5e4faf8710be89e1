"""The one order of pending jobs, and of ids."""

import re
from functools import lru_cache

from scheduler.model.jobs import Level, SnapshotJob
from scheduler.model.policy import Mode
from scheduler.priority.levels import weight

_NUMBER = re.compile("[0-9]+")

_USER, _USER_THEN_TASK, _TASK_THEN_USER = Mode.USER, Mode.USER_THEN_TASK, Mode.TASK_THEN_USER
"""Python looks a member of an enumeration up anew each time; these are asked for of every job."""

NaturalKey = tuple[str, str]
OrderKey = tuple[int, int, int, NaturalKey]


@lru_cache(maxsize=1 << 16)
def natural(text: str) -> NaturalKey:
    """An order of ids and names in which numbers count as numbers: `n2` before `n10`, `7_2` before `7_10`.

    Tasks that are named together stand where the first of them does: `7_[1-3]` before `7_4`.
    """
    if text.isascii() and text.isdecimal() and text[0] != "0":
        return f"0{chr(len(text))}{text}", text  # The same, for most ids of jobs, in a third of the time.
    # Leading zeros make different texts equal as numbers ("n1", "n01"): the text itself decides then.
    return _NUMBER.sub(_by_length, text.replace("[", "")), text


def _by_length(number: re.Match[str]) -> str:
    """A number as a text that sorts as the number does: its length comes first. It still sorts as a digit
    would."""
    significant = number[0].lstrip("0")
    return f"0{chr(len(significant))}{significant}"


def ranks(mode: Mode, job: SnapshotJob) -> tuple[int, int]:
    """A job's weights on the mode's first and second axis; 0 on a second axis that the mode does not have."""
    return ranks_of(mode, job.user_level, job.task_level)


def ranks_of(mode: Mode, user_level: Level, task_level: Level) -> tuple[int, int]:
    """The same of two levels."""
    user, task = weight(user_level), weight(task_level)
    if mode is _USER_THEN_TASK:
        return user, task
    if mode is _TASK_THEN_USER:
        return task, user
    return (user, 0) if mode is _USER else (task, 0)


def pending_order(mode: Mode, job: SnapshotJob) -> OrderKey:
    """Who is decided first: by the mode's first priority, then its second, submit time, id (spec 1.4)."""
    first, second = ranks(mode, job)
    return -first, -second, job.submit, natural(job.id)
