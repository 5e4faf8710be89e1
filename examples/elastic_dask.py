#!/usr/bin/env python3
"""A Dask computation whose workers may be taken and given back while it runs.

    sbatch -n1 --wrap "python3 elastic_dask.py"

The job that you submit is the computation, with Dask's scheduler in it. It submits its workers as tasks of an array,
with the comment `elastic:min=2,wish=4`: so many it needs at least, so many it would like. Giveway takes tasks of the
array when more urgent jobs need room, and lets them go on when there is room again. What a worker was computing when it
was taken is computed again by another one; a worker that comes back joins the computation by itself.

Put your own work in the place of `part`. Python needs the package `distributed`, here and on the nodes, and a folder
that all nodes see (the one that you submit from).

Settings, from the environment: PARTS, PART_S, WORKERS, WORKERS_MIN; WORKER_OPTIONS, for sbatch; DASK_HOST, the address
at which workers find the scheduler, where this host has several.
"""

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import dask
from distributed import Client, LocalCluster, Scheduler, SchedulerPlugin, Worker, as_completed

PARTS = int(os.environ.get("PARTS", "120"))
PART_S = float(os.environ.get("PART_S", "2"))
WORKERS = int(os.environ.get("WORKERS", "4"))
WORKERS_MIN = int(os.environ.get("WORKERS_MIN", "2"))
WORKER_OPTIONS = shlex.split(os.environ.get("WORKER_OPTIONS", "-n1 -c1"))
PLACE = Path(os.environ.get("SLURM_SUBMIT_DIR", "."))
STEPS = 10_000
"""Into so many slices a part is cut."""
LEAVE_S = 2.0
"""Slurm waits for KillWait between asking and killing, and the results that a worker holds have to be elsewhere."""

# Dask gives up a computation whose workers died so often; here they do not die of it.
dask.config.set({"distributed.scheduler.allowed-failures": 10_000})


def part(number: int) -> float:
    """One part of the area below 4/(1+x²) from 0 to 1, which is pi. It is made to last."""
    time.sleep(PART_S)
    width = 1 / (PARTS * STEPS)
    return sum(4 / (1 + ((number * STEPS + step + 0.5) * width) ** 2) for step in range(STEPS)) * width


def say(what: str, **more: object) -> None:
    """One line of the log, for people and for programs."""
    print(json.dumps({"at": round(time.time(), 2), "what": what, **more}), flush=True)


class Watching(SchedulerPlugin):
    """Tells which workers there are, and how often each part was computed."""

    def __init__(self) -> None:
        self.workers: set[str] = set()
        self.computed: Counter[str] = Counter()

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """A worker has joined."""
        self.workers.add(worker)
        say("joined", worker=str(scheduler.workers[worker].name), workers=len(self.workers))

    def remove_worker(self, scheduler: Scheduler, worker: str, **more: object) -> None:
        """A worker has left."""
        self.workers.discard(worker)
        say("left", worker=worker, workers=len(self.workers))

    def transition(self, key: str, start: str, finish: str, *_arguments: object, **_more: object) -> None:
        """A part has another state."""
        if (start, finish) == ("processing", "memory"):
            self.computed[key] += 1


def submit_workers(address: str) -> str:
    """The array of workers; its id."""
    command = [sys.executable, str(Path(__file__).resolve()), "worker", address]
    options = [f"--array=1-{WORKERS}", f"--comment=elastic:min={WORKERS_MIN},wish={WORKERS}", "--requeue"]
    options += ["--job-name=dask-worker", "--open-mode=append", f"--output={PLACE}/worker.%a.out"]
    # `exec`: what Slurm tells the script, the worker hears.
    wrapped = f"--wrap=exec {shlex.join(command)}"
    said = subprocess.run(
        ["sbatch", "--parsable", *options, *WORKER_OPTIONS, wrapped],
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip().partition(";")[0]


def compute() -> float:
    """The whole computation; every part's result is counted once."""
    watching, results = Watching(), {}
    with LocalCluster(n_workers=0, dashboard_address=None, host=os.environ.get("DASK_HOST")) as cluster:
        cluster.scheduler.add_plugin(watching)
        array = submit_workers(cluster.scheduler_address)
        say("submitted", array=array, parts=PARTS)
        try:
            with Client(cluster) as client:
                futures = client.map(part, range(PARTS), key=[f"part-{number}" for number in range(PARTS)])
                for future, result in as_completed(futures, with_results=True):
                    results[future.key] = result
                    future.release()
        finally:
            subprocess.run(["scancel", array], check=True)
    lost = [f"part-{number}" for number in range(PARTS) if f"part-{number}" not in results]
    again = {key: times for key, times in watching.computed.items() if times > 1}
    pi = sum(results[key] for key in sorted(results))
    say("finished", parts=len(results), lost=lost, computed_again=again, pi=pi)
    return pi


async def work(address: str) -> None:
    """One worker, until Slurm takes it or the computation is over."""
    name = f"{os.environ.get('SLURM_ARRAY_TASK_ID', 'w')}.{os.environ.get('SLURM_RESTART_COUNT') or 0}"
    scratch = tempfile.mkdtemp(prefix="dask-")
    try:
        await serve(address, name, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def serve(address: str, name: str, scratch: str) -> None:
    """The worker itself."""
    async with Worker(address, name=name, nthreads=1, local_directory=scratch, dashboard=False) as worker:
        leaving = asyncio.Event()
        loop = asyncio.get_running_loop()
        # SIGTERM: Slurm's own, just before it kills the job. USR1: the partition's checkpoint signal; a worker keeps
        # nothing that is worth a checkpoint, so there is nothing to be done but to live on.
        loop.add_signal_handler(signal.SIGTERM, leaving.set)
        loop.add_signal_handler(signal.SIGUSR1, lambda: None)
        over = asyncio.ensure_future(worker.finished())
        await asyncio.wait([over, asyncio.ensure_future(leaving.wait())], return_when=asyncio.FIRST_COMPLETED)
        if not over.done():
            say("asked to leave", worker=name)
            await asyncio.wait_for(worker.close_gracefully(restart=False), LEAVE_S)


def main() -> int:
    if sys.argv[1:2] == ["worker"]:
        asyncio.run(work(sys.argv[2]))
        return 0
    say("pi", value=compute())
    return 0


if __name__ == "__main__":
    sys.exit(main())
