"""One word, one thing: no two public classes of the house have the same name."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
OF_THE_FRAMEWORK = {"Command", "Config", "Migration"}
"""Django looks for these by their names."""


def twice(*folders: Path) -> dict[str, list[str]]:
    """Names that more than one public class has, and the files in which these stand."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path))
    return {name: files for name, files in found.items() if len(files) > 1 and name not in OF_THE_FRAMEWORK}


def test_no_two_public_classes_have_one_name() -> None:
    found = twice(ROOT / "scheduler", ROOT / "console")
    assert found == {}, f'one word, one thing: name them apart (docs/development.md, "Words"): {found}'


def test_two_of_one_name_are_seen(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("class Plan: ...\nclass _Own: ...\nclass Command: ...\n")
    assert list(twice(tmp_path)) == ["Plan"]
