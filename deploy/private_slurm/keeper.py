"""The process that owns every process of one private Slurm and leaves none behind.

It is run as a script, by its path, and needs nothing but the standard library. It is a *subreaper*: whatever
its daemons fork, however often and into whatever session, stays its descendant, so the end of the keeper is
the end of slurmstepd and of the jobs' own processes too. It ends everything when its standard input closes,
on SIGTERM and SIGINT, and when the process that started it is gone, even by SIGKILL. Should the keeper itself
be killed that way, the kernel kills the daemons with it (setpriv --pdeathsig).

Protocol: one JSON object per line on standard input, one JSON object per line as the answer; see `handle`.
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

PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.2
ORDERLY_S = 4.0
KILL_S = 60.0


def become_subreaper() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def parents() -> dict[int, int]:
    """Every living (not zombie) process of the machine with its parent's pid, from /proc."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name in parentheses may itself contain blanks and parentheses.
            state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended while we were looking
        if state != "Z":
            found[int(entry.name)] = int(parent)
    return found


def descendants(root: int) -> list[int]:
    """Pids of all living descendants of `root`, without `root`."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def send_signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it ended by itself, which is what we wanted


class Keeper:
    """Starts daemons by name, reaps what ends, and ends everything."""

    def __init__(self) -> None:
        self.running: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.remove: list[Path] = []

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request, one answer: start, status, end (one daemon), end_all, remove_at_end."""
        match request["do"]:
            case "start":
                self.start(request)
            case "end":
                self.end(request["name"], request["signal"], request["wait_s"])
            case "end_all":
                return {"left": self.end_all()}
            case "remove_at_end":
                self.remove = [Path(path) for path in request["paths"]]
            case "status":
                pass
            case other:
                raise ValueError(f"unknown request {other!r}")
        self.reap()
        return {"running": self.running, "ended": self.ended}

    def start(self, request: dict[str, Any]) -> None:
        with Path(request["log"]).open("ab") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *request["argv"]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=request["env"],
                cwd=request["cwd"],
            )
        self.running[request["name"]] = process.pid
        self.ended.pop(request["name"], None)
        process.returncode = 0  # reap() collects it, with the orphans; Popen must not try and must not warn

    def end(self, name: str, number: int, wait_s: float) -> None:
        """Ends one daemon, by force after `wait_s`; what it has started (job steps) lives on."""
        until = time.monotonic() + wait_s
        while name in self.running:
            send_signal(self.running[name], number if time.monotonic() < until else signal.SIGKILL)
            self._reap_until(lambda: name not in self.running, 0.5)

    def end_all(self) -> list[int]:
        """Daemons by SIGTERM, then every descendant by SIGKILL; returns the pids that would not go."""
        for pid in self.running.values():
            send_signal(pid, signal.SIGTERM)
        self._reap_until(lambda: not self.running, ORDERLY_S)
        until = time.monotonic() + KILL_S
        while (left := descendants(os.getpid())) and time.monotonic() < until:
            for pid in left:
                send_signal(pid, signal.SIGKILL)
            time.sleep(0.02)
            self.reap()
        self.ended.clear()
        return left

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

    def remove_paths(self) -> None:
        for path in self.remove:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _reap_until(self, done: Any, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while not done() and time.monotonic() < until:
            time.sleep(0.01)
            self.reap()


class ToldToEnd(BaseException):
    """A signal asked the keeper to end."""


def on_signal(number: int, _frame: object) -> None:
    raise ToldToEnd(number)


def serve(keeper: Keeper, parent: int) -> None:
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
            os.write(1, json.dumps(answer(keeper, line)).encode() + b"\n")


def answer(keeper: Keeper, line: bytes) -> dict[str, Any]:
    try:
        return keeper.handle(json.loads(line))
    except (OSError, ValueError, KeyError) as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}


def main() -> int:
    parent = int(sys.argv[1])
    become_subreaper()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    keeper = Keeper()
    try:
        serve(keeper, parent)
    except (ToldToEnd, BrokenPipeError):
        pass  # told to end, or nobody reads the answers any more
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        left = keeper.end_all()
        keeper.remove_paths()
    if left:
        print(f"keeper: processes {left} could not be ended", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
