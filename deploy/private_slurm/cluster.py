"""A private, real Slurm on this machine: its own munged, slurmctld and several slurmd, all in one folder."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.private_slurm import accounting, config, daemons, folders, host, releases
from deploy.private_slurm.client import Client
from deploy.private_slurm.errors import PortsTakenError, PrivateSlurmError, with_logs
from deploy.private_slurm.processes import MARK, Daemon, Keeper, end_orphans, locked
from deploy.private_slurm.users import ensure_users

DEFAULT_USERS = ("ann", "bob", "cy", "dee", "eve")
START_S = 300.0
"""Two seconds on a quiet machine, and some more with a slurmdbd."""
START_TRIES = 4
ANSWER_S = 15.0
SHOWN = 3  # daemons in an error message
UMASK = 0o022
"""Whatever its starter keeps to itself: users read slurm.conf and find munge's socket, and daemons have the usual."""
PORT_TAKEN = "Address already in use"


@dataclass(eq=False)
class PrivateSlurm(Client):
    """
    A Slurm of nodes n1…, each with `cpus` CPUs, `gpus` GPUs (`gpu_types`: one per node) and `mem_mb` MB.

    `root` becomes the folder of everything, and stays after `stop()` unless `remove_root`. It must be new, empty,
    or one that a private Slurm has used before, whose state is then thrown away. `options` are further settings of
    slurm.conf, or others than ours; `node_words` and `gres_lines` say the same of nodes and of gres.conf (`Hardware`),
    and `files` are further files beside slurm.conf. A node that is CLOUD or FUTURE has no slurmd. `job_submit` is a
    script for slurmctld's job_submit plugin, which finds our rules at `submit_rules`. `accounts`: with a slurmdbd of
    its own that keeps them. `version` names a release (`24.11`; see `releases`), by default the one that GIVEWAY_SLURM
    names, else the one that is installed. Every process ends with `stop()`, with the end of the `with` block, and with
    the process that started it, however that ends.
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
    options: Mapping[str, str] = field(default_factory=dict)
    node_words: Sequence[Mapping[str, str]] = ()
    gres_lines: Sequence[str] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    job_submit: Path | None = None
    accounts: accounting.Accounting | None = None
    version: str | None = None
    remove_root: bool = False
    start_s: float = START_S
    _keeper: Keeper | None = field(default=None, init=False, repr=False)
    _layout: config.Layout = field(init=False, repr=False)
    _release: releases.Release | None = field(init=False, repr=False)
    _database: accounting.Database | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        self.partitions = tuple(self.partitions) or config.default_partitions(self.nodes)
        self.gpu_types = tuple(self.gpu_types) or config.default_gpu_types(self.nodes)
        self._layout = config.Layout(self.root, self.root)
        hardware = self._hardware()
        self._release = releases.named(self.version)
        config.check(hardware, self.nodes, self.partitions)

    @staticmethod
    def unavailable_reason() -> str | None:
        """One sentence that says why there can be no private Slurm here, or None."""
        return host.unavailable_reason()

    @property
    def release(self) -> releases.Release | None:
        return self._release

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
    def submit_rules(self) -> Path:
        """Where slurmctld's job_submit script looks for Giveway's rules."""
        return self.root / "submit-rules"

    @property
    def pid(self) -> int:
        """The pid of the keeper, whose descendants are all processes of this Slurm."""
        return self._started().pid

    def daemons(self) -> dict[str, int]:
        """Names (munged, slurmctld, slurmd-n1, …) and pids of the daemons that run."""
        return self._started().running()

    def start(self) -> Self:
        """Starts everything; returns when every node is idle. Where a port was taken, others are tried."""
        reason = self.unavailable_reason()
        if self.accounts:
            reason = reason or accounting.unavailable_reason(self._release)
        if reason:
            raise PrivateSlurmError(reason)
        if self._keeper:
            raise PrivateSlurmError(f"the private Slurm in {self.root} is already running")
        before = os.umask(UMASK)
        try:
            return self._start()
        finally:
            os.umask(before)

    def _start(self) -> Self:
        ensure_users(self.users)
        remove_at_end = self._make_folders()
        self._keeper = Keeper(self.root, self.logs / "keeper.log", remove_at_end)
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
            try:
                keeper.close()
            finally:
                end_orphans(self.conf)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop_daemon(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends one daemon (see `daemons`), for tests of what happens without it. Jobs go on."""
        self._started().end(name, number)

    def start_daemon(self, name: str) -> None:
        """Starts a daemon that `stop_daemon` has ended, and waits until slurmctld answers if it is that."""
        self._started().start(name, self._daemons()[name], self._daemon_env())
        if name == "slurmctld":
            self._wait(lambda: self._answers(["sinfo", "-h"]), time.monotonic() + self.start_s, [name])

    # --- starting ---

    def _started(self) -> Keeper:
        if self._keeper is None:
            raise PrivateSlurmError(f"the private Slurm in {self.root} is not running")
        return self._keeper

    def _make_folders(self) -> list[Path]:
        """Makes the folders and the GPU devices; returns what the keeper shall remove at the end."""
        folders.check(self.root)
        with locked(self.root / MARK):
            end_orphans(self.conf)
        alias = host.short_alias(self.root)
        self._layout = config.Layout(self.root, alias or self.root)
        folders.make(self.root, self.nodes, self.gpus)
        folders.make_work(self.work, self.users)
        return ([alias.parent] if alias else []) + ([self.root] if self.remove_root else [])

    def _start_with_retries(self) -> None:
        tried: set[int] = set()
        for attempt in range(1, START_TRIES + 1):
            ports = host.free_ports(self.nodes + 2, avoid=tried)
            tried.update(ports)
            try:
                return self._start_once(ports[:-1], ports[-1])
            except PortsTakenError:
                if attempt == START_TRIES:
                    raise
                self._started().end_all()
                folders.forget(self.root, self.nodes)
        return None

    def _start_once(self, ports: Sequence[int], accounting_port: int) -> None:
        until = time.monotonic() + self.start_s
        if self.accounts:
            self._database = accounting.Database(self.accounts, self._layout, self._release, accounting_port)
        self._write_config(ports)
        due = self._daemons()
        for daemon in due.values():
            daemon.output.unlink(missing_ok=True)
            daemon.log.unlink(missing_ok=True)
        self._layout.munge_socket.unlink(missing_ok=True)
        keeper, env = self._started(), self._daemon_env()
        keeper.start("munged", due.pop("munged"), env)
        self._wait(self._layout.munge_socket.exists, until, ["munged"])
        self._start_accounting(due, until)
        for name, daemon in due.items():
            keeper.start(name, daemon, env)
        # Not sooner: a command that finds nobody listening tries again only after a second.
        self._wait(lambda: host.listens(ports[0]), until, ["munged", *due])
        self._wait(self._ready, until, ["munged", *due])

    def _start_accounting(self, due: dict[str, Daemon], until: float) -> None:
        """slurmdbd and what is below it, taken out of `due`; it knows everybody before slurmctld asks it."""
        if not self._database or not self.accounts:
            return
        accounting.start(
            self._database,
            lambda name: self._started().start(name, due.pop(name), self._daemon_env()),
            lambda done, name: self._wait(done, until, ["munged", name]),
        )
        for told in self.accounts.commands(self.name, self.users):
            accounting.tell(self.run, ["sacctmgr", "--immediate", *told], until)

    def _write_config(self, ports: Sequence[int]) -> None:
        hardware = self._hardware()
        names = config.Names(self.name, socket.gethostname().split(".")[0])
        settings = config.settings(names, ports[0], hardware, self._layout)
        settings |= {**(self._database.settings if self._database else {}), **self.options}
        if self._release:
            settings["PluginDir"] = str(self._release.plugins)
        if self.job_submit:
            settings["JobSubmitPlugins"] = "lua"
            shutil.copyfile(self.job_submit, self.root / "job_submit.lua")
        self.conf.write_text(config.slurm_conf(settings, names, ports[1:], hardware, self.partitions))
        (self.root / "gres.conf").write_text(config.gres_conf(hardware, self.root / "dev"))
        # Nobody uses cgroups here; releases after 22.05 must be told not to look for them.
        (self.root / "cgroup.conf").write_text(
            "CgroupPlugin=disabled\n" if self._release else "CgroupAutomount=no\n"
        )
        for name, text in self.files.items():
            (self.root / name).write_text(text)
        key = self.root / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))

    def _hardware(self) -> config.Hardware:
        gres = None if self.gres_lines is None else tuple(self.gres_lines)
        return config.Hardware(
            self.cpus, self.gpus, self.mem_mb, tuple(self.gpu_types), tuple(self.node_words), gres
        )

    def _started_nodes(self) -> list[int]:
        """The numbers of the nodes that have a slurmd."""
        hardware = self._hardware()
        return [number for number in range(1, self.nodes + 1) if hardware.has_daemon(number)]

    def _daemon_env(self) -> dict[str, str]:
        ours = {"GIVEWAY_SUBMIT_RULES": str(self.submit_rules)} if self.job_submit else {}
        theirs = self._database.env if self._database else {}
        return {"PATH": host.search_path(), "LANG": "C.UTF-8", **self.env, **ours, **theirs}

    def _daemons(self) -> dict[str, Daemon]:
        """All daemons by name, in the order of starting."""
        return daemons.of(self._layout, self._started_nodes(), self._release, self._database)

    # --- waiting ---

    def _wait(self, done: Callable[[], bool], until: float, needed: Sequence[str]) -> None:
        """Waits until `done()`; an error when one of the daemons `needed` ends before, or at `until`."""
        keeper = self._started()
        while not done():
            ended = [name for name in keeper.ended() if name in needed]
            if ended:
                more = f" and {len(ended) - SHOWN} more" if len(ended) > SHOWN else ""
                raise self._failure(f"{', '.join(ended[:SHOWN])}{more} ended while starting", ended)
            if time.monotonic() > until:
                raise self._failure(f"not ready within {self.start_s:.0f} s", needed)
            time.sleep(0.05)

    def _ready(self) -> bool:
        return self._answers(["sinfo", "--noheader", "-N", "-o", "%N %T"], {"idle"})

    def _answers(self, argv: Sequence[str], states: set[str] | None = None) -> bool:
        """Whether a command succeeds and, if given, says only these states, one line per node."""
        try:
            done = self.run(argv, timeout_s=ANSWER_S, check=False)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode != 0 or states is None:
            return done.returncode == 0
        said = {tuple(line.split()) for line in done.stdout.splitlines()}
        started = {f"n{number}" for number in self._started_nodes()}
        seen = {(name, state) for name, state in said if name in started}
        return {state for _, state in seen} == states and len(seen) == self._nodes_in_partitions(started)

    def _nodes_in_partitions(self, started: set[str]) -> int:
        return len(
            {number for partition in self.partitions for number in partition.nodes if f"n{number}" in started}
        )

    def _failure(self, what: str, names: Sequence[str]) -> PrivateSlurmError:
        shown = [self._daemons()[name] for name in names[:SHOWN]]
        logs = [daemon.log if daemon.log.exists() else daemon.output for daemon in shown]
        text = with_logs(f"the private Slurm in {self.root} does not start: {what}", logs)
        return PortsTakenError(text) if PORT_TAKEN in text else PrivateSlurmError(text)
