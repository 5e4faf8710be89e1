"""What `manage.py run` and `manage.py worker` become when all is prepared: a small process that keeps others running.

It is the same process (exec), so whoever started it waits for it and signals it as before. It has nothing of Django,
and sleeps until a child ends or a signal comes.
"""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from console.launch.children import ChildEndedError, Children, Wakes, answers

READY_S = 600.0
"""A machine that is busy with other work starts a web server in minutes; one that has died is noticed at once."""
ENDING = (signal.SIGINT, signal.SIGTERM)


class StopRequested(Exception):  # noqa: N818 - a wish, not an error
    """Somebody asked us to end."""


@dataclass(frozen=True)
class Launch:
    """What is to run, in the order in which it is started, and what is said of it.

    `web`: started first, and asked at `port` under the name `host` until it answers; then the greeting is printed.
    `past`: a process that does something and ends before the workers are started. `env`: beside this process's own.
    `slurm`: a private Slurm is started before everything, with this cluster's name, and the command `prepare` says
    what to launch on it.
    """

    workers: Mapping[str, list[str]] = field(default_factory=dict)
    past: list[str] = field(default_factory=list)
    web: list[str] = field(default_factory=list)
    port: int = 0
    host: str = ""
    greeting: str = ""
    farewell: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    slurm: str = ""
    prepare: list[str] = field(default_factory=list)

    def tell(self, descriptor: int) -> None:
        """Into a pipe, which is closed: what is printed has a one-time code, and everybody can read a command line."""
        with os.fdopen(descriptor, "w") as pipe:
            json.dump(asdict(self), pipe)


def become_supervisor(launch: Launch) -> NoReturn:
    """Go on as the process that supervises this launch. Who asks for the end meanwhile is heard when it begins."""
    reading, writing = os.pipe()
    launch.tell(writing)
    os.set_inheritable(reading, True)  # noqa: FBT003 - the library's
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "console.launch.supervisor", str(reading)])  # noqa: S606


def listen_for_the_end() -> None:
    """Also SIGINT, explicitly: a shell starts background jobs with it ignored."""
    for number in ENDING:
        signal.signal(number, _on_signal)


def listen_no_more() -> None:
    """From now on nobody breaks off what is tidied up."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _on_signal(number: int, frame: object) -> None:
    """Once: a second Ctrl-C would break off the tidying up after the first, and leave daemons behind."""
    listen_no_more()
    raise StopRequested


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def supervise(launch: Launch, children: Children, wakes: Wakes) -> NoReturn:
    """Start everything, and start again what ends. Raises `StopRequested`, `ChildEndedError`, `TimeoutError`."""
    if launch.web:
        children.start("web server", *launch.web)
    if launch.past:
        children.start("past", *launch.past)
    else:
        _start_workers(launch, children)
    if launch.web:
        _wait_until_ready(launch, children, wakes)
    if launch.greeting:
        _say(launch.greeting)
    while True:
        _go_on(launch, children)
        children.keep()
        wakes.wait()


def _start_workers(launch: Launch, children: Children) -> None:
    for name, command in launch.workers.items():
        children.start(name, *command)


def _go_on(launch: Launch, children: Children) -> None:
    """The workers, once the past is made up."""
    if children.has_done("past"):
        _start_workers(launch, children)


def _wait_until_ready(launch: Launch, children: Children, wakes: Wakes) -> None:
    until = time.monotonic() + READY_S
    while not answers(launch.port, "/healthz/web", launch.host):
        _go_on(launch, children)
        children.check()
        if time.monotonic() > until:
            raise TimeoutError(f"The web server did not answer within {READY_S:.0f} s.")
        wakes.wait(0.1)


def _on_slurm(launch: Launch, stack: ExitStack) -> Launch:
    """Start a private Slurm that ends with `stack`; what is to be launched on it."""
    from deploy.private_slurm import PrivateSlurm, PrivateSlurmError

    private = PrivateSlurm(_reachable(stack) / "cluster", name=launch.slurm)
    try:
        stack.enter_context(private)
    except PrivateSlurmError as error:
        sys.exit(f"CommandError: The private Slurm did not start: {error}")
    exports = " ".join(f"{name}={value}" for name, value in launch.env.items())
    _say(f"A private Slurm runs. In another terminal: export {private.exports} {exports}")
    env = {**private.env, **launch.env}
    children = Children(os.environ | env)
    stack.callback(children.stop)
    reading, writing = os.pipe()
    children.start("console", *launch.prepare, str(writing), pass_fds=(writing,))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    if status := children.running["console"].wait():
        sys.exit(status)
    prepared = Launch(**json.loads(told))
    return replace(prepared, env={**env, **prepared.env})


def _reachable(stack: ExitStack) -> Path:
    """A folder that ordinary users can enter, for they will submit jobs. Nobody but us enters the console's own."""
    temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="giveway-slurm-")))
    temporary.chmod(0o755)
    return temporary


def main() -> None:
    with os.fdopen(int(sys.argv[1])) as pipe:
        launch = Launch(**json.load(pipe))
    farewell = launch.farewell
    wakes = Wakes()
    listen_for_the_end()
    try:
        with ExitStack() as stack:
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
                if launch.slurm:
                    launch = _on_slurm(launch, stack)
                children = Children(os.environ | launch.env)
                stack.callback(children.stop)
                supervise(launch, children, wakes)
            finally:
                listen_no_more()
    except StopRequested:
        if farewell:
            _say(f"\n{farewell}")
    except (ChildEndedError, TimeoutError) as error:
        sys.exit(f"CommandError: {error}")


if __name__ == "__main__":
    main()
