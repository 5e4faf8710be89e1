"""The code of a waiting job's reason where Slurm says a text instead: only `squeue --json` tells both.

In the reason's place squeue and scontrol print a description if slurmctld has one: `Nodes required for job are DOWN…`
stands for Resources, from 26.05 on also `No suitable topology unit found` and others. The texts change from release to
release; the code (`state_reason`) does not. That form of squeue is dear, so only jobs with such a reason are asked for.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmUnavailableError

AT_ONCE = 50
"""At most so many jobs are asked for in one observation."""
BELIEVED_S = 60
"""How long a code is believed while its job's text stays the same: rows change whenever priorities do."""
# One that every release knows, and that is common: its code is Resources.
_KNOWN = "nodes required for job"
_AFTER_A_CODE = re.compile("[,:(]")


def is_text(reason: str) -> bool:
    """Whether a reason is a text rather than a code (`Resources`, `ReqNodeNotAvail, UnavailableNodes:n1`)."""
    said = reason.replace("_", " ").strip()
    return " " in _AFTER_A_CODE.split(said)[0].strip() and not said.lower().startswith(_KNOWN)


@dataclass(slots=True)
class Codes:
    """Asks for codes, remembering them for a while."""

    runner: CommandRunner
    _known: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict, init=False)

    def of(self, texts: Mapping[str, str], now: float) -> dict[str, str]:
        """The codes of jobs whose reasons are these texts, by the jobs' own numbers."""
        if not texts:
            return {}
        self._known = {key: one for key, one in self._known.items() if 0 <= now - one[1] < BELIEVED_S}
        missing = [raw_id for raw_id, text in texts.items() if (raw_id, text) not in self._known]
        told = codes(self.runner, missing)
        self._known.update(
            {(raw_id, texts[raw_id]): (told.get(raw_id, ""), now) for raw_id in missing[:AT_ONCE]}
        )
        return {raw_id: self._known.get((raw_id, text), ("", now))[0] for raw_id, text in texts.items()}


def codes(runner: CommandRunner, job_ids: Iterable[str]) -> dict[str, str]:
    """The codes of these jobs' reasons, as far as Slurm tells them. `job_ids` are Slurm's own numbers.

    Without a code the text counts, and a text that is not known lets its job wait: no failure of this does harm.
    """
    wanted = list(job_ids)[:AT_ONCE]
    if not wanted:
        return {}
    try:
        answer = runner.run("squeue", "--json", "--all", "--local", f"--jobs={','.join(wanted)}")
    except SlurmUnavailableError:
        return {}
    if answer.code != 0:
        return {}
    try:
        told = json.loads(answer.out)
    except (ValueError, RecursionError):
        return {}
    jobs = told.get("jobs") if isinstance(told, dict) else None
    return dict(filter(None, map(_code, jobs if isinstance(jobs, list) else [])))


def _code(job: Any) -> tuple[str, str] | None:
    if not isinstance(job, dict):
        return None
    code = job.get("state_reason")
    return (str(job.get("job_id")), code) if isinstance(code, str) and code.isalnum() else None
