"""A flood: a process that keeps many short jobs pending, so that any hole in a partition is filled within a moment.

Each job writes a line when it starts and one when it ends by itself, so that afterwards it is known, whatever our own
records say, whether anybody has stopped one of them.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.private_slurm import PrivateSlurm

# One to three seconds. The folder is the working directory.
_JOB = """#!/bin/bash
echo start $SLURM_JOB_ID >> $SLURM_JOB_ID
sleep $(( (SLURM_JOB_ID + 2) % 3 + 1 ))
echo end >> $SLURM_JOB_ID
"""
# One and two CPUs in turn; -t 1 lets backfill believe that each is out of the way in a minute.
_LOOP = """
turn=0
while true; do
    waiting=$(squeue --noheader --array --states=PENDING --name=flood --format=%i | wc -l)
    if [ "$waiting" -lt "$DEPTH" ]; then
        turn=$(( turn + 1 ))
        for user in $USERS; do
            sbatch --quiet --uid="$user" --job-name=flood --time=1 --output=/dev/null --ntasks=1 \
                --cpus-per-task=$(( turn % 2 + 1 )) --array=1-$(( DEPTH / 4 )) "$@" job
        done
    fi
    sleep 0.2
done
"""


class Flood:
    """The jobs of one flood, by what they wrote down themselves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def started(self) -> set[str]:
        """Ids of the jobs that have begun."""
        return {path.name for path in self._folder.iterdir() if path.name.isdigit()}

    def cut_short(self) -> set[str]:
        """Ids of the jobs that began and have not ended by themselves, or began more than once."""
        words = {job: (self._folder / job).read_text().split() for job in self.started()}
        return {job for job, told in words.items() if told != ["start", job, "end"]}


@contextmanager
def flood(
    slurm: PrivateSlurm, *options: str, users: tuple[str, ...] = ("dee", "eve"), depth: int = 24
) -> Iterator[Flood]:
    """Jobs with these options of sbatch while the block lasts; there are always about `depth` of them pending."""
    folder = slurm.work / "flood"
    folder.mkdir()
    folder.chmod(0o1777)
    (folder / "job").write_text(_JOB)
    env = {"PATH": os.environ["PATH"], **slurm.env, "USERS": " ".join(users), "DEPTH": str(depth)}
    process = subprocess.Popen(
        ["bash", "-c", _LOOP, "flood", *options],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield Flood(folder)
        assert process.poll() is None, "the flood ended by itself"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
