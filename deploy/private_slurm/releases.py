"""Other releases of Slurm beside the system's own, unpacked from Debian's packages of other suites.

Nothing of them is installed: a release is a folder with its own programs, plugins and C library, and its programs are
patched to use just these. So several run side by side, without a container, a namespace or a chroot.

- `DT_RPATH`, not `DT_RUNPATH`: it also serves the libraries of plugins. `LD_LIBRARY_PATH` would leak into jobs, and a
  program started through `ld.so` breaks slurmstepd, which starts itself again.
- The daemons look at their own name, so `slurmctld-wlm` has to be called `slurmctld`.
- Debian keeps one release per suite. When a suite has moved on, there is none of the release that is asked for.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.private_slurm.errors import PrivateSlurmError

SUITES = {"24.11": "trixie", "26.05": "forky"}
"""Releases that can be unpacked, and the Debian suite that has them."""
SYSTEM = "system"
"""The release that is installed on this machine."""
VARIABLE = "GIVEWAY_SLURM"
"""Names the release that a private Slurm is of, where its maker names none."""
PLACE = "GIVEWAY_SLURM_RELEASES"
DEFAULT_PLACE = Path("/var/cache/giveway/slurm")
"""Where releases are kept: not below anybody's home, because ordinary users run their programs."""
PACKAGES = "slurmctld,slurmd,slurm-client,munge,slurmdbd,slurm-wlm-mysql-plugin"
COMMANDS = (
    "sacct", "sacctmgr", "salloc", "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "squeue", "srun",
)  # fmt: skip
"""The users' commands that are made to run."""
DAEMONS = ("slurmctld", "slurmd", "slurmstepd")
ACCOUNTING = "slurmdbd"
"""Debian gives this daemon its plain name. A release that was unpacked before it was wanted has none."""
UNPACK_S = 300.0
ANSWER_S = 20
"""How long apt waits for a mirror that says nothing."""
_VERSION = re.compile(r"\d+\.\d+\.\d+\S*")
_TRIED = ("mmdebstrap", "patchelf")


@dataclass(frozen=True)
class Release:
    """An unpacked release: `name` as in `SUITES`, `folder` is what stands for the root of its file system."""

    name: str
    folder: Path

    @property
    def programs(self) -> Path:
        """The folder of the users' commands."""
        return self.folder / "usr" / "bin"

    @property
    def search_path(self) -> str:
        """The folders of its programs, to stand first in PATH."""
        return f"{self.programs}{os.pathsep}{self.folder / 'usr' / 'sbin'}"

    def daemon(self, name: str) -> Path:
        """slurmctld, slurmd, slurmstepd or slurmdbd."""
        return self.folder / "usr" / "sbin" / name

    @property
    def plugins(self) -> Path:
        """The folder of its plugins."""
        return next(self.folder.glob("usr/lib/*/slurm-wlm"))

    def version(self) -> str:
        """Its exact version, such as `24.11.5`."""
        said = subprocess.run(
            [self.daemon("slurmctld"), "-V"], capture_output=True, text=True, timeout=30, check=False
        )
        match = _VERSION.search(said.stdout)
        if said.returncode != 0 or not match:
            raise PrivateSlurmError(f"slurmctld in {self.folder} does not run: {said.stderr.strip()[:200]}")
        return match[0]


def place() -> Path:
    """The folder in which releases are kept."""
    return Path(os.environ.get(PLACE) or DEFAULT_PLACE)


def known(name: str) -> str:
    """The release that a name means: `24.11` of `24.11.5`. Raises `PrivateSlurmError` when there is none."""
    for release in (SYSTEM, *SUITES):
        if name == release or name.startswith(f"{release}."):
            return release
    raise PrivateSlurmError(
        f"there is no Slurm {name!r} to be had; choose one of {', '.join([SYSTEM, *SUITES])}"
    )


def named(name: str | None) -> Release | None:
    """The unpacked release of this name (default: the one that `GIVEWAY_SLURM` names); None for the system's own.

    Raises `PrivateSlurmError` when there is no such release, or it is not unpacked.
    """
    wanted = known(name or os.environ.get(VARIABLE) or SYSTEM)
    if wanted == SYSTEM:
        return None
    release = Release(wanted, place() / wanted)
    if not release.daemon(DAEMONS[-1]).exists():
        raise PrivateSlurmError(f"Slurm {wanted} is not unpacked; run: deploy/bin/slurm-versions {wanted}")
    return release


def unpack(name: str) -> Release:
    """The release of this name, fetched and patched if it is not there yet. Raises `PrivateSlurmError`.

    What is half done is never found in its place; two at once: the second waits and finds it done. One that has no
    slurmdbd is replaced, where another can be had.
    """
    folder = place() / name
    release = Release(name, folder)
    with _alone(folder):
        if release.daemon(DAEMONS[-1]).exists() and release.daemon(ACCOUNTING).exists():
            return release
        missing = [program for program in _TRIED if shutil.which(program) is None]
        if missing:
            raise PrivateSlurmError(f"unpacking Slurm needs: apt-get install {' '.join(missing)}")
        with _instead_of(folder):
            _fetch(SUITES[name], folder)
            _patch(release)
            _name_daemons(release)
    return release


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(folder.suffix + ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _instead_of(folder: Path) -> Iterator[None]:
    """What is there is put aside; where the new one fails, an old one that was whole is back."""
    old = folder.with_suffix(folder.suffix + ".old")
    shutil.rmtree(old, ignore_errors=True)
    whole = Release(folder.name, folder).daemon(DAEMONS[-1]).exists()
    if folder.exists():
        folder.rename(old)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if whole:
            old.rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _fetch(suite: str, folder: Path) -> None:
    """Unpack the closure of the packages, from the mirror that apt is set up with."""
    _run([
        "mmdebstrap", "--quiet", "--mode=chrootless", "--variant=extract", f"--include={PACKAGES}",
        '--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Check-Valid-Until "false"',
        f'--aptopt=Acquire::http::Timeout "{ANSWER_S}"', f'--aptopt=Acquire::https::Timeout "{ANSWER_S}"',
        suite, str(folder),
    ])  # fmt: skip
    folder.chmod(0o755)


def _patch(release: Release) -> None:
    """Let every program use the libraries of its own folder, and no others."""
    libraries = release.plugins.parent
    loader = next((release.folder / "usr").glob("lib*/ld-linux*.so.*"), None) or next(
        libraries.glob("ld-linux*.so.*")
    )
    search = f"{release.plugins}:{libraries}"
    for program in _programs(release):
        _run(
            [
                "patchelf",
                "--set-interpreter",
                str(loader),
                "--force-rpath",
                "--set-rpath",
                search,
                str(program),
            ]
        )
    for plugin in release.plugins.glob("*.so"):
        if not plugin.is_symlink() and _run(["patchelf", "--print-rpath", str(plugin)]).strip():
            _run(["patchelf", "--force-rpath", "--set-rpath", search, str(plugin)])


def _programs(release: Release) -> Iterator[Path]:
    for name in COMMANDS:
        yield release.programs / name
    yield release.daemon(ACCOUNTING)
    for name in DAEMONS:
        yield release.daemon(f"{name}-wlm")


def _name_daemons(release: Release) -> None:
    """Last of all, and slurmstepd last of them: that it is there says that the release is complete."""
    for name in DAEMONS:
        if name == DAEMONS[-1] and not (found := release.version()).startswith(f"{release.name}."):
            suite = SUITES[release.name]
            raise PrivateSlurmError(f"Debian's {suite} has Slurm {found} by now, not {release.name}")
        release.daemon(name).unlink(missing_ok=True)
        release.daemon(f"{name}-wlm").rename(release.daemon(name))


def _run(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=UNPACK_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise PrivateSlurmError(f"{argv[0]} was not done within {UNPACK_S:.0f} s") from late
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise PrivateSlurmError(
            f"{argv[0]} failed with status {done.returncode}: {' '.join(said[-3:])[:300]}"
        )
    return done.stdout
