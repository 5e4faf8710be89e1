"""Named moments before and after every side effect, so that tests can make a process die exactly there.

`reached` does nothing unless a test has put something into `at_point`.
"""

from collections.abc import Callable

at_point: Callable[[str], None] | None = None


def reached(name: str) -> None:
    """Say that the process is at the moment called `name`."""
    if at_point is not None:
        at_point(name)
