#!/usr/bin/env python3
# fmt: off
#SBATCH --job-name=train
#SBATCH --requeue
#SBATCH --open-mode=append
# fmt: on
"""A job that saves its state when Giveway asks for it, says so, and goes on from there after it was requeued.

docs/checkpoints.md explains it. Put your own work in the place of `time.sleep`, your own state in the place of a
number. Nothing but Python's own library is needed.

Settings, from the environment: EPOCHS, EPOCH_S, STATE_DIR; GIVEWAY_URL and GIVEWAY_TOKEN_FILE to answer over the API.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import FrameType

EPOCHS = int(os.environ.get("EPOCHS", "100"))
EPOCH_S = float(os.environ.get("EPOCH_S", "60"))
STEPS = 10
"""Steps of an epoch; between two of them signals are heeded."""
RUN = int(os.environ.get("SLURM_RESTART_COUNT") or 0)


def job_id() -> str:
    """The id by which commands know this job: a task of an array goes by the array's."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    return f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]


STATE = Path(os.environ.get("STATE_DIR") or os.environ.get("SLURM_SUBMIT_DIR", ".")) / f"state.{job_id()}"


class Signals:
    """What has been asked of us since we last looked."""

    def __init__(self) -> None:
        self.save = self.end = False
        signal.signal(signal.SIGUSR1, self._note)  # the partition's checkpoint signal
        signal.signal(signal.SIGTERM, self._note)  # Slurm's own, just before it kills the job

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self.save = True
        else:
            self.end = True


def load() -> int:
    """The epoch that an earlier run of this job has reached; 0 in the first run."""
    return int(STATE.read_text()) if RUN > 0 and STATE.exists() else 0


def save(epoch: int) -> None:
    """Whole or not at all: half a state is worse than an old one."""
    new = STATE.with_name(f"{STATE.name}.new")
    new.write_text(f"{epoch}\n")
    new.replace(STATE)


def acknowledge(epoch: int) -> None:
    """Have Giveway stop the job now instead of at the end of the grace time. A failure costs that time and no more.

    The run's number makes each answer a new word, also when no epoch was finished in between.
    """
    saved = f"epoch={epoch},run={RUN}"
    try:
        if not tell_giveway(saved):
            write_comment(saved)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"the checkpoint could not be acknowledged: {error}", file=sys.stderr)


def tell_giveway(saved: str) -> bool:
    """Answer over the API; False when that is not set up, or did not work."""
    url, file = os.environ.get("GIVEWAY_URL"), os.environ.get("GIVEWAY_TOKEN_FILE")
    if not url or not file or not Path(file).exists():
        return False
    body = {"token": Path(file).read_text().strip(), "job_id": job_id(), "saved": saved}
    request = urllib.request.Request(
        f"{url.rstrip('/')}/api/v1/checkpoints/",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10):
            return True
    except OSError as error:
        print(f"Giveway could not be told: {error}", file=sys.stderr)
        return False


def write_comment(saved: str) -> None:
    """Answer in the job's comment. Your own words in it stay (it may name your project)."""
    asked = ["squeue", "--noheader", f"--jobs={job_id()}", "--format=%k"]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True).stdout
    words = [word for word in told.split() if word != "(null)" and not word.startswith("ckpt:")]
    comment = " ".join([*words, f"ckpt:{saved}"])
    subprocess.run(["scontrol", "update", f"JobId={job_id()}", f"Comment={comment}"], timeout=20, check=True)


def main() -> None:
    """The epochs that are left."""
    signals = Signals()
    epoch = load()
    print(f"run {RUN} begins after epoch {epoch}", flush=True)
    while epoch < EPOCHS:
        for _ in range(STEPS):
            time.sleep(EPOCH_S / STEPS)
            if signals.save:
                signals.save = False
                save(epoch)
                acknowledge(epoch)
            if signals.end:
                save(epoch)
                sys.exit(143)
        epoch += 1
        print(f"epoch {epoch} done", flush=True)
    STATE.unlink(missing_ok=True)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
