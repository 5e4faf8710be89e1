"""`manage.py run`: the whole of Giveway on one machine, for one person trying it. `make run` calls this."""

import errno
import os
import signal
import socket
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.accounts.demonstration import LOGINS, PASSWORD, is_the_place, left_over
from console.launch.children import STOP_S, ChildEndedError, Children, environment

READY_S = 600.0
"""A machine that is busy with other work starts a web server in minutes; one that has died is noticed at once."""


class StopRequested(Exception):  # noqa: N818 - a wish, not an error
    """Somebody asked us to end."""


def _on_signal(number: int, frame: object) -> None:
    """Once: a second Ctrl-C would break off the tidying up after the first, and leave daemons behind."""
    _listen_no_more()
    raise StopRequested


def _listen_no_more() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _listen_for_the_end() -> None:
    """Also SIGINT, explicitly: a shell starts background jobs with it ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_signal)


class Command(BaseCommand):
    """Migrate, set up the demonstration where it is one, start web server and worker, wait for Ctrl-C.

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

    def handle(self, *args: Any, port: int | None, slurm: bool, empty: bool, **options: Any) -> None:
        port = _port(port)
        _check_free(port)
        if slurm and os.environ.get("GIVEWAY_CLUSTER") != "slurm":
            self._again_with_slurm(port, empty)
            return
        _listen_for_the_end()
        try:
            self._run(port, empty)
        except StopRequested:
            self.stdout.write("\nStopped.")

    def _again_with_slurm(self, port: int, empty: bool) -> None:
        """Start a private Slurm, then the console attached to it: settings are read once, so in a child."""
        from deploy.private_slurm import PrivateSlurm, PrivateSlurmError

        home = Path(os.environ.get("GIVEWAY_HOME") or settings.PROJECT_DIR / "var" / "slurm").resolve()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _listen_for_the_end()
        try:
            with ExitStack() as stack:
                root = _reachable(stack) / "cluster"
                private = stack.enter_context(PrivateSlurm(root, name=settings.GIVEWAY_CLUSTER_NAME))
                self.stdout.write(
                    "A private Slurm runs. In another terminal: "
                    f"export {private.exports} GIVEWAY_CLUSTER=slurm GIVEWAY_HOME={home}"
                )
                self.stdout.flush()
                env = {"GIVEWAY_CLUSTER": "slurm", "GIVEWAY_HOME": str(home), "PORT": str(port)}
                children = Children({**environment(**env), **private.env}, stop_s=2 * STOP_S)
                stack.callback(children.stop)
                children.start("console", "manage.py", "run", "--slurm", *(["--empty"] if empty else []))
                children.running["console"].wait()
        except StopRequested:
            return
        except PrivateSlurmError as error:
            raise CommandError(f"The private Slurm did not start: {error}") from None

    def _run(self, port: int, empty: bool) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        if not is_the_place():
            empty = True
            _refuse_known_passwords()
        if not empty:
            from console.launch.demo import SET_UP_BEFORE, seed

            seed(SET_UP_BEFORE)
        url = f"http://127.0.0.1:{port}"
        # Where nothing else is said, the nodes are on this machine.
        nodes_url = settings.GIVEWAY_NODES_URL or url
        children = Children(environment(GIVEWAY_NODES_URL=nodes_url))
        try:
            children.start("web server", "-m", "gunicorn", *_gunicorn(port))
            children.start("worker", "manage.py", "worker")
            children.wait_until_ready(f"{url}/healthz/web", READY_S, settings.ALLOWED_HOSTS[0].lstrip("."))
            self._greet(url, empty)
            while True:
                time.sleep(0.5)
                children.keep()
        except (ChildEndedError, TimeoutError) as error:
            raise CommandError(str(error)) from None
        finally:
            _listen_no_more()
            children.stop()

    def _greet(self, url: str, empty: bool) -> None:
        """Written at once: whoever waits for the first line, a script too, finds the logins beside it."""
        lines = [f"Giveway is ready at {url}", *_code(url)]
        if not empty:
            lines.append(f"Sign in with the password {PASSWORD} as:")
            lines += [f"  {name:<8}{words}" for name, _role, words in LOGINS]
        self.stdout.write("\n".join([*lines, "Ctrl-C stops it."]))
        self.stdout.flush()


def _refuse_known_passwords() -> None:
    """A database that was a demonstration's is no beginning for a real cluster."""
    if names := left_over():
        raise CommandError(
            f"The accounts {', '.join(names)} have the demonstration's password, and this is a real cluster. "
            "Begin with a database of its own: set GIVEWAY_HOME or DATABASE_URL."
        )


def _code(url: str) -> list[str]:
    """Whoever sees this terminal may take the first administrator's seat, while it is free."""
    from console.setup.first import TakenError, make_code

    try:
        code = make_code()
    except TakenError:
        return []
    return [
        f"There is no administrator yet. Open {url}/setup/administrator/ and type this one-time code: {code}"
    ]


def _reachable(stack: ExitStack) -> Path:
    """A folder that ordinary users can enter, for they will submit jobs. Nobody but us enters the console's own."""
    temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="giveway-slurm-")))
    temporary.chmod(0o755)
    return temporary


def _gunicorn(port: int) -> list[str]:
    return ["console.wsgi", "--config=python:console.launch.web", f"--bind=127.0.0.1:{port}"]


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
