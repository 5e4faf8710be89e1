"""The only place that runs Slurm's programs: argument lists, an allow-list, a time limit, bounded output.

Nothing here is ever given to a shell. Programs are looked up once, on the PATH given, and run with an environment
made from scratch, because a caller's SQUEUE_FORMAT, SLURM_CLUSTERS or SLURM_TIME_FORMAT would change what comes back.
"""

import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.adapters.slurm.errors import (
    CommandNotAllowedError,
    SlurmOutputError,
    SlurmTimeoutError,
    SlurmUnavailableError,
)

JOB_ID = r"[1-9]\d{0,9}(?:_\d{1,10})?"
_ID_LIST = rf"{JOB_ID}(?:,{JOB_ID})*"
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_TASKS = r"[1-9]\d{0,9}_\[\d{1,10}(?:[,-]\d{1,10})*\]"
_ID_OR_TASKS = rf"(?:{JOB_ID}|{_TASKS})"
_NODE_LIST = r"[A-Za-z0-9][\w.-]{0,63}(?:,[A-Za-z0-9][\w.-]{0,63}){0,1999}"
_NODE = r"[A-Za-z0-9][\w.-]{0,63}"
KEPT_FOR = "giveway_"
"""How the names of our own reservations begin; then comes the id of the job (see keeping.py)."""
_KEPT = rf"{KEPT_FOR}{JOB_ID}"
_USER = r"[A-Za-z_][\w.-]{0,63}"
_TOPOLOGY = r"[\w.][\w.-]{0,63}"
_JOB_ID = re.compile(JOB_ID)
_SIGNAL = re.compile(r"[A-Z][A-Z0-9+]{1,15}|[1-9]\d?")

# What may be run: per program and verb, each argument must match one of these patterns as a whole.
ALLOWED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("squeue", ""): (
        "--noheader", "--array", "--all", "--local", r"--Format=.+", "--states=all", "--states=PENDING",
        "--format=%i", "--json", rf"--jobs={_ID_LIST}",
    ),
    ("squeue", "--version"): ("--version",),
    ("scontrol", "show job"): ("--oneliner", "--details", "--all", "show", "job", JOB_ID),
    ("scontrol", "show nodes"): ("--oneliner", "--details", "--all", "show", "nodes"),
    ("scontrol", "show node"): ("--oneliner", "--all", "show", "node", _NODE),
    ("scontrol", "show partitions"): ("--oneliner", "--all", "show", "partitions"),
    ("scontrol", "show licenses"): ("--oneliner", "--all", "show", "licenses"),
    ("scontrol", "show reservations"): ("--oneliner", "--all", "show", "reservations"),
    ("scontrol", "show topology"): ("--oneliner", "--all", "show", "topology", _TOPOLOGY),
    ("scontrol", "show config"): ("--all", "show", "config"),
    ("scontrol", "ping"): ("ping",),
    ("scontrol", "update"): (
        "update", rf"JobId={_ID_OR_TASKS}(?:,{_ID_OR_TASKS})*", r"Priority=\d{1,10}", r"Nice=-?\d{1,10}",
        rf"StartTime={_MOMENT}",
        r"NumNodes=([1-9]\d{0,4})-\1", r"NumTasks=[1-9]\d{0,8}", r"NumCPUs=[1-9]\d{0,8}", rf"NodeList={_NODE_LIST}",
        "Requeue=1", r"AdminComment=[^\x00-\x1f\x7f]{0,250}",
        "ReservationName=giveway-doctor",  # there is none: see checkup.py
        rf"ReservationName=(?:{_KEPT})?", rf"Nodes={_NODE_LIST}", rf"EndTime={_MOMENT}",
        rf"NodeName={_NODE}", "State=DRAIN", "State=UNDRAIN", r"Reason=giveway: [^\x00-\x1f\x7f]{1,200}",
    ),
    ("scontrol", "create"): (
        "create", "reservation", rf"ReservationName={_KEPT}", rf"Nodes={_NODE_LIST}", "StartTime=now",
        rf"EndTime={_MOMENT}", rf"Users={_USER}", "Flags=IGNORE_JOBS,FLEX,NO_HOLD_JOBS_AFTER",
    ),
    ("scontrol", "delete"): ("delete", rf"ReservationName={_KEPT}"),
    ("scontrol", "hold"): ("hold", _ID_LIST),
    ("scontrol", "release"): ("release", _ID_LIST),
    ("scontrol", "requeue"): ("requeue", _ID_LIST),
    ("scontrol", "requeuehold"): ("requeuehold", _ID_LIST),
    ("sacctmgr", "show associations"): (
        "--noheader", "--parsable2", "--readonly", "show", "associations", r"cluster=[\w.-]{1,64}",
        r"format=[\w%,]+",
    ),
    ("sacct", ""): (
        "--noheader", "--parsable2", "--allocations", "--allusers", "--duplicates", r"--format=[\w,]+",
        rf"--jobs={_ID_LIST}", r"--state=[A-Z,]+", rf"--starttime={_MOMENT}", rf"--endtime={_MOMENT}",
        "--delimiter=[0-9a-f]{16}",
    ),
    ("sbatch", ""): (
        "--parsable", r"--job-name=[a-z][a-z-]{0,31}", r"--partition=[\w.-]{1,64}", rf"--nodelist={_NODE_LIST}",
        "--nodes=1", "--ntasks=1", "--exclusive", r"--time=[1-9]\d{0,4}", r"--nice=\d{1,10}", "--no-requeue",
        "--output=/dev/null", "--error=/dev/null", "--export=PATH=/usr/local/bin:/usr/bin:/bin",
        rf"--deadline={_MOMENT}", r"--gres=gpu:[1-9]\d{0,2}",
    ),
    ("scancel", ""): ("--batch", rf"--signal=(?:{_SIGNAL.pattern})", JOB_ID),
}  # fmt: skip

_KEPT_VARIABLES = ("PATH", "HOME", "SLURM_CONF", "SLURM_JWT", "LD_LIBRARY_PATH")
_FIXED_VARIABLES = {
    "LC_ALL": "C.UTF-8",
    # Times in UTC need no daylight-saving rules, neither in Slurm nor here.
    "TZ": "UTC",
    "SLURM_TIME_FORMAT": "%FT%T",
}
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CHUNK = 1 << 18

# scontrol takes any beginning of a name from six letters on (`NumNod=2`), in any case, with `=`, `+=` and `-=`.
_SIZES = ("numnod", "nodeli", "numtas", "numcpu")
# The two forms in which a size is sent: slurmctld refuses the first one of a job that runs, because of its tasks.
_SIZED = (("JobId", "NumNodes", "NumTasks", "NumCPUs"), ("JobId", "NodeList"))


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a program answered."""

    out: str
    err: str
    code: int


def is_job_id(text: str) -> bool:
    """Whether `text` is a job id as commands take it (`1234` or `1234_7`)."""
    return _JOB_ID.fullmatch(text) is not None


def is_signal(text: str) -> bool:
    """Whether `text` is a signal's name or number as scancel takes it (`USR1`, `10`)."""
    return _SIGNAL.fullmatch(text) is not None


def is_user(text: str) -> bool:
    """Whether `text` is a name of a user that can be told to scontrol."""
    return re.fullmatch(_USER, text, re.ASCII) is not None


def kept_for(reservation: str) -> str:
    """The id of the job that a reservation of ours is for; empty for one of somebody else."""
    found = re.fullmatch(_KEPT, reservation, re.ASCII)
    return reservation.removeprefix(KEPT_FOR) if found else ""


def is_topology(text: str) -> bool:
    """Whether `text` is a name of a topology that can be told to scontrol."""
    return re.fullmatch(_TOPOLOGY, text, re.ASCII) is not None


def is_node(text: str) -> bool:
    """Whether `text` is the name of one node."""
    return re.fullmatch(_NODE, text, re.ASCII) is not None


def is_node_list(text: str) -> bool:
    """Whether `text` is names of nodes with commas between them, without ranges."""
    return re.fullmatch(_NODE_LIST, text, re.ASCII) is not None


def _verb(program: str, arguments: Sequence[str]) -> str:
    words = [argument for argument in arguments if not argument.startswith("--")]
    if program in {"scontrol", "sacctmgr"}:
        return " ".join(words[:2]) if words[:1] == ["show"] else "".join(words[:1])
    return "--version" if "--version" in arguments else ""


def check(program: str, arguments: Sequence[str]) -> None:
    """Raise `CommandNotAllowedError` unless the command and each argument is on the allow-list."""
    _check_sizes(arguments)
    patterns = ALLOWED.get((program, _verb(program, arguments)))
    if patterns is None:
        raise CommandNotAllowedError(f"{program} {_verb(program, arguments)!r} is not on the allow-list")
    for argument in arguments:
        if "\x00" in argument or not any(re.fullmatch(p, argument, re.DOTALL) for p in patterns):
            raise CommandNotAllowedError(f"{program}: the argument {argument!r} is not on the allow-list")


def _check_sizes(arguments: Sequence[str]) -> None:
    """A size goes to slurmctld for one job at a time, in one of two forms, with nothing beside it."""
    if "update" not in arguments:
        return
    sizes = [argument for argument in arguments if argument.lower().startswith(_SIZES)]
    if not sizes:
        return
    names = tuple(argument.partition("=")[0] for argument in arguments[1:])
    if arguments[0] != "update" or names not in _SIZED or not is_job_id(arguments[1].partition("=")[2]):
        raise CommandNotAllowedError(
            f"scontrol update {sizes[0][:80]!r}: no job is resized in this form. slurmctld 24.11 and 26.05 die "
            "when a job is shrunk whose step holds GPUs"
        )


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for Slurm's programs: what they need from `env`, and what makes their texts predictable."""
    kept = {name: env[name] for name in _KEPT_VARIABLES if env.get(name)}
    return {"PATH": _DEFAULT_PATH, **kept, **_FIXED_VARIABLES}


@dataclass(slots=True)
class CommandRunner:
    """Runs Slurm's programs. `timeout_s` per call; `max_bytes` of output at most."""

    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    timeout_s: float = 20.0
    max_bytes: int = 512 * 1024 * 1024
    _programs: dict[str, str] = field(default_factory=dict, init=False)
    _environment: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._environment = clean_environment(self.env)

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
        limit = self.timeout_s if timeout_s is None else timeout_s
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
