"""What runs and listens on this machine, to see that nothing of a private Slurm is left."""

import re
import time
from pathlib import Path

from deploy.private_slurm import PrivateSlurm
from deploy.private_slurm.keeper import descendants, parents


def started(pid: int) -> str:
    """The start time of a process in the kernel's own units: a pid used again is another process."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]


def all_of(slurm: PrivateSlurm) -> dict[int, str]:
    """Every process of a running private Slurm, its jobs' own included."""
    found = {}
    for pid in [slurm.pid, *descendants(slurm.pid)]:
        try:
            found[pid] = started(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # a step that ended this moment
    return found


def alive(processes: dict[int, str]) -> list[int]:
    found = []
    for pid in set(processes) & set(parents()):
        try:
            if started(pid) == processes[pid]:
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended while we were looking
    return found


def gone_within(processes: dict[int, str], timeout_s: float) -> bool:
    until = time.monotonic() + timeout_s
    while alive(processes) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(processes)


def ports(conf: Path) -> list[int]:
    """The ports of slurm.conf: slurmctld's and one per node."""
    return [int(port) for port in re.findall(r"(?:SlurmctldPort|\bPort)=(\d+)", conf.read_text())]
