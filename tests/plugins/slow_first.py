"""The long tests first, so that at the end of a run on several processes nobody waits for the last of them.

What may take long says so with `timeout`. Tests that share one private Slurm are one piece of work, the longest of all.
Within each class the order stays as it was (at random).
"""

import sys

import pytest

LONG_S = 100


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_class)


def _class(item: pytest.Item) -> int:
    if item.get_closest_marker("xdist_group"):
        return -sys.maxsize
    timeout = item.get_closest_marker("timeout")
    allowed = int(timeout.args[0]) if timeout and timeout.args else 0
    return -allowed if allowed >= LONG_S else 0
