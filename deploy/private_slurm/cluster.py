"""A private, real Slurm on this machine: its own munged, slurmctld and several slurmd, all of it in one folder."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from . import config, host
from .client import Client
from .errors import PortsTaken, PrivateSlurmError, with_logs
from .processes import Keeper
from .users import ensure_users

DEFAULT_USERS = ("ann", "bob", "cy", "dee", "eve")
START_S = 60.0
START_TRIES = 4
_MARK = ".private-slurm"
_PORT_TROUBLE = ("Address already in use", "Unable to bind", "bind(): ", "Error creating slurm stream socket")


@dataclass
class PrivateSlurm(Client):
    """
    A Slurm of `nodes` nodes n1…, each with `cpus` CPUs, `gpus` GPUs (typed by `gpu_types`, one per node) and `mem_mb` MB.

    `root` becomes the folder of everything, and stays after `stop()` unless `remove_root`. It must be new, empty, or one
    that a private Slurm has used before; its state is then started afresh. Every process ends with `stop()`, with the end
    of the `with` block, and with the process that started it, however that ends.
    """

    root: Path
    _: KW_ONLY
    nodes: int = 4
    cpus: int = 8
    gpus: int = 8
    mem_mb: int = 16_000
    partitions: Sequence[config.Partition] = ()
    users: Sequence[str] = DEFAULT_USERS
    name: str = "dev"
    gpu_types: Sequence[str] = ()
    remove_root: bool = False
    start_s: float = START_S
    _keeper: Keeper | None = field(default=None, init=False, repr=False)
    _layout: config.Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.root = Path(os.path.abspath(self.root))
        self.partitions = tuple(self.partitions) or config.default_partitions(self.nodes)
        self.gpu_types = tuple(self.gpu_types) or config.default_gpu_types(self.nodes)
        self._layout = config.Layout(self.root, self.root)
        self._check()

    @staticmethod
    def unavailable_reason() -> str | None:
        """One sentence that says why there can be no private Slurm here, or None."""
        return host.unavailable_reason()

    @property
    def conf(self) -> Path:
        return self._layout.conf

    @property
    def work(self) -> Path:
        return self._layout.work

    @property
    def logs(self) -> Path:
        return self._layout.logs

    @property
    def pid(self) -> int:
        """The pid of the keeper, whose descendants are all processes of this Slurm."""
        return self._started().pid

    def daemons(self) -> dict[str, int]:
        """Names (munged, slurmctld, slurmd-n1, …) and pids of the daemons that run."""
        return self._started().running()

    def start(self) -> Self:
        """Starts everything and returns when every node is idle; another try with other ports where one was taken."""
        reason = self.unavailable_reason()
        if reason:
            raise PrivateSlurmError(reason)
        if self._keeper:
            raise PrivateSlurmError(f"the private Slurm in {self.root} is already running")
        remove = self._make_folders()
        ensure_users(self.users)
        self._make_work_folders()
        self._keeper = Keeper(self.root, self.logs / "keeper.log", remove)
        try:
            self._start_with_retries()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends every process of this Slurm, jobs included. Once is enough, twice is harmless."""
        keeper, self._keeper = self._keeper, None
        if keeper:
            keeper.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop_daemon(self, name: str, number: int = signal.SIGTERM) -> None:
        """Ends one daemon, for tests of what happens without it. Jobs go on."""
        self._started().end(name, number)

    def start_daemon(self, name: str) -> None:
        """Starts a daemon that `stop_daemon` has ended; does not wait until it answers."""
        argv, log = self._daemon_lines()[name]
        self._started().start(name, argv, log if name == "munged" else _output(log), self._daemon_env())

    # --- starting -------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for name, value, least in (("nodes", self.nodes, 1), ("cpus", self.cpus, 1), ("gpus", self.gpus, 0)):
            if value < least:
                raise PrivateSlurmError(f"{name} must be at least {least}, not {value}")
        if len(self.gpu_types) != self.nodes:
            raise PrivateSlurmError(f"gpu_types must name one type per node ({self.nodes}), not {len(self.gpu_types)}")
        for partition in self.partitions:
            for number in partition.nodes:
                if not 1 <= number <= self.nodes:
                    raise PrivateSlurmError(f"partition {partition.name!r} names node {number} of {self.nodes}")

    def _started(self) -> Keeper:
        if self._keeper is None:
            raise PrivateSlurmError(f"the private Slurm in {self.root} is not running")
        return self._keeper

    def _make_folders(self) -> list[Path]:
        """Makes the folders; returns what the keeper shall remove at the end."""
        ours = not self.root.exists() or not any(self.root.iterdir())
        if not ours and not (self.root / _MARK).exists():
            raise PrivateSlurmError(f"{self.root} is not empty and not made by a private Slurm; choose a new folder")
        self.root.mkdir(parents=True, exist_ok=True)
        host.check_reachable(self.root)
        (self.root / _MARK).touch()
        alias = host.short_alias(self.root)
        self._layout = config.Layout(self.root, alias or self.root)
        for stale in ("state", "spool", "munge"):
            shutil.rmtree(self.root / stale, ignore_errors=True)
        for folder in ("state", "spool", "munge", "log", "work", "dev"):
            (self.root / folder).mkdir(exist_ok=True)
        for number in range(1, self.nodes + 1):
            self._make_node_folders(f"n{number}")
        return ([alias.parent] if alias else []) + ([self.root] if self.remove_root else [])

    def _make_node_folders(self, node: str) -> None:
        (self.root / "spool" / node).mkdir()
        (self.root / "dev" / node).mkdir(exist_ok=True)
        for index in range(self.gpus):
            host.make_device(self._layout.device(node, index))

    def _make_work_folders(self) -> None:
        """A folder everybody may write in, like /tmp, with a folder of its own for each user."""
        self.work.chmod(0o1777)
        for user in self.users:
            home = self.work / user
            home.mkdir(exist_ok=True)
            shutil.chown(home, user)

    def _start_with_retries(self) -> None:
        tried: set[int] = set()
        for attempt in range(1, START_TRIES + 1):
            ports = host.free_ports(self.nodes + 1, avoid=tried)
            tried.update(ports)
            try:
                return self._start_once(ports)
            except PortsTaken:
                if attempt == START_TRIES:
                    raise
                self._started().end_all()

    def _start_once(self, ports: Sequence[int]) -> None:
        self._write_config(ports)
        until = time.monotonic() + self.start_s
        lines = self._daemon_lines()
        for _, log in lines.values():
            log.unlink(missing_ok=True)
            _output(log).unlink(missing_ok=True)
        keeper, env = self._started(), self._daemon_env()
        munged, log = lines.pop("munged")
        keeper.start("munged", munged, log, env)
        self._wait(self._layout.munge_socket.exists, until)
        for name, (argv, log) in lines.items():
            keeper.start(name, argv, _output(log), env)
        self._wait(self._ready, until)

    def _write_config(self, ports: Sequence[int]) -> None:
        hardware = config.Hardware(self.cpus, self.gpus, self.mem_mb, tuple(self.gpu_types))
        me = socket.gethostname().split(".")[0]
        self.conf.write_text(config.slurm_conf(self.name, me, ports, hardware, self.partitions, self._layout))
        (self.root / "gres.conf").write_text(config.gres_conf(hardware, self._layout))
        (self.root / "cgroup.conf").write_text("CgroupAutomount=no\n")
        key = self._layout.munge / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))

    def _daemon_env(self) -> dict[str, str]:
        return {"PATH": host.search_path(), "LANG": "C.UTF-8", **self.env}

    def _daemon_lines(self) -> dict[str, tuple[list[str], Path]]:
        """Per daemon: its command line and its log, in the order of starting."""
        munge = self._layout.munge
        munged = [host.command("munged"), "--foreground", f"--socket={self._layout.munge_socket}"]
        munged += [f"--key-file={munge / 'key'}", f"--pid-file={munge / 'pid'}", f"--seed-file={munge / 'seed'}"]
        # In the foreground munged logs to its standard error, which is this file.
        lines = {"munged": (munged, self.logs / "munged.log")}
        conf = str(self.conf)
        lines["slurmctld"] = ([host.command("slurmctld"), "-D", "-f", conf], self.logs / "slurmctld.log")
        for number in range(1, self.nodes + 1):
            argv = [host.command("slurmd"), "-D", "-N", f"n{number}", "-f", conf]
            lines[f"slurmd-n{number}"] = (argv, self.logs / f"slurmd-n{number}.log")
        return lines

    def _wait(self, done: Callable[[], bool], until: float) -> None:
        while not done():
            ended = self._started().ended()
            if ended:
                raise self._failure(f"{', '.join(ended)} ended while the private Slurm was starting", list(ended))
            if time.monotonic() > until:
                raise self._failure(f"the private Slurm was not ready within {self.start_s:.0f} s", list(self.daemons()))
            time.sleep(0.05)

    def _ready(self) -> bool:
        """Every node is idle, and Slurm knows as many GPUs as it should."""
        try:
            done = self.run(["sinfo", "--noheader", "-N", "-o", "%N %T"], timeout_s=5.0, check=False)
        except subprocess.TimeoutExpired:
            return False
        states = {tuple(line.split()) for line in done.stdout.splitlines()}
        return states == {(f"n{number}", "idle") for number in range(1, self.nodes + 1)}

    def _failure(self, message: str, names: Sequence[str]) -> PrivateSlurmError:
        logs = [self._daemon_lines()[name][1] for name in names]
        text = with_logs(message, [log if log.exists() else _output(log) for log in logs])
        taken = any(trouble in text for trouble in _PORT_TROUBLE)
        return PortsTaken(text) if taken else PrivateSlurmError(text)


def _output(log: Path) -> Path:
    """Where a Slurm daemon's standard output goes: it repeats the log, but has what was said before there was one."""
    return log.with_suffix(".out")
