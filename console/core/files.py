"""The files of an installation are its owner's: nobody else on the machine reads or writes them.

Whoever reads the database has every session, name and policy in it; so each process of Giveway begins by giving what it
will write to its own account alone (umask), and by taking from others what an earlier release has given them.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

EMBEDDED = Path(__file__).resolve().parents[2] / "var"
"""Where the home folder is unless somebody says otherwise: ours, whatever is in it."""
UMASK = 0o077
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OURS = (
    "giveway.sqlite3*",
    "audit-anchors.log",
    "simulator-*.json",
    "simulator-*.json.lock",
    "secret-key*",
    "static",
)
"""What Giveway itself keeps in its home folder, by name."""
SQLITE = "django.db.backends.sqlite3"
BESIDE = ("", "-wal", "-shm", "-journal")
"""SQLite's files, by what stands behind the name of the first."""
LEFT = frozenset({errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOENT})
"""Why a file is left as it is: another account's, on a file system that cannot be written, or gone meanwhile."""


def take_for_ourselves(home: Path, database: Mapping[str, Any]) -> None:
    """Set the umask, and close what is ours and stands open. `database`: the entry of DATABASES.

    What cannot be closed (it is another account's) is left as it is: `manage.py doctor` tells (`check_files`). A folder
    that holds what is not Giveway's is left, too: somebody may have put GIVEWAY_HOME to where others live.
    """
    os.umask(UMASK)
    for file in private_files(home, database):
        _close(file)
    if _is_ours_alone(home):
        _close(home)


def private_files(home: Path, database: Mapping[str, Any]) -> Iterator[Path]:
    """Every file (and the folder) there may be in the home folder that nobody else is to read, and the database."""
    for pattern in OURS:
        yield from sorted(home.glob(pattern))
    if database["ENGINE"] == SQLITE:
        yield from (Path(f"{database['NAME']}{end}") for end in BESIDE)


def own_folders(home: Path, database: Mapping[str, Any]) -> list[Path]:
    """Where Giveway writes on this machine: the home folder, and that of the database where it is a file elsewhere."""
    found = [home]
    if database["ENGINE"] == SQLITE:
        folder = Path(str(database["NAME"])).absolute().parent
        if folder.is_dir() and folder != home.absolute():
            found.append(folder)
    return found


def free_bytes(folder: Path) -> int:
    """How much an account like ours may still write there; nothing where no file can be made any more."""
    there = os.statvfs(folder)
    if there.f_files and not there.f_favail:
        return 0
    return there.f_bavail * there.f_frsize


def is_open(path: Path) -> bool:
    """Whether others may do anything with it. One that is gone by now (SQLite's come and go) is not open, nor is one
    in a folder that we may not enter ourselves."""
    try:
        return bool(path.stat().st_mode & OTHERS)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False


def _is_ours_alone(folder: Path) -> bool:
    """Whether there is nothing in a folder but what Giveway makes: then nobody else has anything to look for there."""
    if folder.resolve().is_relative_to(EMBEDDED):
        return True
    known = (*OURS, "slurm", "cluster")
    return all(any(fnmatch(entry.name, name) for name in known) for entry in folder.iterdir())


def _close(path: Path) -> None:
    if not is_open(path) or path.is_symlink():
        return
    try:
        if path.stat().st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
    except OSError as error:
        if error.errno not in LEFT:
            raise
