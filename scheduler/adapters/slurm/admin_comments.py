"""Slurm's AdminComment of a job: others keep their data in it, too. What is not ours stays, always.

Ours is one part, `giveway: WORDS`, or `giveway-place:MOMENT` (`placing`), set off from what stands before and behind it
by ` // `. Only that part is replaced or taken away. Where it is not known what stands there, or both have no room
together, nothing is written.
"""

import re
import secrets
from collections.abc import Mapping, Sequence

from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmUnavailableError

LONGEST = 1000
"""Of what stands in it in all. Slurm takes more, but cuts it in some of its tables."""
AT_ONCE = 500
"""So many jobs are asked for in one call."""
SEPARATOR = " // "
_OURS = re.compile(r"(?:^| // )giveway(?:: |-place:)(?:(?! // ).)*", re.DOTALL)
_EMPTY = frozenset({"", "(null)", "N/A"})
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f]")


def read_admin_comments(runner: CommandRunner, job_ids: Sequence[str]) -> dict[str, str] | None:
    """The comments of these jobs, of at most `AT_ONCE`; None when Slurm does not tell."""
    wanted = job_ids[:AT_ONCE]
    if not wanted:
        return {}
    mark = "g" + secrets.token_hex(5)
    fields = f"--Format=JobArrayID:|,admin_comment:{mark};"
    asked = (
        "--noheader",
        "--array",
        "--all",
        "--local",
        fields,
        "--states=all",
        f"--jobs={','.join(wanted)}",
    )
    try:
        answer = runner.run("squeue", *asked)
    except SlurmUnavailableError:
        return None
    if answer.code != 0:
        return None
    found = {}
    for record in answer.out.split(f"{mark};\n")[:-1]:
        job_id, _, said = record.partition("|")
        found[job_id] = "" if said in _EMPTY else said
    return found


def with_ours(present: str, ours: str) -> str | None:
    """What is to stand there, with our part new (or without one, when `ours` is empty); None: it cannot be written."""
    theirs = _OURS.sub("", present).removeprefix(SEPARATOR)
    together = SEPARATOR.join(part for part in (theirs, ours.replace(SEPARATOR, " / ")) if part)
    fits = len(together) <= LONGEST and not _UNWRITABLE.search(together)
    return together if fits else None


def by_comment(present: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, list[str]]:
    """The jobs by what is to be written. Who has it already, or cannot have it, is left out."""
    wanted: dict[str, list[str]] = {}
    for job_id, text in ours.items():
        if job_id not in present:
            continue
        comment = with_ours(present[job_id], text)
        if comment is not None and comment != present[job_id]:
            wanted.setdefault(comment, []).append(job_id)
    return wanted
