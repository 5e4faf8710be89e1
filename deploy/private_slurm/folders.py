"""The folders of a private Slurm: its own, with a GPU's device files, and those that its users work in."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from deploy.private_slurm import host
from deploy.private_slurm.errors import PrivateSlurmError
from deploy.private_slurm.processes import MARK

OURS = ("state", "spool", "munge", "log", "work", "dev")
KEPT_BY_DAEMONS = ("state", "spool")
"""What daemons remember between two starts."""
THROWN_AWAY = (*KEPT_BY_DAEMONS, "munge", "log")
"""What an earlier private Slurm in the same place has left."""


def check(root: Path) -> None:
    """Make the folder of everything. Raises `PrivateSlurmError` where it has files that are not ours."""
    if root.exists() and any(root.iterdir()) and not (root / MARK).exists():
        raise PrivateSlurmError(
            f"{root} has files that no private Slurm has made; choose a new or empty folder"
        )
    root.mkdir(parents=True, exist_ok=True)
    host.check_reachable(root)


def make(root: Path, nodes: int, gpus: int) -> None:
    """Make its folders anew, and the device files of the nodes n1… with so many GPUs each."""
    for stale in THROWN_AWAY:
        shutil.rmtree(root / stale, ignore_errors=True)
    for folder in OURS:
        (root / folder).mkdir(exist_ok=True)
    (root / "log").chmod(0o700)
    forget(root, nodes)
    for number in range(1, nodes + 1):
        devices = root / "dev" / f"n{number}"
        devices.mkdir(exist_ok=True)
        for index in range(gpus):
            host.make_device(devices / f"gpu{index}")


def forget(root: Path, nodes: int) -> None:
    """Let the daemons begin with nothing. A slurmctld that remembers the number that an earlier slurmdbd gave its
    cluster does not start with a new one (26.05)."""
    for kept in KEPT_BY_DAEMONS:
        shutil.rmtree(root / kept, ignore_errors=True)
        (root / kept).mkdir()
    (root / "state").chmod(0o700)
    for number in range(1, nodes + 1):
        (root / "spool" / f"n{number}").mkdir()


def make_work(work: Path, users: Iterable[str]) -> None:
    """A folder everybody may write in, like /tmp, and in it one for each user."""
    work.chmod(0o1777)
    for user in users:
        home = work / user
        home.mkdir(exist_ok=True)
        shutil.chown(home, user)
