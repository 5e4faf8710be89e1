"""`python -m deploy.private_slurm up`: a private Slurm in the foreground, until Ctrl-C. See `--help`."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from deploy.private_slurm import releases, users
from deploy.private_slurm.cluster import DEFAULT_USERS, PrivateSlurm
from deploy.private_slurm.errors import PrivateSlurmError

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Ended(BaseException):
    """A signal asked for the end."""


def _on_signal(number: int, _frame: FrameType | None) -> None:
    for again in ENDING:
        signal.signal(again, signal.SIG_IGN)  # one is enough; do not disturb the end
    raise _Ended(signal.Signals(number).name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.private_slurm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start a private Slurm and keep it until Ctrl-C")
    up.add_argument("--root", type=Path, help="folder of everything (default: a new one in /tmp)")
    up.add_argument(
        "--keep", action="store_true", help="leave the folder, with its logs, when Slurm has ended"
    )
    up.add_argument("--nodes", type=int, default=4)
    up.add_argument("--cpus", type=int, default=8, help="per node")
    up.add_argument("--gpus", type=int, default=8, help="per node")
    up.add_argument("--mem-mb", type=int, default=16_000, help="per node")
    up.add_argument("--name", default="dev", help="ClusterName (default: dev)")
    up.add_argument(
        "--users", default=",".join(DEFAULT_USERS), help="ordinary users, made if they do not exist"
    )
    up.add_argument(
        "--slurm", help=f"release, such as 24.11 (default: {releases.VARIABLE}, else the system's)"
    )
    unpack = commands.add_parser("unpack", help="unpack other releases of Slurm beside the system's own")
    unpack.add_argument("releases", nargs="*", help=f"which (default: {' '.join(releases.SUITES)})")
    commands.add_parser(
        "remove-users", help="remove the ordinary users that were made on this host for a private Slurm"
    )
    return parser


def _up(args: argparse.Namespace) -> None:
    root = args.root
    if root is None:
        root = Path(tempfile.mkdtemp(prefix="private-slurm-", dir="/tmp"))
        root.chmod(0o755)
    slurm = PrivateSlurm(
        root,
        nodes=args.nodes,
        cpus=args.cpus,
        gpus=args.gpus,
        mem_mb=args.mem_mb,
        users=tuple(name for name in args.users.split(",") if name),
        name=args.name,
        version=args.slurm,
        remove_root=not args.keep,
    )
    with slurm:
        print(f"export {slurm.exports} && cd {slurm.work}", flush=True)
        while True:
            signal.pause()


def _unpack(names: Sequence[str]) -> int:
    """The exit status. One that cannot be had does not keep the others away."""
    status = 0
    for name in map(releases.known, names or releases.SUITES):
        if name == releases.SYSTEM:
            continue
        try:
            release = releases.unpack(name)
            print(f"Slurm {release.version()} is in {release.folder}", flush=True)
        except PrivateSlurmError as problem:
            print(f"Slurm {name} cannot be had: {problem}", file=sys.stderr)
            status = 1
    return status


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    for number in ENDING:
        signal.signal(number, _on_signal)
    try:
        if args.command == "remove-users":
            print("removed: " + (", ".join(users.remove_ours()) or "nobody"))
        elif args.command == "unpack":
            return _unpack(args.releases)
        else:
            _up(args)
    except PrivateSlurmError as problem:
        print(problem, file=sys.stderr)
        return 1
    except _Ended:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
