"""How the tests of a run are shared out to its processes: who waits from one end, who computes from the other.

Tests on a real Slurm wait most of their time, most others compute. Were all that wait first, the processors would stand
still; were they last, the run would end with waiting. So there is one line: first tests that wait, the long ones before
the others, then quick ones, at the end those that compute for long: with a browser, and the longest last. Of four
processes one takes from the end of it, the others from its beginning: half of the time of all tests is waiting, which
needs little of a processor. They meet among the quick ones: at the end of a run nobody waits for a long test.

A test with a browser keeps several processes busy, ours and Chromium's, and looks at what they do: those of all
processes at once are too much for two processors. From the end of the line two are taken at a time, beside the waiting.

What may take long says so with `timeout`. Within each class the order stays as it was (at random).

A piece of work is one test, of whichever Slurm: each process has one of each release, which is started in a second. All
tests of a file are one piece where they share what is made once for it, or each process would make it again.
"""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling
    from xdist.workermanage import WorkerController

LONG_S = 100
WAITS, QUICK, TOGETHER, BROWSER, LONG = range(5)
PIECES = "pieces_of_work"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_place)
    told: dict[str, str] = getattr(config, "workerinput", {})
    if told.get("workerid") == "gw0":
        pieces = {item.nodeid: piece_of(item) for item in items}
        Path(told[PIECES]).write_text(json.dumps(pieces))


def _place(item: pytest.Item) -> tuple[int, int, bool]:
    timeout = item.get_closest_marker("timeout")
    allowed = int(timeout.args[0]) if timeout and timeout.args else 0
    through_the_house = item.get_closest_marker("e2e") is not None
    if item.get_closest_marker("slurm"):
        return WAITS, -allowed, not through_the_house
    if allowed >= LONG_S:
        return LONG, allowed, False
    if item.get_closest_marker("browser"):
        return BROWSER, 0, False
    if through_the_house:
        return WAITS, 0, False
    return (QUICK if piece_of(item) == item.nodeid else TOGETHER), 0, False


def piece_of(item: pytest.Item) -> str:
    """The name of the piece of work that a test belongs to: the test's own, or the file's."""
    if item.get_closest_marker("slurm") or not isinstance(item, pytest.Function):
        return item.nodeid
    fixtures = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
    ours = [fixture for fixture in fixtures if fixture.func.__module__.startswith("tests.")]
    shared = any(fixture.scope in {"module", "class"} for fixture in ours)
    return item.nodeid.partition("::")[0] if shared else item.nodeid


# --- in the process that shares out ---


@cache
def _pieces_file() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    folder = tempfile.TemporaryDirectory(prefix="giveway-pieces-")
    return folder, Path(folder.name) / "pieces.json"


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist nobody asks
def pytest_configure_node(node: "WorkerController") -> None:
    """The first process writes down what belongs together; ids of tests do not tell."""
    node.workerinput[PIECES] = str(_pieces_file()[1])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "Scheduling | None":
    """For `--dist loadgroup`, which this stands in for."""
    if config.getoption("dist") != "loadgroup":
        return None
    from tests.plugins.both_ends import BothEnds

    return BothEnds(config, log, _pieces)


def _pieces() -> dict[str, str]:
    """As written down; nothing is where no test was found, as with a mistyped name."""
    file = _pieces_file()[1]
    pieces: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return pieces
