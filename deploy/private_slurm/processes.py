"""Talking to the keeper (keeper.py), the process that owns the daemons of one private Slurm."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import PrivateSlurmError, with_logs

ANSWER_S = 30.0


class Keeper:
    """The keeper of one private Slurm, seen from the process that has started it. Safe to use from several threads."""

    def __init__(self, cwd: Path, log: Path, remove_at_end: Sequence[Path]) -> None:
        self._log = log
        self._cwd = cwd
        self._lock = threading.Lock()
        script = Path(__file__).with_name("keeper.py")
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd="/",
                # A Ctrl-C in the terminal is for us; the keeper ends things in order when we tell it.
                start_new_session=True,
            )
        self._ask(do="remove_at_end", paths=[str(path) for path in remove_at_end])

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, name: str, argv: Sequence[str], log: Path, env: Mapping[str, str]) -> None:
        """Starts one daemon in the foreground, under the keeper; its output goes to `log`."""
        self._ask(do="start", name=name, argv=list(argv), log=str(log), env=dict(env), cwd=str(self._cwd))

    def running(self) -> dict[str, int]:
        """Name and pid of every daemon that runs."""
        answer = self._ask(do="status")["running"]
        return {str(name): int(pid) for name, pid in answer.items()}

    def ended(self) -> dict[str, int]:
        """Name and exit code (negative: signal) of every daemon that ended and was not started again."""
        answer = self._ask(do="status")["ended"]
        return {str(name): int(code) for name, code in answer.items()}

    def end(self, name: str, number: int = signal.SIGTERM, wait_s: float = 5.0) -> None:
        """Ends one daemon (by force after `wait_s`) and leaves the job steps it has started."""
        self._ask(do="end", name=name, signal=int(number), wait_s=wait_s)

    def end_all(self) -> None:
        """Ends every daemon, step and job process, and keeps the keeper for another try."""
        left = self._ask(do="end_all")["left"]
        if left:
            raise PrivateSlurmError(f"processes {left} of the private Slurm could not be ended")

    def close(self) -> None:
        """Ends everything and the keeper itself; done when nothing of it is left."""
        if self._process.stdin and self._process.stdout:
            self._process.stdin.close()
            self._process.stdout.close()
        code = self._process.wait(timeout=ANSWER_S)
        if code != 0:
            raise PrivateSlurmError(with_logs(f"the keeper ended with status {code}", [self._log]))

    def _ask(self, **request: Any) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # both were asked for as pipes
        with self._lock:
            try:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
            except (BrokenPipeError, ValueError):
                raise self._gone() from None
            line = _read_line(stdout.fileno())
        if not line:
            raise self._gone()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PrivateSlurmError(f"the keeper could not {request['do']}: {answer['error']}")
        return answer

    def _gone(self) -> PrivateSlurmError:
        return PrivateSlurmError(with_logs("the keeper of the private Slurm is gone", [self._log]))


def _read_line(fileno: int) -> bytes:
    """One line from a pipe, or what came before its end or before ANSWER_S were over."""
    data = b""
    until = time.monotonic() + ANSWER_S
    while not data.endswith(b"\n"):
        if not select.select([fileno], [], [], max(0.0, until - time.monotonic()))[0]:
            raise PrivateSlurmError(f"the keeper did not answer within {ANSWER_S:.0f} s")
        more = os.read(fileno, 65536)
        if not more:
            return b""
        data += more
    return data
