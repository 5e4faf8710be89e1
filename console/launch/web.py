"""gunicorn's settings in an embedded installation (`--config=python:console.launch.web`).

Ctrl-C reaches the whole process group. `run` answers it and ends its children in order; a gunicorn that answered it too
would be told twice, and now and then end its own worker the hard way.
"""

import gc
import signal
import sys
import threading
from typing import Any

workers = 1
threads = 8
worker_class = "gthread"
loglevel = "warning"
graceful_timeout = 5
control_socket_disable = True
SWITCH_S = 0.0005
"""A thread that makes a page lets others have their turn so often. By Python's own 5 ms each step of a style sheet or a
poll would wait for so long, and a browser that opens a page asks for twenty files while its data are made."""

ROOM = 2**15
"""Python keeps the frames of a thread in pieces of 16 kB. Where the calls of a loop cross the end of one, each has
another from the system and gives it back: a page with 1,313 nodes took half as long again, or not, by how deep its
loops were. The first frame of a thread asks for so many words; all others find room behind it, in its large piece."""


def on_starting(server: Any) -> None:
    """Nothing is loaded yet. The collector would go through it again and again, and find that all of it stays."""
    gc.set_threshold(50_000, 50, 50)


def when_ready(server: Any) -> None:
    """The master has set its signal handlers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def post_worker_init(worker: Any) -> None:
    """The worker has set its own, and everything is loaded.

    What is loaded stays: the garbage collector need not go through it again in the middle of somebody's page.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_S)
    make_room(threading.Thread.run)
    gc.collect()
    gc.freeze()


def make_room(first: Any) -> None:
    """Have the frame of this function be `ROOM` words large."""
    first.__code__ = first.__code__.replace(co_stacksize=ROOM)
