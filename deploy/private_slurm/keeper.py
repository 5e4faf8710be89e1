"""The process that owns every process of one private Slurm and leaves none behind.

Run as a script (not imported), with nothing but the standard library and no package around it. It is a *subreaper*: whatever
its daemons fork, however often and into whatever session, comes back to it as a descendant, so that the end of
the keeper can be the end of slurmstepd and of the jobs' own processes too. It ends everything when it is told to, when its
standard input closes, on SIGTERM/SIGINT, and when the process that started it is gone - even by SIGKILL. Should
the keeper itself be killed that way, the kernel kills the daemons with it (PR_SET_PDEATHSIG).

Protocol: one JSON object per line on standard input, one JSON object per line as the answer. See `Keeper.handle`.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.2
ORDERLY_S = 4.0
KILL_S = 10.0

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _die_with_keeper() -> None:
    """Runs in the forked child: the kernel kills it as soon as the keeper is gone."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def parents() -> dict[int, int]:
    """Every living (not zombie) process of the machine with its parent's pid, from /proc."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            state, parent = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended while we were looking
        if state != "Z":
            found[int(entry)] = int(parent)
    return found


def descendants(root: int) -> list[int]:
    """Pids of all living descendants of `root`, without `root`."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it ended by itself, which is what we wanted


class Keeper:
    """Starts daemons by name, reaps what ends, and ends everything."""

    def __init__(self) -> None:
        self.running: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.remove: list[str] = []

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request, one answer: start, status, end (one daemon), end_all, remove_at_end."""
        match request["do"]:
            case "start":
                self._start(request)
            case "end":
                self._end_daemon(request["name"], request["signal"], request["wait_s"])
            case "end_all":
                return {"left": self.end_all()}
            case "remove_at_end":
                self.remove = request["paths"]
            case "status":
                pass
            case other:
                raise ValueError(f"unknown request {other!r}")
        self.reap()
        return {"running": self.running, "ended": self.ended}

    def _start(self, request: dict[str, Any]) -> None:
        with open(request["log"], "ab") as log:
            process = subprocess.Popen(
                request["argv"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=request["env"],
                cwd=request["cwd"],
                preexec_fn=_die_with_keeper,
            )
        self.running[request["name"]] = process.pid
        self.ended.pop(request["name"], None)
        process.returncode = 0  # reaped by reap(), not by Popen; this keeps it from warning

    def _end_daemon(self, name: str, number: int, wait_s: float) -> None:
        """Ends one daemon, by force after `wait_s`; what it has started (job steps) lives on."""
        until = time.monotonic() + wait_s
        while name in self.running:
            _signal(self.running[name], number if time.monotonic() < until else signal.SIGKILL)
            pause = time.monotonic() + 0.5
            while name in self.running and time.monotonic() < pause:
                time.sleep(0.01)
                self.reap()

    def reap(self) -> None:
        """Collects every ended child, our daemons and adopted orphans alike."""
        names = {pid: name for name, pid in self.running.items()}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in names:
                del self.running[names[pid]]
                self.ended[names[pid]] = os.waitstatus_to_exitcode(status)

    def end_all(self) -> list[int]:
        """Daemons by SIGTERM, then every descendant by SIGKILL until there is none; returns pids that would not go."""
        for pid in list(self.running.values()):
            _signal(pid, signal.SIGTERM)
        orderly = time.monotonic() + ORDERLY_S
        while self.running and time.monotonic() < orderly:
            time.sleep(0.02)
            self.reap()
        killed = time.monotonic() + KILL_S
        left = descendants(os.getpid())
        while left and time.monotonic() < killed:
            for pid in left:
                _signal(pid, signal.SIGKILL)
            time.sleep(0.02)
            self.reap()
            left = descendants(os.getpid())
        return left

    def remove_paths(self) -> None:
        for name in self.remove:
            path = Path(name)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


class _Told(BaseException):
    """A signal asked the keeper to end."""


def _on_signal(number: int, _frame: object) -> None:
    raise _Told(number)


def _serve(keeper: Keeper, parent: int) -> None:
    """Answers requests until standard input closes or the parent is gone."""
    pending = b""
    while os.getppid() == parent:
        keeper.reap()
        if not select.select([0], [], [], POLL_S)[0]:
            continue
        data = os.read(0, 65536)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            os.write(1, json.dumps(_answer(keeper, line)).encode() + b"\n")


def _answer(keeper: Keeper, line: bytes) -> dict[str, Any]:
    try:
        return keeper.handle(json.loads(line))
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}


def main() -> int:
    parent = int(sys.argv[1])
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _on_signal)
    keeper = Keeper()
    try:
        _serve(keeper, parent)
    except (_Told, BrokenPipeError):
        pass  # told to end, or nobody reads the answers any more
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        left = keeper.end_all()
        keeper.remove_paths()
    if left:
        print(f"keeper: processes {left} could not be ended", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
