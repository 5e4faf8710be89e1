"""Who waits is taken from one end of the line, who computes from the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.plugins.both_ends import BothEnds
from tests.plugins.sharing_out import _place, piece_of

LINE = ["waits 1", "waits 2", "waits 3", "quick 1", "quick 2", "file of a", "file of b", "long"]


@dataclass(eq=False)
class Process:
    """A process of a run, which notes what it is given."""

    taken: list[str] = field(default_factory=list)
    shutting_down: bool = False
    gateway: object = field(default_factory=lambda: SimpleNamespace(id="gw"))

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.taken += [LINE[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def shared_out() -> tuple[BothEnds, list[Process]]:
    options = SimpleNamespace(loadscopereorder=True, tx=["popen", "popen"], maxworkerrestart=None)
    config = SimpleNamespace(option=options, getvalue=lambda name: getattr(options, name))
    sharing, processes = (
        BothEnds(cast("Any", config), None, lambda: {each: each.partition(" of ")[0] for each in LINE}),
        [Process(), Process()],
    )
    for process in cast("list[Any]", processes):
        sharing.add_node(process)
    for process in cast("list[Any]", processes):
        sharing.add_node_collection(process, LINE)
    sharing.schedule()
    return sharing, processes


def test_they_begin_at_both_ends_and_meet_among_the_quick_ones(
    shared_out: tuple[BothEnds, list[Process]],
) -> None:
    sharing, (waiter, computer) = shared_out
    assert (waiter.taken, computer.taken) == (["waits 1", "waits 2"], ["long", "file of a", "file of b"])
    for process, done in (
        (computer, "long"),
        (waiter, "waits 1"),
        (computer, "file of a"),
        (computer, "file of b"),
    ):
        sharing.mark_test_complete(cast("Any", process), LINE.index(done))
    assert sorted(waiter.taken + computer.taken) == sorted(LINE)
    assert waiter.taken == LINE[:3]
    assert computer.taken[3:] == ["quick 2", "quick 1"]
    assert computer.shutting_down


def test_the_line(request: pytest.FixtureRequest) -> None:
    """By markers; `timeout` says what is long."""

    def item(name: str, *markers: pytest.MarkDecorator) -> Any:
        made = pytest.Function.from_parent(request.node.parent, name=name, callobj=lambda: None)
        for marker in markers:
            made.add_marker(marker)
        return made

    items = [
        item("longest", pytest.mark.timeout(1200)),
        item("long", pytest.mark.timeout(300), pytest.mark.e2e),
        item("quick", pytest.mark.timeout(20)),
        item("page", pytest.mark.browser, pytest.mark.e2e),
        item("short on slurm", pytest.mark.slurm),
        item("processes", pytest.mark.e2e),
        item("slurm", pytest.mark.slurm, pytest.mark.e2e),
        item("noisy", pytest.mark.slurm, pytest.mark.timeout(300)),
    ]
    items.sort(key=_place)
    assert [each.name for each in items] == [
        "noisy",
        "processes",
        "slurm",
        "short on slurm",
        "quick",
        "page",
        "long",
        "longest",
    ]


@pytest.fixture(scope="module")
def made_once() -> object:
    return object()


def test_what_is_made_once_for_a_file_keeps_its_tests_together(
    made_once: object, request: pytest.FixtureRequest
) -> None:
    assert made_once is not None
    assert piece_of(request.node) == "tests/test_plugins/test_sharing_out.py"


def test_other_tests_are_pieces_of_their_own(request: pytest.FixtureRequest) -> None:
    assert piece_of(request.node) == request.node.nodeid
