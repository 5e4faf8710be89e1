"""Python's cyclic garbage collector stands still while a plan is made.

A plan makes some hundred thousand small objects, and nearly all of them live until it is done. Passes of the collector
find nothing to free, go through all of the snapshot again and again, and take a fifth of the time. In the end the
planner takes apart what refers to each other (`Cycle.take_apart`), so that all of it is freed before the collector goes
on: its next pass would go through it object by object. What a plan leaves behind after an error is left to that pass.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Inside of it nothing is collected; afterwards it is as before, whatever happened inside.

    It counts for the whole process. Who comes while another thread is inside already changes nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
