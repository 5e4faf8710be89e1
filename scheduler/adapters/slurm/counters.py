"""`glance()`: slurmctld's own counters, one request of a third of a millisecond whatever the length of the queue.

`sdiag` tells everybody how many jobs were submitted, started, completed, cancelled and failed, and how often each kind
of request was made, of all users. Whatever somebody changes is a request: a submission, a `scontrol update`, a hold, a
node that is drained. What slurmctld does by itself, but for starting and ending jobs, moves none of them: a node that
fails, a reservation that begins, a job's priority. All begin anew at midnight, with `sdiag --reset`, and from 24.11 on
with `scontrol reconfigure`. (Tried on 22.05.8, 24.11.5, 26.05.5.)
"""

import re

from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmOutputError
from scheduler.adapters.slurm.requests import RPC_OF
from scheduler.model.observation import Glance

_JOBS = re.compile(r"^Jobs (submitted|started|completed|canceled|failed):[ \t]+(\d+)", re.MULTILINE)
_SINCE = re.compile(r"^Data since.*\((\d+)\)\s*$", re.MULTILINE)
_RPC = re.compile(r"^\t([A-Z][A-Z0-9_]*)[ \t]+\([ \t]*\d+\) count:(\d+)[ \t]+ave_time:(\d+)", re.MULTILINE)
_BY_TYPE, _BY_USER = "statistics by message type", "statistics by user"
_NOTHING = re.compile(
    r"_INFO(_SINGLE)?$|_PING$|_STATUS$|_STEP(_|$)|_SBCAST"
    r"|^REQUEST_(CONFIG|BATCH_SCRIPT|JOB_(READY|STATE|END_TIME|NOTIFY|WILL_RUN)|PRIORITY_FACTORS|AUTH_TOKEN)$"
    r"|^REQUEST_PERSIST_INIT$"
)
"""Requests that change no job and no node: questions, pings, what nodes tell of themselves, what goes on in jobs."""


def glance(runner: CommandRunner) -> Glance:
    """The counters now. Raises `SlurmUnavailableError`, also where sdiag is not there."""
    return decode(runner.ask("sdiag"))


def decode(out: str) -> Glance:
    """What sdiag tells. Raises `SlurmOutputError` where the counters are not in it."""
    jobs = {name: int(count) for name, count in _JOBS.findall(out)}
    if "submitted" not in jobs:
        raise SlurmOutputError("sdiag tells no counters of jobs")
    since = _SINCE.search(out)
    told = _RPC.findall(out.partition(_BY_TYPE)[2].partition(_BY_USER)[0])
    changes = sum(int(count) for name, count, _ in told if not _NOTHING.search(name))
    average = {name: int(micros) for name, _, micros in told}
    return Glance(
        submitted=jobs["submitted"],
        changed=(int(since[1]) if since else 0, changes, *(jobs[name] for name in sorted(jobs))),
        answer_s={kind: average[name] / 1e6 for kind, name in RPC_OF.items() if name in average},
    )
