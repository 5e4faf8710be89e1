"""Nothing in the threat model without a test: each row of its tables names files that are there."""

import re
from pathlib import Path

import pytest

from tests.test_project.repository import ROOT

PAGE = Path(ROOT / "docs" / "threat-model.md")
NAME = re.compile(r"`([\w/]*test_\w+)(?:\.py)?`")
FOLDERS = ("", "tests/security", "tests/security/test_attacks")
ATTACKS = Path(ROOT / "tests" / "security" / "test_attacks")


def rows(text: str) -> list[str]:
    """The rows of all tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line for line in lines if not line.startswith("|---") and not line.endswith("| test |")]


def files_of(row: str) -> list[Path]:
    """The tests that the last column names, where they would be."""
    named = NAME.findall(row.rstrip("|").rpartition("|")[2])
    return [_found(name) or Path(name) for name in named]


def _found(name: str) -> Path | None:
    places = (Path(ROOT / folder / f"{name}.py") for folder in FOLDERS)
    return next((place for place in places if place.exists()), None)


ROWS = rows(PAGE.read_text())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:60])
def test_each_row_names_a_test_that_is_there(row: str) -> None:
    files = files_of(row)
    assert files, "no test is named in the last column"
    assert [str(file) for file in files if not file.exists()] == []


def test_every_attack_stands_in_the_model() -> None:
    named = {file for row in ROWS for file in files_of(row)}
    assert [file.name for file in sorted(ATTACKS.glob("test_*.py")) if file not in named] == []


def test_a_row_without_a_test_is_found() -> None:
    """What this page's own test would say."""
    assert files_of("| who | what | nothing | |") == []
    assert not files_of("| who | what | nothing | `test_of_nothing` |")[0].exists()
    assert files_of("| who | `test_headers` | holds | `test_guessing` |") == [
        Path(ROOT / "tests" / "security" / "test_guessing.py")
    ]
    assert len(ROWS) > 30
