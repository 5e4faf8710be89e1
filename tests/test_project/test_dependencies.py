"""Every dependency is pinned, locked with hashes and explained; no explanation is left without its cause."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.test_project.repository import ROOT

SECTIONS = {
    "Runtime": "requirements.in",
    "Development and tests": "requirements-dev.in",
}


def pinned_in(name: str) -> dict[str, str]:
    """Package to version of a .in file; a line that is neither comment, pin nor reference is an error."""
    pins = {}
    for line in (ROOT / name).read_text().splitlines():
        if line and not line.startswith(("#", "-r ")):
            pin = re.fullmatch(r"([a-z0-9-]+)(\[[a-z0-9,-]+\])?==([0-9][0-9.]*)", line)
            assert pin, f"{name}: '{line}' is not a pin like package==1.2.3"
            pins[pin[1]] = pin[3]
    return pins


def locked_in(name: str) -> dict[str, tuple[str, int]]:
    """Package to (version, number of hashes) of a lock."""
    blocks = re.findall(
        r"^([a-z0-9-]+)==(\S+)(.*?)(?=^[a-z]|\Z)", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL
    )
    return {package: (version, rest.count("--hash=sha256:")) for package, version, rest in blocks}


def explained_in(section: str) -> dict[str, str]:
    """Package to reason of a section's table in docs/dependencies.md."""
    text = (ROOT / "docs" / "dependencies.md").read_text()
    body = re.search(rf"^## {re.escape(section)}.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert body, f"docs/dependencies.md has no section '{section}'"
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in body[1].splitlines()
        if line.startswith("|")
    ]
    return {row[0]: row[-1] for row in rows[2:]}


@pytest.mark.parametrize(("section", "source"), SECTIONS.items())
def test_every_direct_dependency_has_its_reason_and_the_other_way_round(section: str, source: str) -> None:
    reasons = explained_in(section)
    assert set(reasons) == set(pinned_in(source))
    assert all(len(reason) > 10 for reason in reasons.values())


def test_every_vendored_package_has_its_reason() -> None:
    wanted = json.loads((ROOT / "deploy" / "frontend" / "package.json").read_text())["dependencies"]
    assert set(explained_in("Front end")) == set(wanted)


def test_every_debian_package_that_a_command_installs_has_its_reason() -> None:
    named = set()
    for path in (ROOT / "Makefile", *(ROOT / "deploy" / "bin").iterdir()):
        for packages in re.findall(
            r"^[^#\n]*deploy/bin/debian-packages ([a-z0-9. -]+)", path.read_text(), re.MULTILINE
        ):
            named |= set(packages.split())
    assert named == set(explained_in("Debian packages"))


@pytest.mark.parametrize(
    ("source", "lock"),
    [("requirements.in", "requirements.txt"), ("requirements-dev.in", "requirements-dev.txt")],
)
def test_the_lock_has_every_pin_and_a_hash_for_everything(source: str, lock: str) -> None:
    locked = locked_in(lock)
    assert {package: locked[package][0] for package in pinned_in(source)} == pinned_in(source)
    assert [package for package, (_, hashes) in locked.items() if not hashes] == []


def test_what_is_tested_is_what_runs() -> None:
    """The development lock holds the runtime lock's versions: bin/environment relies on it."""
    runtime, development = locked_in("requirements.txt"), locked_in("requirements-dev.txt")
    assert {package: development[package][0] for package in runtime} == {
        package: version for package, (version, _) in runtime.items()
    }


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-dev.txt", "deploy/frontend/package-lock.json"]
)
def test_no_lock_names_a_registry(name: str) -> None:
    text = re.sub(r'"url": "[^"]*"', "", (ROOT / name).read_text())  # npm's links to funding pages
    assert re.findall(r"--(?:extra-)?index-url.*|--find-links.*|https?://\S+", text) == []


def test_python_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == ">=3.11"
    assert project["tool"]["ruff"]["target-version"] == "py311"
    assert project["tool"]["mypy"]["python_version"] == "3.11"
    assert "--python-version 3.11" in Path(ROOT / "deploy" / "bin" / "lock").read_text()
