"""The seed of property tests: another one every day, the same for all processes of a run, and it can be given again."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.test_project.repository import ROOT

PROPERTY = """
import os, random
from pathlib import Path
from hypothesis import given, settings, strategies as st

OF_THIS_PROCESS = Path(os.environ["TRIED"]) / str(os.getpid())

@settings(max_examples=20)
@given(st.integers(0, 10**9))
def test_{name}(number):
    with OF_THIS_PROCESS.open("a") as tried:
        tried.write(f"{name} {{number}}\\n")
"""


def run(folder: Path, *arguments: str, **environment: str) -> tuple[str, dict[str, list[str]]]:
    """What pytest says with the project's own conftest, and the examples that each test has tried."""
    tried = folder / "tried"
    tests = folder / "properties"
    for place in (tried, tests):
        place.mkdir(parents=True, exist_ok=True)
    for name in ("first", "second"):
        (tests / f"test_{name}.py").write_text(PROPERTY.format(name=name))
    (tests / "conftest.py").write_text('pytest_plugins = ["tests.plugins.properties"]')
    # Nothing but what it takes: Django and Chromium would cost seconds each time.
    plugins = ("_hypothesis_pytestplugin", "xdist", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *(f"-p{name}" for name in plugins)]
    kept = {name: value for name, value in os.environ.items() if name not in {"CI", "GIVEWAY_SEED"}}
    kept |= {"TRIED": str(tried), "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, *arguments, str(tests)],
        cwd=folder,
        env=kept
        | {"TRIED": str(tried), "PYTHONPATH": str(ROOT)}
        | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    examples: dict[str, list[str]] = {}
    for written in tried.iterdir():
        for line in written.read_text().splitlines():
            name, number = line.split()
            examples.setdefault(name, []).append(number)
    return done.stdout + done.stderr, examples


@pytest.mark.parametrize("ci", ["", "1"])
def test_a_seed_tries_the_same_examples_again_and_another_one_others(tmp_path: Path, ci: str) -> None:
    where = {"CI": ci} if ci else {}
    said, one = run(tmp_path / "a", "-n0", GIVEWAY_SEED="20261130", **where)
    _, again = run(tmp_path / "b", "-n0", GIVEWAY_SEED="20261130", **where)
    _, other = run(tmp_path / "c", "-n0", GIVEWAY_SEED="20261201", **where)
    assert "property tests: seed 20261130 (GIVEWAY_SEED=20261130 tries the same examples again)" in said
    assert one == again
    assert one["first"] != other["first"]


def test_the_seed_is_the_day_for_every_process_of_a_run(tmp_path: Path) -> None:
    before = f"{datetime.now(UTC):%Y%m%d}"
    said, spread = run(tmp_path / "a", "-n2", "--dist", "load")
    today = f"{datetime.now(UTC):%Y%m%d}"
    assert any(f"property tests: seed {day} " in said for day in {before, today})
    assert len([*(tmp_path / "a" / "tried").iterdir()]) == 2
    # Both tests ask for the same, in two processes: with one seed they try the same.
    assert spread["first"] == spread["second"]


def test_hypothesis_own_option_goes_first_and_nonsense_is_refused(tmp_path: Path) -> None:
    said, _ = run(tmp_path / "a", "-n0", "--hypothesis-seed=7", GIVEWAY_SEED="8")
    assert "property tests: seed 7 " in said
    said, examples = run(tmp_path / "b", "-n0", GIVEWAY_SEED="tomorrow")
    assert "GIVEWAY_SEED must be a whole number, not 'tomorrow'" in said
    assert not examples
