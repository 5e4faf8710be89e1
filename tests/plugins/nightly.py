"""What a landing waits for, and what only `make test-all` runs (`--all`): docs/development.md, "Tests".

Without `--all`:
- What `tests/nightly.txt` names is left out: files, tests, or single cases of them.
- A test marked `every_release` runs on the installed Slurm alone, unless it is marked with `always=True`.
- Property tests try a quarter of their examples.

Whoever names a test by itself (`pytest FILE::TEST`) gets it.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

NIGHTLY = Path(__file__).parents[1] / "nightly.txt"
PART, LEAST = 4, 5
_SETTINGS = "_hypothesis_internal_use_settings"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="what only make test-all runs, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    for function in {_function(item) for item in items}:
        _shorten(function)
    if any("::" in each for each in config.args):
        return
    names = left_out()
    leaving = [item for item in items if not names.isdisjoint(_names(item.nodeid))]
    if leaving:
        config.hook.pytest_deselected(items=leaving)
        gone = set(leaving)
        items[:] = [item for item in items if item not in gone]


def left_out() -> frozenset[str]:
    """The lines of the list, without comments."""
    lines = (line.strip() for line in NIGHTLY.read_text(encoding="utf-8").splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def _names(nodeid: str) -> tuple[str, str, str]:
    """By which names a line may mean it: its file, the test, this case of it."""
    return nodeid.partition("::")[0], nodeid.partition("[")[0], nodeid


def _function(item: pytest.Item) -> Any:
    """What its cases share."""
    test = getattr(item, "obj", None)
    return getattr(test, "__func__", test)


def _shorten(function: Any) -> None:
    found = getattr(function, _SETTINGS, None)
    if isinstance(found, settings) and found.max_examples > LEAST:
        setattr(function, _SETTINGS, settings(found, max_examples=max(LEAST, found.max_examples // PART)))
