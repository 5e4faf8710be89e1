"""What a landing waits for, and what only `make test-all` runs (`--all`): docs/development.md, "Tests".

A test marked `nightly` is left out, and one marked `every_release` runs on the installed Slurm alone, unless it is
marked with `always=True`. Whoever names a test by itself gets it.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="the tests that are marked nightly, and all releases of Slurm, too"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    named = [each for each in config.args if "::" in each]
    left_out = [
        item
        for item in items
        if item.get_closest_marker("nightly") and not any(item.nodeid.startswith(each) for each in named)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
