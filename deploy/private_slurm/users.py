"""The ordinary users who submit to a private Slurm.

slurmctld, slurmd and every client resolve users through the host's own user database, so they have to exist
there (a preloaded library would have to be preloaded by everybody who types `squeue`). A missing user is
therefore made by `useradd`: no home, no password (so nobody can log in), group `users`, and a comment by which
`remove_ours` finds exactly these again. There is a shell, for slurmd asks it for the environment of a job that was
submitted with `--export`, and from 26.05 on holds the job where that fails. The users stay when a private Slurm
ends, because others may use them.
"""

import grp
import pwd
import subprocess
import time
from collections.abc import Iterable

from deploy.private_slurm.errors import PrivateSlurmError

COMMENT = "Giveway private Slurm"
GROUP = "users"
FIRST_ORDINARY_UID = 1000
SHELL = "/bin/sh"
_LOCKED = {1, 10}  # useradd: somebody else is writing the password or group file
_TAKEN = 9  # useradd: the name exists


def ensure_users(names: Iterable[str]) -> None:
    """Makes the users who do not exist; a system account under one of the names is refused."""
    for name in names:
        entry = _lookup(name) or _add(name)
        if entry.pw_uid < FIRST_ORDINARY_UID:
            raise PrivateSlurmError(
                f"user {name!r} is a system account (uid {entry.pw_uid}); choose another name"
            )
        if entry.pw_gecos == COMMENT and entry.pw_shell != SHELL:  # made before they had a shell
            _run_locked(["usermod", "--shell", SHELL, name])


def remove_ours(only: Iterable[str] | None = None) -> list[str]:
    """Removes the users that `ensure_users` has made here, or of them `only` these; returns their names."""
    wanted = None if only is None else set(only)
    ours = [entry.pw_name for entry in pwd.getpwall() if entry.pw_gecos == COMMENT]
    names = [name for name in ours if wanted is None or name in wanted]
    for name in names:
        _run_locked(["userdel", name])
    return names


def _lookup(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _add(name: str) -> pwd.struct_passwd:
    argv = ["useradd", "--no-create-home", "--home-dir", "/nonexistent", "--shell", SHELL]
    argv += ["--no-user-group", "--gid", _group(), "--comment", COMMENT, "--", name]
    _run_locked(argv, fine={0, _TAKEN})
    entry = _lookup(name)
    if entry is None:
        raise PrivateSlurmError(f"useradd made user {name!r}, but the host does not resolve it")
    return entry


def _group() -> str:
    try:
        return grp.getgrnam(GROUP).gr_name
    except KeyError:
        raise PrivateSlurmError(
            f"group {GROUP!r} does not exist on this host; add it with: groupadd {GROUP}"
        ) from None


def _run_locked(argv: list[str], fine: frozenset[int] | set[int] = frozenset({0}), tries: int = 50) -> None:
    """Runs a tool of the password file, again while somebody else holds its lock."""
    said = "somebody else holds the lock of the password file"
    for _ in range(tries):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
        if done.returncode in fine:
            return
        if done.returncode not in _LOCKED:
            said = done.stderr.strip()
            break
        time.sleep(0.1)
    raise PrivateSlurmError(f"{' '.join(argv)} failed: {said}")
