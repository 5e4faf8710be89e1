"""Talking to the keeper (keeper.py), the process that owns the daemons of one private Slurm."""

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from deploy.private_slurm.errors import PrivateSlurmError, with_logs
from deploy.private_slurm.keeper import descendants, parents, send_signal

ANSWER_S = 180.0
ORPHANS_S = 120.0
END_S = 60.0
"""slurmctld that is ended by force has not saved what it knows."""
LOCK_S = 2.0
MARK = ".private-slurm"  # the file that says whose folder this is


@dataclass(frozen=True)
class Daemon:
    """How one daemon is started: in the foreground, its output (and what it logs there) to a file."""

    argv: tuple[str, ...]
    output: Path
    log: Path  # where to look for what went wrong; the same file as `output` if the daemon logs to stderr


class Keeper:
    """The keeper of one private Slurm, seen from the process that has started it. Thread-safe."""

    def __init__(self, root: Path, log: Path, remove_at_end: Sequence[Path]) -> None:
        self._log = log
        self._cwd = root
        self._lock = threading.Lock()
        script = Path(__file__).with_name("keeper.py")
        with log.open("wb") as stderr, locked(root / MARK) as lock:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd="/",
                # The lock is the keeper's from now on, and gone with it.
                pass_fds=[lock.fileno()],
                # A Ctrl-C in the terminal is for us; the keeper ends things in order when we tell it.
                start_new_session=True,
            )
        self._ask(do="remove_at_end", paths=[str(path) for path in remove_at_end])

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, name: str, daemon: Daemon, env: Mapping[str, str]) -> None:
        self._ask(
            do="start",
            name=name,
            argv=daemon.argv,
            log=str(daemon.output),
            env=dict(env),
            cwd=str(self._cwd),
        )

    def running(self) -> dict[str, int]:
        """Name and pid of every daemon that runs."""
        return {str(name): int(pid) for name, pid in self._ask(do="status")["running"].items()}

    def ended(self) -> dict[str, int]:
        """Name and exit code (negative: signal) of every daemon that ended and was not started again."""
        return {str(name): int(code) for name, code in self._ask(do="status")["ended"].items()}

    def end(self, name: str, number: signal.Signals = signal.SIGTERM, wait_s: float = END_S) -> None:
        """Ends one daemon (by force after `wait_s`) and leaves the job steps it has started."""
        self._ask(do="end", name=name, signal=int(number), wait_s=wait_s)

    def end_all(self) -> None:
        """Ends every daemon, step and job process, and keeps the keeper for another try."""
        left = self._ask(do="end_all")["left"]
        if left:
            raise PrivateSlurmError(f"processes {left} of the private Slurm could not be ended")

    def close(self) -> None:
        """Ends everything and the keeper itself; when it returns, nothing of it is left."""
        stdin, stdout = self._pipes()
        with contextlib.suppress(BrokenPipeError):  # it is gone already; its status says how
            stdin.close()
        stdout.close()
        code = self._process.wait(timeout=ANSWER_S)
        if code != 0:
            raise PrivateSlurmError(with_logs(f"the keeper ended with status {code}", [self._log]))

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process.stdin is None or self._process.stdout is None:
            raise self._gone()
        return self._process.stdin, self._process.stdout

    def _ask(self, **request: Any) -> dict[str, Any]:
        stdin, stdout = self._pipes()
        with self._lock:
            try:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
            except BrokenPipeError:
                raise self._gone() from None
            line = read_line(stdout.fileno())
        if not line:
            raise self._gone()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PrivateSlurmError(f"the keeper could not {request['do']}: {answer['error']}")
        return answer

    def _gone(self) -> PrivateSlurmError:
        return PrivateSlurmError(with_logs("the keeper of the private Slurm is gone", [self._log]))


def read_line(fileno: int) -> bytes:
    """One line from a pipe; nothing if the other end is closed; an error after ANSWER_S."""
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


@contextlib.contextmanager
def locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, locked until nobody has it open any more: this process or one that has inherited it."""
    # Not at the first refusal: a process that another thread has just forked has our files open until its exec.
    until = time.monotonic() + LOCK_S
    with path.open("ab") as file:
        while not _lock(file):
            if time.monotonic() > until:
                raise PrivateSlurmError(f"{path.parent} is used by another private Slurm")
            time.sleep(0.02)
        yield file


def _lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_kept(conf: Path) -> bool:
    """Whether this is the slurm.conf of a private Slurm that runs just now, started by the same user as this process.

    Its keeper holds the lock of the mark beside it, as long as it lives.
    """
    mark = conf.parent / MARK
    if not mark.is_file() or mark.stat().st_uid != os.geteuid():
        return False
    with mark.open("rb") as file:
        return not _lock(file)


def end_orphans(conf: Path) -> None:
    """Ends what is left of a private Slurm whose keeper was killed: job steps and their processes."""
    until = time.monotonic() + ORPHANS_S
    while left := orphans(conf):
        if time.monotonic() > until:
            raise PrivateSlurmError(f"processes {left} of the private Slurm of {conf} could not be ended")
        for pid in left:
            send_signal(pid, signal.SIGKILL)
        time.sleep(0.02)


def orphans(conf: Path) -> list[int]:
    """Every slurmstepd of the Slurm of this slurm.conf with all its descendants, and what has run away from it."""
    found: set[int] = set()
    for pid in parents():
        try:
            if _is_step(Path(f"/proc/{pid}"), conf):
                found |= {pid, *descendants(pid)}
            elif _is_of_job(Path(f"/proc/{pid}"), conf):
                found.add(pid)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # ended while we were looking, or nothing of ours
    return sorted(found)


def _is_step(process: Path, conf: Path) -> bool:
    """Whether it is a slurmstepd of this Slurm.

    Its environment does not tell on 24.11 and later: its title is written over it. Where it was started does, and
    so do the files that it has open: slurmd's log, on every release.
    """
    if (process / "comm").read_text(errors="replace") != "slurmstepd\n":
        return False
    places = [process / "cwd", *(process / "fd").iterdir()]
    return any(place.readlink().is_relative_to(conf.parent) for place in places)


def _is_of_job(process: Path, conf: Path) -> bool:
    """Whether a slurmstepd of this Slurm has started it, or its parent. Shells and consoles of people do not count."""
    environment = (process / "environ").read_bytes().split(b"\0")
    ours = f"SLURM_CONF={conf}".encode() in environment
    return ours and any(setting.startswith(b"SLURMD_NODENAME=") for setting in environment)
