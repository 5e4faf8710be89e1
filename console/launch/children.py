"""The processes of an embedded installation: the web server and the workers. They end with the one that started them.

Nothing here needs Django: `console.launch.supervisor`, which waits for them as long as they run, has to be small.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

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


class Children:
    """Named child processes of this one, in its process group."""

    def __init__(self, env: Mapping[str, str], stop_s: float = STOP_S) -> None:
        self.env = dict(env)
        self.stop_s = stop_s
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[str, ...]] = {}
        self._restarts: list[float] = []

    def start(self, name: str, *argv: str, pass_fds: Sequence[int] = ()) -> None:
        """Start a Python module or script with this interpreter."""
        self._commands[name] = argv
        self.running[name] = subprocess.Popen(
            [sys.executable, *argv],
            env=self.env,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - this process has one thread
            stdin=subprocess.DEVNULL,
            pass_fds=pass_fds,
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
        self._restarts = [moment for moment in self._restarts if now - moment < WITHIN_S]
        for name, process in list(self.running.items()):
            status = process.poll()
            if status is None:
                continue
            if len(self._restarts) >= RESTARTS:
                self.check()
            self._restarts.append(now)
            _warn("started again", process=name, status=status)
            self.start(name, *self._commands[name])

    def has_done(self, name: str) -> bool:
        """Whether a child has ended that was to do something and end; it is then no child any more.

        One that was killed is left for `keep` to start again.
        """
        process = self.running.get(name)
        if process is None or process.poll() != 0:
            return False
        del self.running[name]
        return True

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


class Wakes:
    """Waits for signals without asking again and again: the end of a child is one. Of the main thread alone."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)

    def wait(self, seconds: float | None = None) -> None:
        """Until a signal has come since the last time, or so many seconds are over. What handlers raise is raised."""
        if select.select([self._read], [], [], seconds)[0]:
            os.read(self._read, 4096)


def answers(port: int, path: str, host: str) -> bool:
    """Whether the web server on this machine says 200, asked under the name `host`."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as asked:
            asked.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
            return asked.recv(64).split(b" ")[1:2] == [b"200"]
    except OSError:
        return False


def _warn(event: str, **values: object) -> None:
    """Into the log as all processes write it, which takes the settings; that seldom, they are loaded for it."""
    import structlog
    from django.conf import settings

    _ = settings.INSTALLED_APPS
    structlog.get_logger(__name__).warning(event, **values)
