"""Giveway's workers attached to a private Slurm, for as long as a measurement lasts."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.making_room import ROOT, manage
from deploy.private_slurm import PrivateSlurm


@contextmanager
def worker(
    slurm: PrivateSlurm, home: Path, policy: Mapping[str, object]
) -> Iterator[subprocess.Popen[bytes]]:
    """Giveway's embedded workers, attached to this Slurm, with a priority file in force: a process group."""
    rules = {"GIVEWAY_SUBMIT_RULES": str(slurm.submit_rules)} if slurm.job_submit else {}
    env = {
        **os.environ, **slurm.env, **rules,
        "GIVEWAY_HOME": str(home), "GIVEWAY_CLUSTER": "slurm", "GIVEWAY_CYCLE_S": "1.0", "LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "console.settings.local",
    }  # fmt: skip
    manage(env, "migrate", "-v0")
    manage(env, "config", "import", "-", stdin=json.dumps(policy))
    command = [sys.executable, "manage.py", "worker"]
    process = subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGCONT)
        process.terminate()
        process.wait(60)
