"""Named moments before and after every side effect, so that tests can make a process die exactly there.

`failpoint` does nothing unless a test has put something into `at_point`, or its process was started with
`GIVEWAY_FAULT` under the settings of the tests. All other settings refuse to start with that variable.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

KINDS = (
    "allow_requeue",
    "prioritise",
    "signal",
    "requeue_hold",
    "cancel",
    "recover",
    "hold",
    "release",
    "restore_priority",
    "place",
    "resize",
    "shrink",
    "keep",
    "let_go",
    "begin",
)
CYCLE = (
    "lease.taken",
    "cycle.leased",
    "cycle.degrading",
    "cycle.degraded",
    "cycle.observed",
    "cycle.verifying",
    "cycle.verified",
    "cycle.recording",
    "cycle.recorded",
    "act.begun",
    *(f"act.{kind}.{moment}" for kind in KINDS for moment in ("due", "claimed", "applied", "settled")),
    "cycle.acted",
    "cycle.closed",
    "lease.released",
)
TIMER = ("beat.due", "beat.sent")
WEB = ("web.approving", "web.approved", "web.rejecting", "web.rejected")
POINTS = frozenset((*CYCLE, *TIMER, *WEB))
"""All points there are. Inside a transaction: the names that end in -ing."""

FAULT = "GIVEWAY_FAULT"
"""What shall happen where: `act.requeue_hold.claimed` or, the third time, `act.requeue_hold.claimed:3`, or
`act.requeue_hold.claimed:1:STOP` to be paused instead of killed. Several, separated by commas."""
LOG = "GIVEWAY_FAULT_LOG"
"""A file to which every point that is reached is written. With it, a fault strikes once, also when its process is
started again."""

at_point: Callable[[str], None] | None = None


def failpoint(name: str) -> None:
    """Say that the process is at the moment called `name`."""
    if at_point is not None:
        at_point(name)


def arm(faults: str, log: str = "") -> None:
    """Have this process sign its own death (or pause) at the points that `faults` names. Raises ValueError."""
    global at_point  # noqa: PLW0603 - one switch per process
    due = dict(_read(fault) for fault in faults.split(",") if fault)
    passed: Counter[str] = Counter()

    def at(name: str) -> None:
        if name not in POINTS:
            raise ValueError(f"{name} is not in the list of points")
        passed[name] += 1
        if log:
            with Path(log).open("a") as file:
                file.write(f"{name}\n")
        number = due.get((name, passed[name]))
        if number is not None and _first_time(name, log):
            os.kill(os.getpid(), number)

    at_point = at


def _first_time(name: str, log: str) -> bool:
    if not log:
        return True
    word = f"{name} struck\n"
    if word in Path(log).read_text():
        return False
    with Path(log).open("a") as file:
        file.write(word)
    return True


def _read(fault: str) -> tuple[tuple[str, int], signal.Signals]:
    name, _, rest = fault.partition(":")
    nth, _, word = rest.partition(":")
    if name not in POINTS:
        raise ValueError(f"{FAULT}: there is no point {name!r}")
    return (name, int(nth or 1)), signal.Signals[f"SIG{word or 'KILL'}"]
