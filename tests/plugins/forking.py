"""Processes of the console without the seconds that each needs to start: one has Django ready and forks the others.

Each fork is a process of its own, with its own connection to the database. `python -m tests.plugins.forking` is the
process that forks: it reads a line of JSON per request and answers with a line.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DIED = 70
MOST_SECONDS = 500


@dataclass
class Forked:
    """A process that was forked; its input is a named pipe or a file, its output and errors are files."""

    forker: "Forker"
    pid: int
    stdin: Path
    stdout: Path
    stderr: Path

    def go(self) -> None:
        """Let a process that waits for its input begin."""
        with self.stdin.open("w") as pipe:
            pipe.write("\n")

    def kill(self) -> None:
        """As the kernel does when memory runs out."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit status, when it has ended; negative: the signal that ended it."""
        status: int = self.forker.ask(wait=self.pid)["status"]
        return status


class Forker:
    """The parent of forked processes, for one kind of database."""

    def __init__(self, url: str) -> None:
        environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "console.settings.test"}
        environment.pop("GIVEWAY_HOME", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.plugins.forking"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """One request, and its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it; what it forked has been waited for or killed by then."""
        self._process.communicate(timeout=120)


@cache
def forker(url: str) -> Forker:
    """The parent of processes that use this database, made when first asked for."""
    import atexit

    made = Forker(url)
    atexit.register(made.close)
    return made


def serve() -> None:
    """Read requests until there are no more."""
    import django

    gc.disable()
    django.setup()
    gc.freeze()  # a fork's collector would go through all of it, and make the fork's own copy of it
    gc.enable()
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            answer = {"status": os.waitstatus_to_exitcode(status)}
        else:
            answer = {"pid": _fork(request)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _fork(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = DIED
    signal.alarm(MOST_SECONDS)  # whatever becomes of the test
    try:
        _redirect(request)
        status = _run(request)
    except SystemExit as end:
        status = _status(end)
    except BaseException:  # noqa: BLE001 - it ends here, and its errors say of what
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _redirect(request: dict[str, Any]) -> None:
    for number, (name, mode) in enumerate(
        (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY))
    ):
        file = os.open(request[name], mode | (os.O_CREAT if number else 0), 0o600)
        os.dup2(file, number)
        os.close(file)


def _run(request: dict[str, Any]) -> int:
    from django.conf import settings
    from django.core.management import execute_from_command_line
    from django.db import connections

    settings.HOME = Path(request["home"])
    connections["default"].settings_dict["NAME"] = request["database"]
    for name, value in request["settings"].items():
        setattr(settings, name, value)
    try:
        if "code" in request:
            sys.argv = ["-c", *request["arguments"]]
            exec(request["code"], {"__name__": "__main__"})
        else:
            execute_from_command_line(["manage.py", *request["arguments"]])
    finally:
        connections.close_all()
    return 0


def _status(end: SystemExit) -> int:
    """As the interpreter does it."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    sys.stderr.write(f"{end.code}\n")
    return 1


if __name__ == "__main__":
    serve()
