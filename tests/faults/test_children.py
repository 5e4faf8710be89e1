"""`manage.py run` starts its web server and its workers again when one of them dies, unless that does not help."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.launch.children import RESTARTS, WITHIN_S, ChildEndedError, Children


@pytest.fixture
def children() -> Iterator[Children]:
    children = Children(os.environ)
    yield children
    children.stop()


def test_a_child_that_is_killed_is_started_again_and_the_other_one_left_alone(children: Children) -> None:
    children.start("worker", "-c", "import time; time.sleep(600)")
    children.start("web server", "-c", "import time; time.sleep(600)")
    before = {name: process.pid for name, process in children.running.items()}
    os.kill(before["worker"], signal.SIGKILL)
    children.running["worker"].wait(60)

    children.keep()

    assert children.running["worker"].pid != before["worker"]
    assert children.running["worker"].poll() is None
    assert children.running["web server"].pid == before["web server"]


def test_a_child_that_dies_again_and_again_ends_it(children: Children, tmp_path: Path) -> None:
    children.start("worker", "-c", f"open({str(tmp_path / 'starts')!r}, 'a').write('x'); raise SystemExit(3)")

    with pytest.raises(ChildEndedError, match="worker ended by itself with status 3"):
        _keep(children)

    assert (tmp_path / "starts").read_text() == "x" * (RESTARTS + 1)


def _keep(children: Children) -> None:
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        children.keep()
        time.sleep(0.01)
