"""Jobs of several GPUs as elastic jobs on a real Slurm: an array of one-GPU workers that share what is to be done.

A worker takes a piece of the work, at most what it could lose between two saves, does it, and takes the next. What a
worker that was taken away had in hand goes back when it starts again. The last one withdraws those that still wait.
"""

from collections.abc import Iterable, Iterator
from math import ceil
from pathlib import Path
from typing import NamedTuple

from bench.real_day import PARTITION, Planned, Seen
from deploy.private_slurm import PrivateSlurm

MIN_SHARE = 0.5
"""Of its workers a job keeps at least so many, rounded up."""

WORKER = """#!/bin/bash
folder=@FOLDER@ save=@SAVE@ wish=@WISH@
task=$SLURM_ARRAY_TASK_ID
tell() { echo "$1 $2 $task" >> "$folder/log"; }
exec 9> "$folder/lock"
left() { read -r number < "$folder/left"; echo "$number"; }
if [[ ${SLURM_RESTART_COUNT:-0} != 0 ]]; then
    put_back=$(scontrol show job "$SLURM_JOB_ID" | grep -o -m1 'SubmitTime=[^ ]*')
    # Slurm tells whole seconds: after what was done in that second.
    tell stopped "$(date +%s -d "${put_back#*=}").9"
fi
flock 9
if [[ -s $folder/has.$task ]]; then
    read -r had < "$folder/has.$task"
    echo $(($(left) + had)) > "$folder/left"
    rm "$folder/has.$task"
fi
flock -u 9
tell began "$EPOCHREALTIME"
while :; do
    flock 9
    all=$(left) piece=$(((all + wish - 1) / wish))
    ((piece > save)) && piece=$save
    if ((piece == 0)); then
        compgen -G "$folder/has.*" > /dev/null || scancel --quiet --state=PENDING "$SLURM_ARRAY_JOB_ID"
        flock -u 9
        break
    fi
    echo $((all - piece)) > "$folder/left"
    echo "$piece" > "$folder/has.$task"
    flock -u 9
    tell took "$EPOCHREALTIME"
    sleep "$piece" 9>&-
    rm "$folder/has.$task"
    tell did "$EPOCHREALTIME"
done
tell ended "$EPOCHREALTIME"
"""


class Event(NamedTuple):
    """A line of a job's log."""

    at: float
    what: str
    task: str


def least(job: Planned) -> int:
    """How many workers a job keeps."""
    return max(1, ceil(job.gpus * MIN_SHARE))


def submit(slurm: PrivateSlurm, job: Planned, folder: Path, save_s: int, *options: str) -> None:
    """Submit the workers of a job as one array; `folder`: where they share their work, writable for their user."""
    script = WORKER.replace("@FOLDER@", str(folder)).replace("@SAVE@", str(save_s))
    slurm.submit(
        job.user,
        *("-p", PARTITION, "-N1", "-n1", "--mem=10", "--gres=gpu:1", f"--array=1-{job.gpus}", "--requeue"),
        *("-J", job.name, "-o", "/dev/null", f"--comment=elastic:min={least(job)},wish={job.gpus}", *options),
        script=script.replace("@WISH@", str(job.gpus)),
    )


def prepare(folder: Path, job: Planned) -> None:
    """What its workers find: all of the work is to be done."""
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    for name, text in (("left", str(job.work * job.gpus)), ("log", ""), ("lock", "")):
        (folder / name).write_text(f"{text}\n" if text else "")
        (folder / name).chmod(0o666)


def read(job: Planned, folder: Path, submitted: float) -> Seen:
    """What became of a job. It waits until its least number of workers has begun; what takes it below that is a stop,
    every other worker that is taken away is a shrink."""
    seen, running, started = Seen(job), set[str](), set[str]()
    since: float | None = submitted
    taken: dict[str, float] = {}
    for event in sorted(events((folder / "log").read_text().splitlines())):
        if event.what == "took":
            taken[event.task] = event.at
        elif event.what == "did":
            taken.pop(event.task, None)
            seen.stayed = event.at - submitted
        elif event.what == "began":
            running.add(event.task)
            started.add(event.task)
            if since is not None and len(running) >= least(job):
                seen.waited += max(0.0, event.at - since)
                since = None
        elif event.what == "stopped":
            seen.lost += max(0.0, event.at - taken.pop(event.task, event.at))
            running.discard(event.task)
            below = since is None and len(running) < least(job)
            seen.stops += below
            seen.shrinks += not below
            since = event.at if below else since
        else:
            running.discard(event.task)
    seen.ended = (folder / "left").read_text().strip() == "0" and not any(folder.glob("has.*"))
    return seen


def events(lines: Iterable[str]) -> Iterator[Event]:
    """What a log tells."""
    for line in lines:
        what, at, task = line.split()
        yield Event(float(at), what, task)
