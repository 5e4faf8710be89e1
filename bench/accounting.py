"""What Slurm's own preemption by QOS needs: a slurmdbd with its database, on loopback, for one private Slurm."""

import os
import pwd
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.private_slurm import host

START_S = 90.0
ACCOUNT = "all"
PACKAGES = "slurmdbd slurm-wlm-mysql-plugin mariadb-server"


@dataclass
class Accounting:
    """munged, mariadbd and slurmdbd in one folder; gone with the `with` block.

    `settings` are what slurm.conf needs to use it. `folder` must be new, with a short path (Unix sockets).
    """

    folder: Path
    cluster: str = "dev"
    _ends: ExitStack = field(default_factory=ExitStack, init=False, repr=False)
    _port: int = field(default=0, init=False)

    @property
    def settings(self) -> dict[str, str]:
        """Further settings of slurm.conf."""
        return {
            "AuthInfo": f"socket={self._munge}",
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(self._port),
            "AccountingStoragePass": str(self._munge),
            "AccountingStorageEnforce": "associations,qos",
            "AccountingStorageTRES": "gres/gpu",
        }

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._ends.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    def sacctmgr(self, *arguments: str) -> None:
        """Run `sacctmgr -i …`, which must succeed."""
        conf = self.folder / "sacctmgr.conf"
        lines = [f"{key}={value}" for key, value in self.settings.items() if "TRES" not in key]
        lines += [
            f"ClusterName={self.cluster}",
            "SlurmctldHost=localhost",
            "NodeName=none",
            "PartitionName=p Nodes=none",
        ]
        conf.write_text("\n".join(lines) + "\n")
        self._run(["sacctmgr", "-i", *arguments], {"SLURM_CONF": str(conf)})

    def people(self, users: Sequence[str], qos: Mapping[str, Mapping[str, str]]) -> None:
        """The cluster with one account, its users, and QOS with their settings; all users may use all of them."""
        self.sacctmgr("add", "cluster", self.cluster)
        self.sacctmgr("add", "account", ACCOUNT, "Description=all", "Organization=all")
        for name in qos:
            self.sacctmgr("add", "qos", name)
        for name, options in qos.items():  # an option may name another QOS
            self.sacctmgr("modify", "qos", name, "set", *(f"{key}={value}" for key, value in options.items()))
        names = ",".join(["normal", *qos])
        for user in [*users, "root"]:
            self.sacctmgr("add", "user", user, f"Account={ACCOUNT}", f"QOS={names}")

    # --- starting ---

    @property
    def _munge(self) -> Path:
        return self.folder / "munge.socket"

    @property
    def _mysql(self) -> Path:
        return self.folder / "mysql.socket"

    def _start(self) -> None:
        self.folder.mkdir(mode=0o755)
        self._port = host.free_ports(1)[0]
        self._start_munge()
        self._start_database()
        self._start_slurmdbd()

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        self._daemon(
            "munged", "--foreground", "--force", f"--socket={self._munge}", f"--key-file={key}",
            f"--pid-file={self.folder / 'munge.pid'}", f"--seed-file={self.folder / 'munge.seed'}",
            f"--log-file={self.folder / 'munge.log'}",
        )  # fmt: skip
        self._wait(self._munge.exists, "munged")

    def _start_database(self) -> None:
        data = self.folder / "mysql"
        data.mkdir(mode=0o700)
        user = pwd.getpwuid(os.geteuid()).pw_name
        self._run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={user}", "--skip-test-db"]
        )
        self._daemon(
            "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={self._mysql}", "--skip-networking",
            f"--user={user}", f"--pid-file={self.folder / 'mysql.pid'}", "--innodb-lock-wait-timeout=900",
        )  # fmt: skip
        self._wait(lambda: self._sql("SELECT 1").returncode == 0, "mariadbd")
        for line in (
            "CREATE DATABASE slurm_acct_db",
            "CREATE USER slurm@localhost IDENTIFIED BY 'loopback'",
            "GRANT ALL ON slurm_acct_db.* TO slurm@localhost",
        ):
            self._sql(line).check_returncode()

    def _sql(self, line: str) -> subprocess.CompletedProcess[bytes]:
        command = ["mariadb", "--no-defaults", f"--socket={self._mysql}", "-e", line]
        return subprocess.run(command, capture_output=True, timeout=30, check=False)

    def _start_slurmdbd(self) -> None:
        conf = self.folder / "slurmdbd.conf"
        conf.touch(mode=0o600)
        conf.write_text(
            f"AuthType=auth/munge\nAuthInfo=socket={self._munge}\nDbdHost=localhost\nDbdAddr=127.0.0.1\n"
            f"DbdPort={self._port}\nSlurmUser=root\nStorageType=accounting_storage/mysql\nStorageLoc=slurm_acct_db\n"
            f"StorageHost=localhost\nStorageUser=slurm\nStoragePass=loopback\nPidFile={self.folder / 'slurmdbd.pid'}\n"
            f"LogFile={self.folder / 'slurmdbd.log'}\n"
        )
        # MariaDB's client looks for its socket here.
        (self.folder / "my.cnf").write_text(f"[client]\nsocket={self._mysql}\n")
        self._daemon(
            "slurmdbd",
            "-D",
            env={"SLURM_CONF": str(self.folder / "slurm.conf"), "MYSQL_UNIX_PORT": str(self._mysql)},
        )
        self._wait(lambda: host.listens(self._port), "slurmdbd")

    def _daemon(self, name: str, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        log = (self.folder / f"{name}.out").open("wb")
        process = subprocess.Popen(
            [_command(name), *arguments],
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        self._ends.callback(_end, process)

    def _run(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        done = subprocess.run(
            [_command(command[0]), *command[1:]],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()}")

    def _wait(self, done: Callable[[], bool], name: str) -> None:
        until = time.monotonic() + START_S
        while not done():
            if time.monotonic() > until:
                said = (self.folder / f"{name}.out").read_text(errors="replace")[-1500:]
                raise RuntimeError(f"{name} is not ready within {START_S:.0f} s: {said}")
            time.sleep(0.1)


def _command(name: str) -> str:
    found = shutil.which(name, path=host.search_path())
    if found is None:
        raise RuntimeError(f"{name} is missing; install it with: apt-get install {PACKAGES}")
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
