"""One harness per test process; the long form (`make test-faults`) goes further in every test."""

import os
from collections.abc import Iterable, Iterator

import pytest

from tests.faults.harness import Harness, Told
from tests.faults.tally import Row, note

LONG = os.environ.get("GIVEWAY_FAULTS_LONG") == "1"


@pytest.fixture(scope="session")
def long_form() -> bool:
    """Whether this is the long form."""
    return LONG


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    """Tells stories. What is made once for all of them is shared by the test processes of a run."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "stories-shared"
    shared.mkdir(exist_ok=True)
    with Harness(tmp_path_factory.mktemp("stories"), shared) as harness:
        yield harness


def nothing_was_lost(fault: str, told: Iterable[tuple[str, Told]], injected: int) -> None:
    """Put the stories into the tally; fails with every story in which something was lost."""
    stories = list(told)
    verdicts = [story.verdict for _, story in stories]
    note(
        Row(
            fault,
            injected,
            sum(len(verdict.double_stops) for verdict in verdicts),
            sum(len(verdict.lost_plans) for verdict in verdicts),
            sum(len(verdict.stuck_jobs) for verdict in verdicts),
        )
    )
    bad = [f"{what}: {story.ends} {story.verdict} {story.folder}" for what, story in stories if story.verdict]
    assert not bad, "\n".join(bad)
