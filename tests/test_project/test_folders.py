"""Every folder says what lives in it and what it may import, and says it truly; and some words stay in their places.

For newcomers: docs/development.md, "Support another scheduler" and "Words". The rules themselves are in .importlinter.
"""

import ast
import configparser
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.test_project.repository import ROOT, own_python

DJANGOS = {"management", "commands", "migrations", "templatetags"}
"""What is in these Django says, not we."""
FOLDERS = sorted(
    path.parent.relative_to(ROOT).as_posix()
    for top in ("console", "scheduler")
    for path in (ROOT / top).rglob("__init__.py")
    if path.parent != ROOT / "console" and not DJANGOS & set(path.parts)
)


def docstring_of(folder: str) -> str:
    return ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text())) or ""


def imports_of(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_says_what_lives_there_and_what_it_may_import(folder: str) -> None:
    lines = docstring_of(folder).splitlines()
    assert len(lines) == 3 and lines[0].endswith(".") and lines[2].startswith("May import: "), (
        f"{folder}/__init__.py: two lines, what lives here, and 'May import: …'"
    )


@pytest.mark.parametrize("folder", [each for each in FOLDERS if each.count("/") == 2])
def test_a_folder_names_the_folders_beside_it_that_it_imports(folder: str) -> None:
    path = ROOT / folder
    beside = {
        each.name for each in path.parent.iterdir() if (each / "__init__.py").exists() and each != path
    } - DJANGOS
    prefix = ".".join(path.parent.relative_to(ROOT).parts) + "."
    used = {name.removeprefix(prefix).split(".")[0] for name in imports_of(path) if name.startswith(prefix)}
    said = set(re.findall(r"`(\w+)`", docstring_of(folder).splitlines()[2]))
    if "all of this app" not in docstring_of(folder):
        assert used & beside <= said, (
            f"{folder}/__init__.py does not say that it imports {used & beside - said}"
        )


def test_an_app_names_the_layer_below_it() -> None:
    rules = configparser.ConfigParser()
    rules.read(ROOT / ".importlinter")
    rows = rules["importlinter:contract:console-layers"]["layers"].split("\n")
    layers = [
        re.findall(r"console\.\w+", row) for row in rows if row.strip() and not row.strip().startswith("#")
    ]
    for layer, below in pairwise(layers[1:]):
        for app in layer:
            said = docstring_of(app.replace(".", "/")).splitlines()[2]
            assert all(f"`{each}`" in said for each in below), (
                f"{app} lies above {below}; its docstring: {said}"
            )


def test_only_connect_asks_what_kind_the_cluster_is() -> None:
    """What is simulated `console.core.installation` says; how a cluster is reached `console.cluster.connect`."""
    allowed = {"console/cluster/connect.py", "console/core/installation.py"}
    places = [*own_python("console"), *(ROOT / "templates").rglob("*.html")]
    found = [
        path.relative_to(ROOT).as_posix()
        for path in places
        if re.search(r"(kind|GIVEWAY_CLUSTER)\s*(==|!=)\s*\"(slurm|simulator)\"", path.read_text())
    ]
    assert set(found) <= allowed, found


def test_the_console_names_no_priority_of_slurms() -> None:
    """The front of the line and a job's own place are told apart by `scheduler.model.line`."""
    big = re.compile(r"\b4_?29\d_?\d{3}_?\d{3}\b|2 ?\*\* ?32")
    found = [p.relative_to(ROOT).as_posix() for p in own_python("console") if big.search(p.read_text())]
    assert not found, found
