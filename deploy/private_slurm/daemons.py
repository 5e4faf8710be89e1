"""The daemons of a private Slurm: how each is started."""

from collections.abc import Iterable

from deploy.private_slurm import host
from deploy.private_slurm.accounting import Database
from deploy.private_slurm.config import Layout
from deploy.private_slurm.processes import Daemon
from deploy.private_slurm.releases import Release


def of(
    layout: Layout, nodes: Iterable[int], release: Release | None, database: Database | None
) -> dict[str, Daemon]:
    """All of them by name, in the order of starting. `nodes`: those that have a slurmd, by their numbers."""
    munge, conf = layout.root / "munge", str(layout.conf)
    munged = (
        *(host.command("munged"), "--foreground", f"--socket={layout.munge_socket}"),
        *(f"--key-file={munge / 'key'}", f"--pid-file={munge / 'pid'}", f"--seed-file={munge / 'seed'}"),
    )
    munged_log = layout.logs / "munged.log"
    found = {"munged": Daemon(munged, munged_log, munged_log)}
    if database:
        found |= {"mariadbd": database.mariadbd, "slurmdbd": database.slurmdbd}
    found["slurmctld"] = _daemon(layout, "slurmctld", (_command("slurmctld", release), "-D", "-f", conf))
    stepd = ("-d", str(release.daemon("slurmstepd"))) if release else ()
    for number in nodes:
        name, node = f"slurmd-n{number}", f"n{number}"
        found[name] = _daemon(
            layout, name, (_command("slurmd", release), "-D", "-N", node, "-f", conf, *stepd)
        )
    return found


def _command(name: str, release: Release | None) -> str:
    """A daemon of the release; munged is the system's own, whichever it is."""
    return str(release.daemon(name)) if release else host.command(name)


def _daemon(layout: Layout, name: str, argv: tuple[str, ...]) -> Daemon:
    # The output repeats the log, and has what was said before there was a log.
    return Daemon(argv, layout.logs / f"{name}.out", layout.logs / f"{name}.log")
