"""Modules and functions stay small enough to be read in one go."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.test_project.repository import ROOT, own_python

MAX_MODULE_LINES = 800
USUAL_MODULE_LINES = 300
MAX_FUNCTION_LINES = 50
MAX_P90_FUNCTION_LINES = 30
CODE = [
    path for path in own_python("scheduler", "console", "deploy", "bench") if "migrations" not in path.parts
]


def functions() -> Iterator[tuple[str, int]]:
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def lines_of(paths: list[Path]) -> dict[str, int]:
    return {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in paths}


def test_no_module_is_too_long() -> None:
    assert {name: lines for name, lines in lines_of(CODE).items() if lines > MAX_MODULE_LINES} == {}


def test_long_modules_are_rare() -> None:
    long = {name: lines for name, lines in lines_of(CODE).items() if lines > USUAL_MODULE_LINES}
    assert len(long) <= len(CODE) // 50, long


def test_no_function_is_too_long() -> None:
    assert {name: lines for name, lines in functions() if lines > MAX_FUNCTION_LINES} == {}


def test_nine_functions_of_ten_are_short() -> None:
    lengths = sorted(lines for _, lines in functions())
    assert lengths, "no functions found"
    assert lengths[len(lengths) * 9 // 10] <= MAX_P90_FUNCTION_LINES
