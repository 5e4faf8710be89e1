"""A job has the shapes that docs/architecture.md lists, at most twelve and what is laid beside them; a snapshot's jobs
are built in one place."""

import ast
import re

from tests.test_project.repository import ROOT, own_python

NAMED = re.compile(
    r"(Job|JobRun|JobSpec|JobDetails|JobPieces|\w+Job|QueueRow|TraceRow|SimulatedTask|Waiting)$"
)
NO_SHAPE = {"_Job"}
PAGE = (
    (ROOT / "docs" / "architecture.md")
    .read_text()
    .partition("## The shapes of a job")[2]
    .partition("\n## ")[0]
)
ASKED = {
    "console/history/hindsight/figures.py",
    "console/reports/mine.py",
    "console/reports/project_levels.py",
    "console/starts/alternative_requests.py",
}
"""They ask where a job would stand that there is none of, or none any more."""


def places_that_build(name: str) -> set[str]:
    found = set()
    for path in own_python("scheduler", "console"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                found.add(path.relative_to(ROOT).as_posix())
    return found


def test_there_are_no_more_shapes_than_there_were() -> None:
    shapes = PAGE.partition("\n| Beside")[0]
    assert 0 < len([row for row in shapes.splitlines() if row.startswith("| `")]) <= 12


def test_the_page_lists_every_shape_and_no_other() -> None:
    there = {
        node.name
        for folder in ("scheduler", "console")
        for path in own_python(folder)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and NAMED.match(node.name) and not node.name.startswith("_")
    }
    listed = {
        name
        for row in PAGE.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert there == listed, 'a new shape of a job? see "The shapes of a job" in docs/architecture.md'


def test_an_observed_job_becomes_one_of_the_snapshot_in_one_place() -> None:
    """The others that make one have no observed job: contract A's codec and the replay of a recorded month."""
    found = {place for place in places_that_build("SnapshotJob") if "/simulate/" not in place}
    assert found == {"scheduler/contracts/snapshot.py", "scheduler/reconcile/snapshot_jobs.py"}


def test_only_adapters_say_what_was_observed() -> None:
    found = places_that_build("ObservedJob") - ASKED
    assert found == {"scheduler/adapters/slurm/jobs.py", "scheduler/adapters/simulator/looking.py"}
