"""`manage.py run`: the whole of Giveway on one machine, for one person trying it. `make run` calls this."""

import errno
import os
import socket
from argparse import SUPPRESS
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from console.accounts.demonstration import LOGINS, PASSWORD, is_the_place, left_over
from console.launch.management.commands.worker import WORKERS, past_command
from console.launch.supervisor import Launch, StopRequested, become_supervisor, listen_for_the_end


class Command(BaseCommand):
    """Migrate, set up the demonstration where it is one, start web server and workers, wait for Ctrl-C.

    On a cluster that is not ours alone there is no demonstration: whoever has this terminal gets a one-time code for
    the first administrator, and begins in the browser (console/setup).
    """

    help = (
        "Start the console and its worker on this machine (simulated cluster; --slurm: a private real Slurm)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=None, help="default: $PORT, else 8000")
        parser.add_argument("--slurm", action="store_true", help="start a private Slurm and attach to it")
        parser.add_argument("--empty", action="store_true", help="no demonstration accounts and rules")
        # Tell the supervisor of a private Slurm, through this pipe, what to launch.
        parser.add_argument("--prepare", type=int, default=0, help=SUPPRESS)

    def handle(
        self, *args: Any, port: int | None, slurm: bool, empty: bool, prepare: int, **options: Any
    ) -> None:
        port = _port(port)
        _check_free(port)
        if slurm and os.environ.get("GIVEWAY_CLUSTER") != "slurm":
            become_supervisor(_with_slurm(port, empty))
        listen_for_the_end()
        try:
            launch = _prepare(port, empty)
        except StopRequested:
            self.stdout.write("\nStopped.")
            return
        if prepare:
            launch.tell(prepare)
        else:
            become_supervisor(launch)


def _with_slurm(port: int, empty: bool) -> Launch:
    """A private Slurm, then the console attached to it: settings are read once, so another process prepares that."""
    home = Path(os.environ.get("GIVEWAY_HOME") or settings.PROJECT_DIR / "var" / "slurm").resolve()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Launch(
        slurm=settings.GIVEWAY_CLUSTER_NAME,
        env={"GIVEWAY_CLUSTER": "slurm", "GIVEWAY_HOME": str(home)},
        prepare=[
            *("manage.py", "run", "--slurm", "--port", str(port)),
            *(["--empty"] if empty else []),
            "--prepare",
        ],
        farewell="Stopped.",
    )


def _prepare(port: int, empty: bool) -> Launch:
    """Tables, and the demonstration's accounts where it is one; what is to run."""
    _refuse_another_version()
    call_command("migrate", verbosity=0, interactive=False)
    if not is_the_place():
        empty = True
        _refuse_known_passwords()
    if not empty:
        from console.launch.demo import SET_UP_BEFORE, seed

        seed(SET_UP_BEFORE)
    url = f"http://127.0.0.1:{port}"
    return Launch(
        web=[
            "-m",
            "gunicorn",
            "console.wsgi",
            "--config=python:console.launch.web",
            f"--bind=127.0.0.1:{port}",
        ],
        port=port,
        host=settings.ALLOWED_HOSTS[0].lstrip("."),
        past=past_command(),
        workers=WORKERS,
        greeting=greeting(url, empty),
        farewell="Stopped.",
        # Where nothing else is said, the nodes are on this machine.
        env={"GIVEWAY_NODES_URL": settings.GIVEWAY_NODES_URL or url},
    )


def _refuse_another_version() -> None:
    """A database that has migrations which this version does not: of a newer one, or of before the first release."""
    loader = MigrationLoader(connection)
    ours = {app.label for app in apps.get_app_configs() if app.name.startswith("console.")}
    unknown = sorted(
        f"{label}.{name}"
        for label, name in loader.applied_migrations.keys() - loader.disk_migrations.keys()
        if label in ours
    )
    if unknown:
        raise CommandError(
            f"The database {connection.settings_dict['NAME']} was made by another version of Giveway "
            f"({unknown[-1]} is not known here). Move it away, or name another folder in GIVEWAY_HOME."
        )


def greeting(url: str, empty: bool) -> str:
    """Written at once: whoever waits for the first line, a script too, finds the logins beside it."""
    lines = [f"Giveway is ready at {url}", *_code(url)]
    if not empty:
        lines.append(f"Sign in with the password {PASSWORD} as:")
        lines += [f"  {name:<8}{words}" for name, _role, words in LOGINS]
    return "\n".join([*lines, "Ctrl-C stops it."])


def _refuse_known_passwords() -> None:
    """A database that was a demonstration's is no beginning for a real cluster."""
    if names := left_over():
        raise CommandError(
            f"The accounts {', '.join(names)} have the demonstration's password, and this is a real cluster. "
            "Begin with a database of its own: set GIVEWAY_HOME or DATABASE_URL."
        )


def _code(url: str) -> list[str]:
    """Whoever sees this terminal may take the first administrator's seat, while it is free."""
    from console.setup.first_admin import TakenError, make_code

    try:
        code = make_code()
    except TakenError:
        return []
    return [
        f"There is no administrator yet. Open {url}/setup/administrator/ and type this one-time code: {code}"
    ]


def _port(given: int | None) -> int:
    text = str(given) if given is not None else os.environ.get("PORT", "8000")
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise CommandError(f"PORT is '{text}'; it must be a number from 1 to 65535.")
    return int(text)


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise CommandError(f"Port {port} {why}; choose another one: PORT=8001 make run") from None
