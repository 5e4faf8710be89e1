"""The processes of an embedded installation: the web server and the worker. They end with the one that started them."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

log = structlog.get_logger(__name__)

PR_SET_PDEATHSIG = 1
STOP_S = 15.0
RESTARTS = 5
WITHIN_S = 60.0
"""More restarts than that within this time: something is wrong that a restart does not mend."""


class ChildEndedError(Exception):
    """A child ended by itself; the message names it and its exit status."""


def end_with_parent() -> None:
    """Ask Linux to end this process, at once, when its parent is gone, however that happened: all that matters is in
    the database.

    Ctrl-C reaches the whole group; the parent is the one who answers it and ends its children in order.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass
class Children:
    """Named child processes of this one, in its process group."""

    env: Mapping[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    stop_s: float = STOP_S
    commands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    restarts: list[float] = field(default_factory=list)

    def start(self, name: str, *argv: str) -> None:
        """Start a Python module or script with this interpreter."""
        self.commands[name] = argv
        self.running[name] = subprocess.Popen(
            [sys.executable, *argv],
            env=dict(self.env),
            preexec_fn=end_with_parent,  # noqa: PLW1509 - this process has one thread
            stdin=subprocess.DEVNULL,
        )

    def check(self) -> None:
        """Raises `ChildEndedError` when one has ended."""
        for name, process in self.running.items():
            status = process.poll()
            if status is not None:
                raise ChildEndedError(
                    f"The {name} ended by itself with status {status}; see its messages above."
                )

    def keep(self) -> None:
        """Start again what has ended, as a service manager does: everything that matters is in the database.

        Raises `ChildEndedError` when that happens too often.
        """
        now = time.monotonic()
        self.restarts = [moment for moment in self.restarts if now - moment < WITHIN_S]
        for name, process in list(self.running.items()):
            status = process.poll()
            if status is None:
                continue
            if len(self.restarts) >= RESTARTS:
                self.check()
            self.restarts.append(now)
            log.warning("started again", process=name, status=status)
            self.start(name, *self.commands[name])

    def wait_until_ready(self, url: str, seconds: float, host: str) -> None:
        """Wait for an answer of 200, asked for under the name `host`. Raises `ChildEndedError`, `TimeoutError`."""
        until = time.monotonic() + seconds
        asked = urllib.request.Request(url, headers={"Host": host})  # noqa: S310 - our own http address
        while time.monotonic() < until:
            self.check()
            try:
                with urllib.request.urlopen(asked, timeout=2) as answer:  # noqa: S310 - the same
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise TimeoutError(f"{url} did not answer within {seconds:.0f} s.")

    def stop(self) -> None:
        """End all of them, gently first; returns when they are gone."""
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        until = time.monotonic() + self.stop_s
        for process in self.running.values():
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()


def environment(**values: str) -> dict[str, str]:
    """This process's environment with some values set."""
    return {**os.environ, **values}
