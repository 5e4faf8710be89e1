"""What the host has to offer for a private Slurm: packages, rights, folders, free ports, GPU devices."""

import os
import random
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from deploy.private_slurm.errors import PrivateSlurmError

COMMANDS = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "squeue": "slurm-client",
    "scontrol": "slurm-client",
    "useradd": "passwd",
    "setpriv": "util-linux",
}
PORTS = range(10_000, 24_000)  # below Linux's ephemeral ports, where outgoing connections do not wander
SOCKET_ROOM = 60  # bytes for the root's path, so that the longest socket below it stays within 108
NULL_DEVICE = os.makedev(1, 3)


def search_path() -> str:
    """PATH with the sbin folders, where the daemons live and ordinary users do not look."""
    return os.pathsep.join([os.environ.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin"])


def command(name: str, packages: Mapping[str, str] = COMMANDS) -> str:
    found = shutil.which(name, path=search_path())
    if found is None:
        raise PrivateSlurmError(
            f"command {name!r} is missing; install it with: apt-get install {packages[name]}"
        )
    return found


def unavailable_reason() -> str | None:
    """One sentence that says why there can be no private Slurm here, or None."""
    if not sys.platform.startswith("linux"):
        return "A private Slurm needs Linux."
    missing = [name for name in COMMANDS if shutil.which(name, path=search_path()) is None]
    if missing:
        packages = " ".join(sorted({COMMANDS[name] for name in missing}))
        return (
            f"The commands {', '.join(missing)} are missing; install them with: apt-get install {packages}."
        )
    if os.geteuid() != 0:
        return (
            "A private Slurm must be started by root: it makes device files and runs jobs as several users."
        )
    with tempfile.TemporaryDirectory() as folder:
        try:
            make_device(Path(folder) / "probe")
        except PermissionError:
            return "A private Slurm makes device files for its GPUs, and this machine does not allow mknod."
    return None


def make_device(path: Path) -> None:
    """A character device that stands for a GPU: a second /dev/null, which nobody can do harm with."""
    if path.exists():
        return
    os.mknod(path, stat.S_IFCHR | 0o666, NULL_DEVICE)
    path.chmod(0o666)


def check_reachable(root: Path) -> None:
    """Ordinary users must be able to enter the folder: they read slurm.conf and munge's socket there."""
    for folder in (root, *root.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            raise PrivateSlurmError(
                f"ordinary users cannot enter {folder}, so they could not submit jobs; "
                f"choose a folder below /tmp, or allow it with: chmod o+x {folder}"
            )


def short_alias(root: Path) -> Path | None:
    """A link with a short path where that of `root` is too long for sockets; its folder is to be removed."""
    if len(os.fsencode(root)) <= SOCKET_ROOM:
        return None
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    folder.chmod(0o755)
    alias = folder / "r"
    alias.symlink_to(root)
    return alias


def free_ports(count: int, avoid: Iterable[int] = (), among: range | None = None) -> list[int]:
    """Ports of loopback nobody listens on at this moment. Somebody may still be faster than our daemons."""
    # Not the seeded generator: test runs side by side with one seed would all want the same ports.
    taken = set(avoid)
    found: list[int] = []
    among = among or PORTS
    for port in random.SystemRandom().sample(among, len(among)):
        if port not in taken and _is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise PrivateSlurmError(f"{count} free ports are needed, but only {len(found)} are free in {among}")


def listens(port: int) -> bool:
    """Whether somebody listens on this port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As slurmd does: a port in TIME_WAIT is free, one with a listener (on any address) is not.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104 - it never listens
        except OSError:
            return False
    return True
