"""docs/slurm-versions.md claims what the tests do: each test that it names is there, and README says no more."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from console.health.doctor.slurm import TRIED
from deploy.private_slurm import releases
from tests.test_project.repository import ROOT

PAGE = ROOT / "docs" / "slurm-versions.md"
ASPECTS = {
    "reading",
    "states and reasons",
    "requeue and return",
    "signals",
    "refusal at submission",
    "doctor",
}
RELEASES = (releases.SYSTEM, *releases.SUITES)


def table() -> list[list[str]]:
    """The cells of the first table, its head first."""
    text = PAGE.read_text()
    lines = text[text.index("| what |") :].partition("\n\n")[0].splitlines()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if "---" not in line]
    assert len(rows) > len(ASPECTS)
    return rows


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """The tests that pytest finds in the files that are named, by their ids."""
    files = sorted({row[1].partition("::")[0] for row in table()[1:]})
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--collect-only", "--all", "-q"),
            *("-n0", "-p", "no:randomly", "-p", "no:cacheprovider", *files),
        ],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return set(done.stdout.splitlines())


def test_every_cell_is_a_test_that_is_collected_for_that_release(collected: set[str]) -> None:
    lost = [
        f"{test}{cell}"
        for _, test, *cells in table()[1:]
        for release, cell in zip(RELEASES, cells, strict=True)
        if f"{test}{cell}" not in collected or release not in cell
    ]
    assert lost == []


def test_every_aspect_has_a_row_and_every_release_a_column() -> None:
    head, *rows = table()
    assert {row[0] for row in rows} >= ASPECTS
    assert [name.rpartition(".")[0] for name in head[3:]] == list(releases.SUITES)
    assert [name.rpartition(".")[0] for name in head[2:]] == list(TRIED), "the doctor names the same"


@pytest.mark.parametrize("page", [ROOT / "README.md", PAGE], ids=lambda path: Path(path).name)
def test_just_those_releases_are_said_to_have_been_tried(page: Path) -> None:
    tried = table()[0][2:]
    text = page.read_text()
    assert all(release in text for release in tried)
    assert re.findall(r"Slurm \d\d\.\d\d or (?:later|newer)", text) == []
