"""slurmdbd and its MariaDB for one private Slurm: on loopback, in its folder, gone with it.

Both are daemons of the keeper like slurmctld. MariaDB is reached by its socket alone and has no port. What it keeps is
thrown away with the next start.
"""

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.private_slurm import host
from deploy.private_slurm.config import Layout
from deploy.private_slurm.errors import PrivateSlurmError
from deploy.private_slurm.processes import Daemon
from deploy.private_slurm.releases import Release

ACCOUNT = "all"
INSTALL_S = 300.0
SQL_S = 120.0
PAUSE_S = 0.5
UNANSWERED = "No response to persist_init"
COMMANDS = {
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "mariadb": "mariadb-client-core",
}
SYSTEM_PACKAGES = ("slurmdbd", "slurm-wlm-mysql-plugin")
PLUGIN = "accounting_storage_mysql.so"
# Known to everybody who can read this; the socket can be entered by the owner of the folder alone.
PASSWORD = "loopback"  # noqa: S105


@dataclass(frozen=True)
class Accounting:
    """What is kept of whom: one account `all` for all users, `qos` with their settings, and `enforce`
    (AccountingStorageEnforce). An option of a QOS may name another one. `operators` are the users who are to have
    AdminLevel=Operator."""

    qos: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    enforce: str = ""
    operators: Sequence[str] = ()

    def commands(self, cluster: str, users: Sequence[str]) -> list[tuple[str, ...]]:
        """What sacctmgr is told before slurmctld starts; all users may use all QOS."""
        told: list[tuple[str, ...]] = [("add", "cluster", cluster)]
        told.append(("add", "account", ACCOUNT, "Description=all", "Organization=all"))
        told += [("add", "qos", name) for name in self.qos]
        for name, options in self.qos.items():
            told.append(("modify", "qos", name, "set", *(f"{key}={value}" for key, value in options.items())))
        names = ",".join(["normal", *self.qos])
        told += [("add", "user", user, f"Account={ACCOUNT}", f"QOS={names}") for user in [*users, "root"]]
        return told + [("modify", "user", user, "set", "AdminLevel=Operator") for user in self.operators]


def unavailable_reason(release: Release | None) -> str | None:
    """One sentence that says why this Slurm can have no slurmdbd here, or None."""
    missing = [package for name, package in COMMANDS.items() if _found(name) is None]
    if release is None:
        missing += SYSTEM_PACKAGES if _found("slurmdbd") is None or not _system_plugin() else ()
    if missing:
        return f"slurmdbd needs: apt-get install {' '.join(dict.fromkeys(missing))}."
    if release and not (release.daemon("slurmdbd").exists() and (release.plugins / PLUGIN).exists()):
        return f"Slurm {release.name} was unpacked without slurmdbd; run: deploy/bin/slurm-versions {release.name}"
    return None


@dataclass(frozen=True)
class Database:
    """The two daemons of one start of a private Slurm; slurmdbd listens on `port`."""

    wanted: Accounting
    layout: Layout
    release: Release | None
    port: int

    @property
    def settings(self) -> dict[str, str]:
        """What slurm.conf needs to use it."""
        settings = {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(self.port),
            # Else slurmctld looks for the system's munge.
            "AccountingStoragePass": str(self.layout.munge_socket),
            "AccountingStorageTRES": "gres/gpu",
        }
        return settings | ({"AccountingStorageEnforce": self.wanted.enforce} if self.wanted.enforce else {})

    @property
    def env(self) -> dict[str, str]:
        """Where MariaDB's client library in slurmdbd looks for the socket."""
        return {"MYSQL_UNIX_PORT": str(self._socket)}

    @property
    def mariadbd(self) -> Daemon:
        """The database's daemon."""
        log = self.layout.logs / "mariadbd.log"
        return Daemon(
            (
                host.command("mariadbd", COMMANDS), "--no-defaults", f"--datadir={self._data}", f"--user={_me()}",
                f"--socket={self._socket}", f"--tmpdir={self._scratch}", "--skip-networking",
                f"--pid-file={self._folder / 'pid'}",
                "--innodb-lock-wait-timeout=900", "--innodb-buffer-pool-size=64M",
            ),
            log, log,
        )  # fmt: skip

    @property
    def slurmdbd(self) -> Daemon:
        """Slurm's daemon; see `env`."""
        program = (
            str(self.release.daemon("slurmdbd"))
            if self.release
            else host.command("slurmdbd", {"slurmdbd": "slurmdbd"})
        )
        log = self.layout.logs / "slurmdbd.log"
        return Daemon((program, "-D"), self.layout.logs / "slurmdbd.out", log)

    def prepare(self) -> None:
        """An empty database and slurmdbd.conf, instead of what was there."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self._scratch.mkdir()
        _run([
            host.command("mariadb-install-db", COMMANDS), "--no-defaults", f"--datadir={self._data}",
            f"--user={_me()}", f"--tmpdir={self._scratch}", "--skip-test-db",
        ], INSTALL_S)  # fmt: skip
        conf = self.layout.root / "slurmdbd.conf"
        conf.unlink(missing_ok=True)
        conf.touch(mode=0o600)
        conf.write_text("".join(f"{key}={value}\n" for key, value in self._slurmdbd_conf().items()))

    def answers(self) -> bool:
        """Whether MariaDB answers."""
        try:
            self._sql("SELECT 1")
        except PrivateSlurmError:
            return False
        return True

    def make(self) -> None:
        """Make slurmdbd's database and its user."""
        self._sql("CREATE DATABASE slurm_acct_db")
        self._sql(f"CREATE USER slurm@localhost IDENTIFIED BY '{PASSWORD}'")
        self._sql("GRANT ALL ON slurm_acct_db.* TO slurm@localhost")

    @property
    def _folder(self) -> Path:
        return self.layout.root / "accounting"

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _scratch(self) -> Path:
        """MariaDB removes others' temporary tables where it starts: two that share /tmp fail now and then."""
        return self._folder / "tmp"

    @property
    def _socket(self) -> Path:
        return self.layout.short / "accounting" / "socket"

    def _slurmdbd_conf(self) -> dict[str, str]:
        plugins = {"PluginDir": str(self.release.plugins)} if self.release else {}
        return {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.layout.munge_socket}",
            "DbdHost": "localhost",
            "DbdAddr": "127.0.0.1",
            "DbdPort": str(self.port),
            "CommunicationParameters": "NoInAddrAny",
            "SlurmUser": "root",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "localhost",
            "StorageLoc": "slurm_acct_db",
            "StorageUser": "slurm",
            "StoragePass": PASSWORD,
            "PidFile": str(self._folder / "slurmdbd.pid"),
            "LogFile": str(self.layout.logs / "slurmdbd.log"),
            **plugins,
        }

    def _sql(self, line: str) -> None:
        _run([
            host.command("mariadb", COMMANDS), "--no-defaults", f"--socket={self._socket}", "-e", line
        ], SQL_S)  # fmt: skip


def start(
    database: Database, run: Callable[[str], None], wait: Callable[[Callable[[], bool], str], None]
) -> None:
    """Both daemons, one after the other. `run` starts one by its name; `wait` waits for what it is given, and says that
    name where it waits in vain."""
    database.prepare()
    run("mariadbd")
    wait(database.answers, "mariadbd")
    database.make()
    run("slurmdbd")
    wait(lambda: host.listens(database.port), "slurmdbd")


def tell(run: Callable[[Sequence[str]], object], argv: Sequence[str], until: float) -> None:
    """A command to slurmdbd, which takes connections before it answers them: tried again until then."""
    while True:
        try:
            run(argv)
        except PrivateSlurmError as error:
            if UNANSWERED not in str(error) or time.monotonic() > until:
                raise
            time.sleep(PAUSE_S)
        else:
            return


def _found(name: str) -> str | None:
    return shutil.which(name, path=host.search_path())


def _system_plugin() -> bool:
    return any(Path("/usr/lib").glob(f"*/slurm-wlm/{PLUGIN}"))


def _me() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _run(command: Sequence[str], limit_s: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as late:
        raise PrivateSlurmError(f"{command[0]} was not done within {limit_s:.0f} s") from late
    if done.returncode != 0:
        raise PrivateSlurmError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-500:]}")
