"""The only place that runs Slurm's programs: argument lists, an allow-list, a time limit, bounded output.

Nothing here is ever given to a shell. Programs are looked up once, on the PATH given, and run with an environment
made from scratch, because a caller's SQUEUE_FORMAT, SLURM_CLUSTERS or SLURM_TIME_FORMAT would change what comes back.
"""

import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.errors import (
    SlurmOutputError,
    SlurmTimeoutError,
    SlurmUnavailableError,
    unavailable,
)
from scheduler.adapters.slurm.requests import (
    METER,
    NO_LIMIT,
    RateLimit,
    RequestMeter,
    requests_of,
)

_KEPT_VARIABLES = ("PATH", "HOME", "SLURM_CONF", "SLURM_JWT", "LD_LIBRARY_PATH")
_FIXED_VARIABLES = {
    "LC_ALL": "C.UTF-8",
    # Times in UTC need no daylight-saving rules, neither in Slurm nor here.
    "TZ": "UTC",
    "SLURM_TIME_FORMAT": "%FT%T",
}
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a program answered."""

    out: str
    err: str
    code: int


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for Slurm's programs: what they need from `env`, and what makes their texts predictable."""
    kept = {name: env[name] for name in _KEPT_VARIABLES if env.get(name)}
    return {"PATH": _DEFAULT_PATH, **kept, **_FIXED_VARIABLES}


@dataclass(slots=True)
class CommandRunner:
    """Runs Slurm's programs. `timeout_s` per call; `max_bytes` of output at most.

    `limit`: how often slurmctld lets this account ask. A command whose requests have to wait for that has so much more
    time: an order for many jobs is carried out whole, only slower.
    """

    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    timeout_s: float = 20.0
    max_bytes: int = 512 * 1024 * 1024
    meter: RequestMeter = field(default_factory=lambda: METER)
    limit: RateLimit = NO_LIMIT
    _programs: dict[str, str] = field(default_factory=dict, init=False)
    _environment: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._environment = clean_environment(self.env)

    def ask(self, program: str, *arguments: str) -> str:
        """What it says of a question. Raises `SlurmUnavailableError`, also where the program fails."""
        answer = self.run(program, *arguments)
        if answer.code != 0:
            raise unavailable(program, answer.err)
        return answer.out

    def run(self, program: str, *arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        """Run one command to its end and give back its output, decoded leniently.

        Raises `CommandNotAllowedError` (nothing was run), `SlurmUnavailableError` (no such program),
        `SlurmTimeoutError`, `SlurmOutputError` (more than `max_bytes`). A bad exit code is not an error here.
        """
        return self._run(program, arguments, timeout_s, "")

    def run_with(self, given: str, program: str, *arguments: str) -> CommandAnswer:
        """The same for a command that reads a text."""
        return self._run(program, arguments, None, given)

    def _run(
        self, program: str, arguments: Sequence[str], timeout_s: float | None, given: str
    ) -> CommandAnswer:
        check(program, arguments)
        self._check_conf()
        command = [self._absolute(program), *arguments]
        requests = requests_of(program, arguments)
        limit = self.timeout_s if timeout_s is None else timeout_s
        limit += self.limit.patience_s(sum(requests.values()))
        begun = time.monotonic()
        try:
            with _started(program, command, self._environment, given) as process:
                try:
                    out, err = self._read(process, program, limit)
                    code = process.wait(timeout=limit)
                except subprocess.TimeoutExpired as error:
                    process.kill()
                    raise SlurmTimeoutError(f"{program} did not answer within {limit:g} s") from error
                except BaseException:
                    process.kill()
                    raise
        finally:
            took_s = time.monotonic() - begun
            self.meter.note(requests, took_s, limited=self.limit.has_waited(took_s))
        return CommandAnswer(
            out.decode("utf-8", errors="replace"), err.decode("utf-8", errors="replace"), code
        )

    def _check_conf(self) -> None:
        """Without the file that SLURM_CONF names the commands look for a configuration in the network, for long."""
        conf = self._environment.get("SLURM_CONF")
        if conf and not Path(conf).exists():
            raise SlurmUnavailableError(f"SLURM_CONF names {conf}, which is not there")

    def _absolute(self, program: str) -> str:
        if program not in self._programs:
            found = shutil.which(program, path=self._environment["PATH"])
            if found is None:
                raise SlurmUnavailableError(f"{program} is not on the PATH of this process")
            self._programs[program] = found
        return self._programs[program]

    def _read(self, process: subprocess.Popen[bytes], program: str, limit: float) -> tuple[bytes, bytes]:
        """Both outputs to their ends, watching the clock and the size."""
        deadline = time.monotonic() + limit
        parts: dict[int, list[bytes]] = {}
        size = 0
        with selectors.DefaultSelector() as selector:
            streams = [s for s in (process.stdout, process.stderr) if s is not None]
            for stream in streams:
                parts[stream.fileno()] = []
                selector.register(stream, selectors.EVENT_READ)
            order = [stream.fileno() for stream in streams]
            while selector.get_map():
                left = deadline - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready:
                    raise SlurmTimeoutError(f"{program} did not answer within {limit:g} s")
                size += sum(_take(key.fd, parts, selector) for key, _ in ready)
                if size > self.max_bytes:
                    raise SlurmOutputError(f"{program} answered with more than {self.max_bytes} bytes")
        return b"".join(parts[order[0]]), b"".join(parts[order[1]])


def _started(
    program: str, command: Sequence[str], environment: Mapping[str, str], given: str
) -> subprocess.Popen[bytes]:
    """The process, reading from a file what it is given: nobody has to feed it."""
    with tempfile.TemporaryFile() as text:
        text.write(given.encode())
        text.seek(0)
        try:
            return subprocess.Popen(
                command,
                stdin=text if given else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                close_fds=True,
            )
        except OSError as error:
            raise SlurmUnavailableError(f"{program} cannot be run: {error.strerror}") from error


def _take(fd: int, parts: dict[int, list[bytes]], selector: selectors.BaseSelector) -> int:
    """Read what is there; stop watching the stream at its end. The number of bytes read."""
    data = os.read(fd, _CHUNK)
    if data:
        parts[fd].append(data)
    else:
        selector.unregister(fd)
    return len(data)
