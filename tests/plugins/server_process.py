"""A server as a child process of the tests: asked until it answers, ended by its pid, never left behind."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path
from typing import Self

from deploy.private_slurm import host

START_S = 300.0
STOP_S = 120.0
ATTEMPTS = 3
PORTS, OWN_PORTS = range(24_000, 30_000), 500
"""Those that a private Slurm does not choose (`host.PORTS`), and how many of them a process of pytest-xdist has."""


class ServerError(RuntimeError):
    """A server is not installed or does not start; the message ends with what it said itself."""


class Server(ABC):
    """A server process; its folder, password and port stay the same from one `start()` to the next."""

    package: str
    silence: type[Exception]
    """What its client raises while it does not answer."""
    stop_signal = signal.SIGTERM

    def __init__(self) -> None:
        # Not pytest's tmp_path: the path of a Unix socket has room for 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=f"giveway-{self.package}-"))
        self.log = self.folder / "server.log"
        self.password = secrets.token_hex(16)
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def ping(self) -> None:
        """Ask the server something; raise its client's error when it does not answer."""

    @property
    def pid(self) -> int:
        if self.process is None:
            raise ServerError(f"{self.package} is not running")
        return self.process.pid

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> None:
        """Start and wait for the first answer; when somebody took the port meanwhile, take another."""
        for _ in range(ATTEMPTS):
            self._spawn()
            if self._answers():
                return
            self.stop()
            if "in use" not in self.tail():
                break
            self.port = free_port()
        raise ServerError(f"{self.package} does not start:\n{self.tail()}")

    def stop(self) -> None:
        """End the process, politely at first; harmless when it is not running."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(self.stop_signal)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def _spawn(self) -> None:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def _answers(self) -> bool:
        deadline = time.monotonic() + START_S
        while self.process is not None and self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.ping()
            except self.silence:
                time.sleep(0.02)
            else:
                return True
        return False


_given: deque[int] = deque(maxlen=OWN_PORTS // 5)
"""What `free_port` has given lately: a test may ask for a second port before anybody listens on the first."""


def free_port() -> int:
    """Nobody's just now, and no port that Linux gives to outgoing connections: until the server listens, or while it is
    away, one of those might get it, even the one that asks whether the server is there. Nor one that another process of
    this run may choose in the seconds until the server listens: each has its own. Nor one that it has given just now.
    """
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    begin = PORTS.start + number * OWN_PORTS % len(PORTS)
    (port,) = host.free_ports(1, avoid=_given, among=range(begin, begin + OWN_PORTS))
    _given.append(port)
    return port


def found(binary: str, package: str) -> str:
    """Debian keeps PostgreSQL's server binaries off PATH, one folder per version: take the newest."""
    if in_path := shutil.which(binary):
        return in_path
    versions = Path("/usr/lib/postgresql").glob(f"*/bin/{binary}")
    newest = max(versions, key=lambda path: int(path.parent.parent.name), default=None)
    if newest is None:
        raise ServerError(f"{binary} is not installed: apt-get install {package}")
    return str(newest)


def unprivileged_account() -> str | None:
    """None when we are nobody special ourselves; else an account to run PostgreSQL as."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def dies_with_us(death: signal.Signals, account: str | None = None) -> list[str]:
    """The front of a command: run as `account`; the kernel sends it `death` when this process is gone."""
    if not shutil.which("setpriv"):
        raise ServerError("setpriv is not installed: apt-get install util-linux")
    command = ["setpriv", "--pdeathsig", death.name.removeprefix("SIG")]
    if account:
        entry = pwd.getpwnam(account)
        command += [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--init-groups"]
    return command
