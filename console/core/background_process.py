"""Long work of an embedded installation: its background worker does one thing at a time. A process beside it does it.

The process is less urgent than everything else, works off all that waits (studies, a model to train), and ends.
"""

import os
import sys
from subprocess import DEVNULL, Popen

from django.conf import settings

_processes: list[Popen[bytes]] = []


def start_process() -> None:
    """Start the process, unless it runs."""
    _processes[:] = [process for process in _processes if process.poll() is None]
    if not _processes:
        command = [
            sys.executable,
            str(settings.PROJECT_DIR / "manage.py"),
            "study",
            "--for",
            str(os.getpid()),
        ]
        _processes.append(Popen(command, stdin=DEVNULL))
